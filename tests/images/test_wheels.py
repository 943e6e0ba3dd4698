"""A project's packages: wheels for the image's interpreter, hashes checked, scripts usable."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from sandbox_images import ImageError, ImageNameError
from sandbox_images.wheels import installed, overlay_wheels, read_requirements


def quiet(line: str) -> None:
    pass


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel with one module and one console script."""
    path = tmp_path / "wheels" / "tinything-1.0-py3-none-any.whl"
    path.parent.mkdir()
    info = "tinything-1.0.dist-info"
    files = {
        "tinything.py": "def main():\n    print('tiny')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ntiny = tinything:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


def write_requirements(wheel: Path, digest: str) -> Path:
    path = wheel.parent / "requirements.txt"
    path.write_text(
        f"--no-index\n--find-links {wheel.parent}\ntinything==1.0 --hash=sha256:{digest}\n"
    )
    return path


def test_a_wheel_lands_in_the_site_folder_and_its_script_starts_the_images_python(wheel, tmp_path):
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (tmp_path / "work").mkdir()
    overlay = overlay_wheels(write_requirements(wheel, digest), "3.11", tmp_path / "work", quiet)
    assert installed(overlay) == ("tinything==1.0",)
    assert (overlay / "usr/local/lib/python3.11/dist-packages/tinything.py").is_file()
    script = overlay / "usr/local/bin/tiny"
    assert script.read_text().startswith("#!/usr/bin/python3\n")
    assert script.stat().st_mode & 0o777 == 0o755


def test_a_wheel_with_another_hash_is_refused(wheel, tmp_path):
    (tmp_path / "work").mkdir()
    with pytest.raises(ImageError, match="DO NOT MATCH THE HASHES"):
        overlay_wheels(write_requirements(wheel, "0" * 64), "3.11", tmp_path / "work", quiet)


def test_a_source_distribution_is_not_built_on_the_host(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "evil-1.0.tar.gz").write_bytes(b"x")
    path = tmp_path / "requirements.txt"
    path.write_text(f"--no-index\n--find-links {tmp_path}\nevil==1.0\n")
    with pytest.raises(ImageError, match=r"only wheels for Python 3\.11 can be used"):
        overlay_wheels(path, "3.11", tmp_path / "work", quiet)


@pytest.mark.parametrize("line", ["-r other.txt", "-e .", "./package", "-c limits.txt", "/abs"])
def test_a_line_that_points_elsewhere_is_refused_with_its_number(tmp_path, line):
    path = tmp_path / "requirements.txt"
    path.write_text(f"six==1.16.0\n{line}\n")
    with pytest.raises(ImageNameError, match=r"requirements\.txt:2: "):
        read_requirements(path)


def test_a_missing_file_is_the_operators_mistake(tmp_path):
    with pytest.raises(ImageNameError, match="cannot be read as a requirements file"):
        read_requirements(tmp_path / "none.txt")
