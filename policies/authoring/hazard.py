"""What programs are known to do with their options and operands.

The table is ``hazards.toml``; each entry names its sources: an entry of GTFOBins or of the
catalogue of argument injection vectors, a manual page, or the program's own documentation.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from policies.synopsis.printer import print_type
from policies.synopsis.tree import (
    Glued,
    Group,
    Item,
    Line,
    Option,
    OptionGroup,
    Repeated,
    Typed,
    TypeRef,
    Word,
)

__all__ = [
    "Hazard",
    "errors_of",
    "hazard_of",
    "hazards",
    "named_options",
    "operand_types",
    "options_of",
]


@dataclass(frozen=True, slots=True)
class Hazard:
    """What is known of one program.

    Attributes:
        sources: where the knowledge is from.
        interpreter: its first file operand is run.
        runs_project: it runs code of the workspace without being told to (plugins, build files).
        inline: options whose value is code.
        wrapper: its tail is a command.
        runs: options that start another program. ``sub:-x`` is the option of a sub-command, ``:-x``
            one that stands before the sub-command.
        injects: options that change its configuration.
        reads: options that take words or settings from a file.
        writes: options that write the file they name.
        reaches: options that reach the network.
        script: its first text operand is a program of its own language.
        opens: its operands are files, whatever they look like.
        shifts: options that turn the first text operand into a path.
        remote: an operand ``host:path`` or a URL reaches the network.
        remote_in: the sub-commands of which only that is true; empty: all.
        fetches: it exists to reach the network.
        extracts: it writes files that an archive names.
        owner: it changes owners or special modes.
        style: how it really reads its options.
    """

    sources: tuple[str, ...]
    interpreter: bool = False
    runs_project: bool = False
    inline: tuple[str, ...] = ()
    wrapper: bool = False
    runs: tuple[str, ...] = ()
    injects: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reaches: tuple[str, ...] = ()
    script: bool = False
    opens: bool = False
    shifts: tuple[str, ...] = ()
    remote: bool = False
    remote_in: tuple[str, ...] = ()
    fetches: bool = False
    extracts: bool = False
    owner: bool = False
    style: str = ""


TABLE = Path(__file__).with_name("hazards.toml")
NOTHING = Hazard(())
TEXTUAL = frozenset(("TEXT", "LINE", "ANY", "WORD"))


@cache
def hazards() -> dict[str, Hazard]:
    """What is known, by program; one that is not here is not known to be harmless."""
    found: dict[str, Hazard] = {}
    for program, table in tomllib.loads(TABLE.read_text("utf-8")).items():
        values: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
        found[program] = Hazard(**values)
    return found


def hazard_of(program: str) -> Hazard:
    """What is known of a program, by its name without a version."""
    known = hazards()
    return known.get(program) or known.get(program.rstrip("0123456789.")) or NOTHING


def options_of(line: Line) -> list[Option]:
    """Every option of a line, letters of bundles as options of their own."""
    found: list[Option] = []
    for item in line.items:
        if isinstance(item, OptionGroup):
            for choice in item.choices:
                for option in choice.options:
                    found.extend(letters(option) if option.shape == "bundle" else [option])
    return found


def named_options(line: Line) -> list[tuple[Option, set[str]]]:
    """Every option with the names under which the table may know it."""
    found: list[tuple[Option, set[str]]] = []
    sub = next((item.text for item in line.items if isinstance(item, Word)), "")
    before = bool(sub)
    for item in line.items:
        before = before and not isinstance(item, Word)
        if isinstance(item, OptionGroup):
            part = Line(line.program, (item,))
            for option in options_of(part):
                name = option.name
                place = f":{name}" if before else f"{sub}:{name}"
                found.append((option, {name, place}))
    return found


def letters(option: Option) -> list[Option]:
    return [
        Option(f"-{part.letter}", "plain", () if part.type is None else (part.type,))
        for part in option.parts
    ]


def operand_types(line: Line) -> list[TypeRef]:
    """The types of the operands, in order, those inside of groups too."""
    found: list[TypeRef] = []
    for item in line.items:
        collect(item, found)
    return found


def collect(item: Item, found: list[TypeRef]) -> None:
    if isinstance(item, Typed | Glued):
        found.append(item.type)
    elif isinstance(item, Repeated):
        collect(item.operand, found)
    elif isinstance(item, Group):
        for alternative in item.alternatives:
            for part in alternative:
                collect(part, found)


def literals_of(line: Line) -> set[str]:
    """Words and options as written; in style words, options are words."""
    found: set[str] = set()

    def walk(item: Item) -> None:
        if isinstance(item, Word):
            found.add(item.text)
        elif isinstance(item, Repeated) and isinstance(item.operand, Word):
            found.add(item.operand.text)
        elif isinstance(item, Group):
            for alternative in item.alternatives:
                for part in alternative:
                    walk(part)

    for item in line.items:
        walk(item)
    return found


def errors_of(line: Line, *, runs_code: bool) -> list[tuple[str, str, int]]:
    """The errors of one line by themselves: code, message, column."""
    hazard = hazard_of(line.program)
    found: list[tuple[str, str, int]] = []
    types = operand_types(line)
    files = {ref.name for ref in types} & {"FILE", "PATH", "ANY"}
    if not runs_code and hazard.interpreter and files:
        found.append(("L201", f"{line.program} runs the file it is given: say runs_code = true", 0))
    if not runs_code and line.file is not None:
        found.append(("L201", "a workspace program is code: say runs_code = true", 0))
    for option, names in named_options(line):
        if names & set(hazard.inline) and not runs_code:
            found.append(("L202", f"{option.name} takes code: say runs_code = true", option.column))
        if names & set(hazard.runs) and not commands(option):
            found.append(("L204", f"{option.name} starts another program", option.column))
        if names & set(hazard.injects):
            found.append(("L205", f"{option.name} changes the configuration", option.column))
        if names & set(hazard.writes) and not all(writable(v) for v in option.values):
            found.append(("L207", f"{option.name} writes: its type must be :rw", option.column))
    found.extend(operand_errors(line, hazard, types, runs_code=runs_code))
    if hazard.style == "words":
        found.extend(
            ("L204", f"{word} starts another program: write CMD(;)", 0)
            for word in literals_of(line) & set(hazard.runs) - {"-exec"}
        )
    return found


def operand_errors(
    line: Line, hazard: Hazard, types: list[TypeRef], *, runs_code: bool
) -> list[tuple[str, str, int]]:
    """The errors that lie in the operands."""
    found: list[tuple[str, str, int]] = []
    names = [ref.name for ref in types]
    if hazard.wrapper and "ANY" in names and not any(n.startswith("CMD") for n in names):
        found.append(("L203", f"the tail of {line.program} is a command: write CMD", 0))
    if hazard.opens and not hazard.script and not hazard.shifts:
        for ref in types:
            if ref.name in TEXTUAL and not runs_code:
                text = print_type(ref)
                found.append(("L208", f"{line.program} opens {text}: write PATH", ref.column))
                break
    given = {option.name for option in options_of(line)}
    shifting = given & set(hazard.shifts)
    first = next((name for name in names), "")
    if shifting and first in TEXTUAL and not required(line, hazard.shifts):
        found.append(("L209", f"{min(shifting)} turns the first text into a path: two lines", 0))
    scripted = hazard.script and first in ("TEXT", "LINE", "ANY") and line.program != "jq"
    if scripted and not runs_code:
        found.append(("L213", f"a script of {line.program} can run code", types[0].column))
    if hazard.owner and line.program in ("chown", "chgrp"):
        found.append(("L216", f"{line.program} changes owners", 0))
    if hazard.owner and line.program == "chmod" and first in TEXTUAL:
        found.append(("L216", "the mode may be setuid: write MODE", types[0].column))
    return found


def required(line: Line, names: tuple[str, ...]) -> bool:
    """Whether one of the options must occur, so that no text is ever shifted."""
    return any(
        isinstance(item, OptionGroup)
        and item.required
        and any(option.name in names for option in item.choices[0].options)
        for item in line.items
    )


def writable(value: TypeRef | Word) -> bool:
    return isinstance(value, TypeRef) and "rw" in value.modifiers


def commands(option: Option) -> bool:
    return any(isinstance(v, TypeRef) and v.name.startswith("CMD") for v in option.values)
