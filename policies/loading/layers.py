"""Layers: a policy file with all that it extends, depth first."""

from __future__ import annotations

from pathlib import Path

from policies.loading.diagnostic import Diagnostic, PolicyFileError
from policies.loading.document import Document
from policies.loading.layer import Layer
from policies.regular import read_regular

__all__ = ["BUILTIN", "fix_for", "profile_names", "read_layers", "read_text"]

BUILTIN = "builtin:"
PROFILES = Path(__file__).parent.parent / "profiles"
LONGEST_FILE = 4 << 20


def profile_names() -> tuple[str, ...]:
    """The built-in profiles."""
    return tuple(sorted(path.stem for path in PROFILES.glob("*.toml")))


def read_layers(source: str | Path) -> list[Layer]:
    """The layers of a policy, those that are extended first.

    Args:
        source: ``NAME`` or ``builtin:NAME`` of a profile, or the path of a file.

    Raises:
        PolicyFileError: a file is missing or not TOML; faults of the schema stay in the layers.
    """
    stack = Stack()
    stack.push(source, None)
    return stack.layers


class Stack:
    """Reads files depth first, each once."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.open: list[str] = []
        self.read: set[str] = set()

    def push(self, source: str | Path, parent: Layer | None) -> None:
        name, text = self.text_of(source, parent)
        if name in self.read:
            return
        layer = Layer(Document(name, text), origin=name)
        self.open.append(name)
        for index, other in enumerate(layer.extends):
            self.extend(layer, other, index)
        self.open.pop()
        self.read.add(name)
        self.layers.append(layer)

    def extend(self, layer: Layer, other: str, index: int) -> None:
        place = ("extends", index)
        if not other.startswith(BUILTIN) and layer.origin.startswith(BUILTIN):
            other = BUILTIN + other
        try:
            name = self.resolve(other, layer)
            if name in self.open:
                chain = " -> ".join([*self.open[self.open.index(name) :], name])
                layer.document.fault(place, f"extends goes in a circle: {chain}")
                return
            self.push(other, layer)
            layer.bases.append(name)
        except FileNotFoundError:
            layer.document.fault(place, f"{other} does not exist", fix_for(other))

    def resolve(self, source: str | Path, parent: Layer | None) -> str:
        """The name under which a file is known."""
        text = str(source)
        if text.startswith(BUILTIN):
            return text
        if parent is not None:
            return str((Path(parent.origin).parent / text).resolve())
        return text

    def text_of(self, source: str | Path, parent: Layer | None) -> tuple[str, str]:
        name = self.resolve(source, parent)
        if name.startswith(BUILTIN):
            stem = name.removeprefix(BUILTIN)
            path = PROFILES / f"{stem}.toml"
            if stem not in profile_names():
                raise FileNotFoundError(name)
        else:
            path = Path(name)
        return name, read_text(path, name)


def read_text(path: Path, name: str) -> str:
    """The text of a file; raises FileNotFoundError or PolicyFileError."""
    try:
        data = read_regular(path, LONGEST_FILE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise PolicyFileError(
            [Diagnostic(name, 0, 0, f"cannot be read: {error.strerror}")]
        ) from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyFileError([Diagnostic(name, line, 1, "the file is not UTF-8 text")]) from None


def fix_for(source: str) -> str:
    """What to say when a file is not there."""
    if source.startswith(BUILTIN):
        return f"built-in profiles: {', '.join(profile_names())}"
    return "paths are relative to the file"
