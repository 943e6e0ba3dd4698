"""A root of a box as an open folder, with a neighbour that nothing may reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Place:
    folder: Path
    root: int
    outside: Path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "root"
    folder.mkdir()
    outside = tmp_path / "root-secret"
    outside.mkdir()
    (outside / "secret").write_bytes(b"outside")
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    yield Place(folder, root, outside)
    os.close(root)
