"""One builder a built-in type: the arguments it takes and the check it makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from policies.synopsis.error import SynopsisError
from policies.synopsis.printer import print_type
from policies.synopsis.tree import TypeRef
from policies.values.distributions import PACKAGES
from policies.values.hosts import host_check, url_check
from policies.values.numbers import HIGHEST, PATTERNS, float_check, int_check, pattern_check
from policies.values.paths import path_check
from policies.values.pattern import PatternError, regular_check
from policies.values.revisions import ref_check, remote_check, rev_check
from policies.values.sed import sed_check
from policies.values.texts import NAME, WORD, enum_check, text_check
from policies.values.value import Check, CommandKind, Place, ValueType

if TYPE_CHECKING:
    from policies.values.catalogue import Catalogue

__all__ = ["BUILDERS"]

RANGE = re.compile(r"\s*(-?[0-9]{1,19})?\s*\.\.\s*(-?[0-9]{1,19})?\s*")
FLOAT_RANGE = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)?\.\.(-?[0-9]+(?:\.[0-9]+)?)?\s*")
HOST_PATTERN = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*|\[[0-9a-f:]+\]", re.IGNORECASE)
MOST_TEXT = 32768


def finish(
    ref: TypeRef,
    check: Check,
    *,
    dash: bool = False,
    path: Literal["", "path", "file", "dir"] = "",
) -> ValueType:
    """The type, with the modifiers that its kind may have."""
    for modifier in ref.modifiers:
        if modifier != "dash" and not path:
            raise SynopsisError(f":{modifier} belongs to path types", ref.column)
    return ValueType(
        print_type(ref),
        check,
        dash=dash or "dash" in ref.modifiers,
        path=path,
        writable="rw" in ref.modifiers,
        root=ref.root or "workspace",
    )


def no_args(ref: TypeRef) -> None:
    if ref.args is not None:
        raise SynopsisError(f"{ref.name} takes no arguments", ref.column, f"write {ref.name}")


def build_path(ref: TypeRef, catalogue: Catalogue) -> ValueType:
    no_args(ref)
    check = path_check(
        writable="rw" in ref.modifiers,
        odd="odd" in ref.modifiers,
        named="named" in ref.modifiers,
        protection=catalogue.protection,
        below=catalogue.roots[ref.root] if ref.root else None,
    )
    kinds: dict[str, Literal["path", "file", "dir"]] = {"FILE": "file", "DIR": "dir"}
    return finish(ref, check, path=kinds.get(ref.name, "path"))


def bounds(ref: TypeRef, low: int, high: int) -> tuple[int, int]:
    """The range of ``(a..b)``, either end with a default."""
    if ref.args is None:
        return low, high
    found = RANGE.fullmatch(ref.args)
    if found is None:
        raise SynopsisError(f"a range is written {ref.name}(1..100)", ref.column)
    low = int(found[1]) if found[1] else low
    high = int(found[2]) if found[2] else high
    if low > high:
        raise SynopsisError("the range is empty", ref.column, "write the smaller number first")
    return low, high


def build_int(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    low, high = bounds(ref, 0, HIGHEST)
    return finish(ref, int_check(low, high), dash=low < 0)


def build_float(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    low, high = 0.0, float(HIGHEST)
    if ref.args is not None:
        found = FLOAT_RANGE.fullmatch(ref.args)
        if found is None:
            raise SynopsisError("a range is written FLOAT(0.5..2)", ref.column)
        low = float(found[1]) if found[1] else low
        high = float(found[2]) if found[2] else high
    return finish(ref, float_check(low, high), dash=low < 0)


def build_text(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    low, high = bounds(ref, 1, 4096)
    if low < 0 or high > MOST_TEXT:
        raise SynopsisError(f"a length is between 0 and {MOST_TEXT}", ref.column)
    return finish(ref, text_check(low, high, "\n\t" if ref.name == "TEXT" else ""))


def words_of(ref: TypeRef) -> list[str]:
    """The comma-separated arguments, quoted ones with the quotes taken off."""
    if not ref.args:
        raise SynopsisError(f"{ref.name} needs arguments", ref.column, f"write {ref.name}(a,b)")
    words = [m[1] if m[1] is not None else m[2].strip() for m in ARGUMENT.finditer(ref.args)]
    if not all(words):
        raise SynopsisError("an argument is empty", ref.column)
    return words


ARGUMENT = re.compile(r"\s*'([^']*)'\s*(?:,|$)|([^,]+)(?:,|$)|(?<=,)()$")


def build_enum(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    words = frozenset(words_of(ref))
    return finish(ref, enum_check(words), dash=any(word.startswith("-") for word in words))


def build_re(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    if not ref.args:
        raise SynopsisError("RE needs an expression", ref.column, "write RE(/[a-z]+/)")
    try:
        check = regular_check(ref.args)
    except PatternError as error:
        raise SynopsisError(str(error), ref.column + 4 + error.column) from None
    return finish(ref, check)


def build_hosts(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    patterns = tuple(word.lower() for word in words_of(ref)) if ref.args is not None else ()
    for pattern in patterns:
        if HOST_PATTERN.fullmatch(pattern) is None:
            raise SynopsisError(f"{pattern!r} is not a host or *.host", ref.column)
    return finish(ref, host_check(patterns) if ref.name == "HOST" else url_check(patterns))


def build_package(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    pattern = PACKAGES.get((ref.args or "").strip())
    if pattern is None:
        known = ", ".join(PACKAGES)
        raise SynopsisError("PKG needs an ecosystem", ref.column, f"one of {known}")
    return finish(ref, pattern_check(pattern))


def simple(check: Check) -> Callable[[TypeRef, Catalogue], ValueType]:
    def build(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
        no_args(ref)
        return finish(ref, check)

    return build


def build_command(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    kinds: dict[str | None, CommandKind] = {None: "rest", "{}": "replaced", ";": "terminated"}
    if ref.name == "CMD+":
        no_args(ref)
        return ValueType(print_type(ref), always, command="appended")
    if ref.args not in kinds:
        raise SynopsisError("a command is CMD, CMD+, CMD({}) or CMD(;)", ref.column)
    return ValueType(print_type(ref), always, command=kinds[ref.args])


def always(word: str, place: Place) -> str | None:  # noqa: ARG001
    return None


def build_any(ref: TypeRef, catalogue: Catalogue) -> ValueType:  # noqa: ARG001
    no_args(ref)
    return ValueType("ANY", always, dash=True, anything=True)


BUILDERS: dict[str, Callable[[TypeRef, Catalogue], ValueType]] = {
    "PATH": build_path,
    "FILE": build_path,
    "DIR": build_path,
    "INT": build_int,
    "FLOAT": build_float,
    "ENUM": build_enum,
    "RE": build_re,
    "TEXT": build_text,
    "LINE": build_text,
    "WORD": simple(pattern_check(WORD)),
    "NAME": simple(pattern_check(NAME)),
    "REV": simple(rev_check),
    "REF": simple(ref_check),
    "BRANCH": simple(ref_check),
    "REMOTE": simple(remote_check),
    "HOST": build_hosts,
    "URL": build_hosts,
    "PKG": build_package,
    "SED": simple(sed_check),
    "CMD": build_command,
    "CMD+": build_command,
    "ANY": build_any,
    **{name: simple(pattern_check(pattern)) for name, pattern in PATTERNS.items()},
}
