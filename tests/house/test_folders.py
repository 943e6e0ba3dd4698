"""Every folder of code says in its README what each of its files is for."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("policies", "runners", "harness", "sandbox_images")


def folders() -> list[Path]:
    return [
        init.parent
        for package in PACKAGES
        for init in sorted((ROOT / package).rglob("__init__.py"))
    ]


@pytest.mark.parametrize("folder", folders(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_folders_readme_names_each_of_its_files_and_folders(folder: Path) -> None:
    readme = folder / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else ""
    names = [p.name for p in folder.glob("*.py") if p.name != "__init__.py"]
    names += [p.name + "/" for p in folder.iterdir() if (p / "__init__.py").exists()]
    missing = [name for name in sorted(names) if f"`{name}`" not in text]
    assert missing == []
