"""suggest: the narrowest lines that cover recorded commands, hazards commented out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from policies.authoring.guess import admits, guess_type
from policies.authoring.hazard import errors_of, hazard_of
from policies.authoring.quoted import quoted
from policies.authoring.recording import Recorded
from policies.synopsis import SynopsisError, parse_synopsis
from policies.values.catalogue import Catalogue

__all__ = ["Suggestion", "suggest"]

SUBCOMMAND = re.compile(r"[a-z][a-z0-9-]*")
OPTION = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_.-]*")
ALIEN = "--stockade-no-such-option=1"
MOST_WORDS = 4
REPEATED_FROM = 3
WITH_SUBCOMMANDS = frozenset(
    ("git", "cargo", "go", "npm", "pip", "docker", "kubectl", "gh", "ruff", "poetry", "uv")
)


@dataclass(slots=True)
class Suggestion:
    """A line with the commands that it was made from.

    Attributes:
        line: the synopsis.
        hazard: why it is commented out, or "".
        seen: the commands.
        style: the rule's style, or "".
    """

    line: str
    hazard: str
    seen: list[tuple[str, ...]] = field(default_factory=list)
    style: str = ""


def suggest(records: Iterable[Recorded]) -> str:
    """A policy file of ``ask`` lines that covers what was seen.

    Args:
        records: recorded commands.
    """
    left_out = 0
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for one in records:
        argv = one.argv
        if not argv or "/" in argv[0] or leaves(argv):
            left_out += 1
            continue
        shifting = "-" if set(argv) & set(hazard_of(argv[0]).shifts) else ""
        pinned = argv[:1]
        if len(argv) > 1 and argv[0] in WITH_SUBCOMMANDS and SUBCOMMAND.fullmatch(argv[1]):
            pinned = argv[:2]
        kept = groups.setdefault((shifting, *pinned), [])
        if argv not in kept:
            kept.append(argv)
    found = [suggestion(key[1:], argvs) for key, argvs in sorted(groups.items())]
    return document(found, left_out)


def leaves(argv: tuple[str, ...]) -> bool:
    """Whether a command names a place outside of the workspace: no line is the answer to that."""
    return any(word.startswith(("/", "~")) or ".." in word.split("/") for word in argv[1:])


def suggestion(pinned: tuple[str, ...], argvs: list[tuple[str, ...]]) -> Suggestion:
    """One line for the commands of a group."""
    words = Words(len(pinned))
    for argv in argvs:
        words.add(argv)
    if words.odd:
        line = " ".join((*pinned, "[TEXT(0..32768):dash...]"))
        return Suggestion(line, danger(pinned[0], line), argvs, "words")
    line = words.line(pinned)
    return Suggestion(line, danger(pinned[0], line), argvs)


class Words:
    """What was seen behind the pinned words."""

    def __init__(self, skip: int) -> None:
        self.skip = skip
        self.options: dict[str, set[str]] = {}  # name -> attached values
        self.spaced: dict[str, set[str]] = {}  # name -> numbers that followed
        self.repeated: set[str] = set()
        self.operands: list[list[str]] = []
        self.marker = False
        self.odd = False  # a word with a dash that is no option

    def add(self, argv: tuple[str, ...]) -> None:
        """Take the words of one command apart."""
        operands: list[str] = []
        seen: set[str] = set()
        plain = False
        rest = argv[self.skip :]
        taken = False
        for index, word in enumerate(rest):
            after = rest[index + 1] if index + 1 < len(rest) else ""
            if taken:
                taken = False
            elif word == "--" and not plain:
                self.marker = plain = True
            elif plain or not word.startswith("-") or len(word) == 1:
                operands.append(word)
            else:
                name, equals, value = word.partition("=")
                self.odd = self.odd or OPTION.fullmatch(name) is None
                values = self.options.setdefault(name, set())
                if equals:
                    values.add(value)
                elif len(name) == 2 and after.isdigit():
                    self.spaced.setdefault(name, set()).add(after)
                    taken = True
                if name in seen:
                    self.repeated.add(name)
                seen.add(name)
        self.operands.append(operands)

    def line(self, pinned: tuple[str, ...]) -> str:
        """The line: options exact, operands by the narrowest type."""
        parts = list(pinned)
        for name in sorted(self.options):
            dots = "..." if name in self.repeated else ""
            values = self.options[name]
            text = f"{name}={narrowest(values)}" if values else name
            if name in self.spaced:
                text = f"{name} {narrowest(self.spaced[name])}"
            parts.append(f"[{text}]{dots}")
        if self.marker:
            parts.append("[--]")
        longest = max((len(words) for words in self.operands), default=0)
        least = min((len(words) for words in self.operands), default=0)
        if longest >= REPEATED_FROM:
            first = narrowest({words[0] for words in self.operands if words})
            rest = narrowest({word for words in self.operands for word in words[1:]})
            parts.append(first if least else f"[{first}]")
            parts.append(f"[{rest}...]")
            return " ".join(parts)
        for index in range(longest):
            kind = narrowest({words[index] for words in self.operands if index < len(words)})
            parts.append(kind if index < least else f"[{kind}]")
        return " ".join(parts)


def narrowest(words: set[str]) -> str:
    """The narrowest of one word, a few words, a range, or a type; never ANY."""
    kinds = {guess_type(word) for word in words}
    if kinds == {"INT"}:
        numbers = sorted(int(word) for word in words)
        return f"INT({numbers[0]}..{numbers[-1]})"
    few = len(words) <= MOST_WORDS and kinds <= {"NAME", "WORD"}
    if few and all(re.fullmatch(r"[A-Za-z0-9_.+-]+", word) for word in words):
        return f"ENUM({','.join(sorted(words))})"
    if "PATH" in kinds and all(admits("PATH", word) for word in words):
        return "PATH"
    for kind in ("NAME", "WORD", "REV", "PATH", "LINE(1..200)", "TEXT"):
        if all(admits(kind, word) for word in words):
            return kind
    return "TEXT(0..32768)"


def danger(program: str, line: str) -> str:
    """Why a line is not proposed without a warning, or ""."""
    hazard = hazard_of(program)
    if hazard.interpreter or hazard.inline:
        return "it runs the code that it is given"
    if hazard.wrapper:
        return "its tail is a command: write CMD"
    if hazard.runs_project:
        return "it runs code of the workspace: say runs_code and an isolation level"
    if hazard.script:
        return "its script can run code or write files"
    if hazard.fetches:
        return "it reaches the network: name the hosts"
    try:
        errors = errors_of(parse_synopsis(line, Catalogue()), runs_code=False)
    except SynopsisError as error:
        return f"no line can be written: {error.message}"
    return errors[0][1] if errors else ""


def document(found: list[Suggestion], left_out: int) -> str:
    """The suggestions as a policy file."""
    rows = ["schema = 1", 'name = "suggested"', 'isolation = "namespace"', ""]
    if left_out:
        rows += [f"# {left_out} commands name a place outside of the workspace: left out", ""]
    for number, one in enumerate(found):
        program = one.line.split(" ", 1)[0]
        block = [
            "[[rule]]",
            f"name = {string(f'{program}-{number}')}",
            f"ask = [{string(one.line)}]",
            *([f"style = {string(one.style)}"] if one.style else []),
            "match = [",
            *(f"  {words(argv)}," for argv in one.seen[:8]),
            "]",
        ]
        if not one.style:
            block.append(f"not_match = [{words((*one.seen[0], ALIEN))}]")
        if one.hazard:
            rows.append(f"# {program}: {one.hazard}")
            block = [f"# {row}" for row in block]
        rows += [*block, ""]
    return "\n".join(rows)


def string(text: str) -> str:
    """A TOML string."""
    return quoted(text)


def words(argv: tuple[str, ...]) -> str:
    """An argv as a TOML array."""
    return "[" + ", ".join(string(word) for word in argv) + "]"
