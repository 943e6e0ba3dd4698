"""Cache: where built trees live, one builder at a time, nothing half made under a final name."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox_images.image import Image, read_record, write_record

__all__ = ["SYSTEM", "Cache", "default_caches"]

SYSTEM = Path("/var/cache/stockade/images")
UNFINISHED = "building-"


def default_caches() -> tuple[Cache, ...]:
    """The caches to look in, the one to build in first.

    Programs of another uid must reach the tree, and root's own home is closed to them; hence the
    system's folder for root. Other users also see what root built.
    """
    if os.geteuid() == 0:
        return (Cache(SYSTEM),)
    named = os.environ.get("XDG_CACHE_HOME", "")  # a relative one counts as unset
    home = Path(named) if named.startswith("/") else Path.home() / ".cache"
    return Cache(home / "stockade" / "images"), Cache(SYSTEM)


class Cache:
    """A folder of built images: ``store/KEY/{tree,record.json}`` and ``names/NAME.json``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"Cache({str(self.root)!r})"

    @contextmanager
    def lock(self, waiting: Callable[[str], object]) -> Iterator[None]:
        """Hold the cache for one builder; a second one waits, having said so."""
        self._folder(self.root)
        descriptor = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting("another build is under way; waiting for it")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._sweep()
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def building(self) -> Iterator[Path]:
        """A folder to build in, on the same file system, gone afterwards whatever happened."""
        folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self.root))
        try:
            folder.chmod(0o755)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def find(self, name: str) -> Image | None:
        """The image that a name stands for now."""
        try:
            key = json.loads((self.root / "names" / f"{name}.json").read_text())["key"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return self.load(str(key))

    def load(self, key: str) -> Image | None:
        """The image with a key."""
        folder = self.root / "store" / key
        if not (folder / "record.json").is_file():
            return None
        return read_record(folder / "record.json", folder / "tree")

    def names(self) -> list[str]:
        """Names that stand for an image here."""
        return sorted(path.stem for path in (self.root / "names").glob("*.json"))

    def keep(self, image: Image, tree: Path | None) -> Image:
        """Store an image with the tree built for it, and let its name stand for it."""
        folder = self._folder(self.root / "store" / image.key)
        if tree is not None:
            final = folder / "tree"
            if final.exists():
                final.rename(tree.with_name("replaced"))
            tree.chmod(0o755)
            tree.rename(final)
        write_record(image, folder / "record.json")
        pointer = self._folder(self.root / "names") / f"{image.name}.json"
        draft = pointer.with_name(f"{image.name}.new")
        draft.write_text(json.dumps({"key": image.key}) + "\n")
        draft.chmod(0o644)
        draft.replace(pointer)
        return read_record(folder / "record.json", folder / "tree")

    def drop(self, name: str) -> bool:
        """Forget a name, and remove what it stood for unless another name stands for it too."""
        image = self.find(name)
        if image is None:
            return False
        (self.root / "names" / f"{name}.json").unlink()
        others = (self.find(other) for other in self.names())
        if all(other is None or other.key != image.key for other in others):
            shutil.rmtree(self.root / "store" / image.key, ignore_errors=True)
        return True

    def unnamed(self) -> list[Image]:
        """Images that no name stands for any more: those of earlier definitions."""
        named = {image.key for name in self.names() if (image := self.find(name)) is not None}
        keys = sorted(path.name for path in (self.root / "store").glob("*"))
        images = (self.load(key) for key in keys if key not in named)
        return [image for image in images if image is not None]

    def discard(self, image: Image) -> None:
        """Remove the tree and the record of an image that no name stands for."""
        shutil.rmtree(self.root / "store" / image.key, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove what an interrupted builder left; only called with the lock held."""
        for folder in self.root.glob(UNFINISHED + "*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, path: Path) -> Path:
        """Make a folder and those above it, readable for all whatever the umask says."""
        missing = []
        while not path.is_dir():
            missing.append(path)
            path = path.parent
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        return missing[0] if missing else path
