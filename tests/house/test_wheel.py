"""The wheel alone is enough: it carries the profiles and Dockerfiles and imports by itself."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dist = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    (built,) = dist.glob("*.whl")
    return built


def test_the_wheel_carries_every_profile_and_dockerfile(wheel: Path) -> None:
    data = [
        *(ROOT / "policies" / "profiles").glob("*.toml"),
        *(ROOT / "sandbox_images").glob("*/Dockerfile"),
    ]
    wanted = {str(path.relative_to(ROOT)) for path in data}
    assert wanted
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_the_packages_import_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    home = tmp_path / "env"
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = (home / "lib").glob("python*/site-packages")
    ours = Path(sys.prefix) / "lib" / packages.parent.name / "site-packages"
    lines = [str(site), *(str(p) for p in [ours] if p.exists())]
    # What the wheel depends on comes from this environment; our own editable install does not.
    (packages / "wheel.pth").write_text("\n".join(lines) + "\n")
    code = "import harness, runners, policies; print(harness.__file__)"
    argv = [str(home / "bin" / "python"), "-I", "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, str(site / "harness" / "__init__.py"))
