"""Builder: layers become one Policy; every fault is noted, none stops the rest."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from policies.identity import FIXED_PATH
from policies.limits import Budgets, Isolation, Limits
from policies.loading.document import Document
from policies.loading.fields import Fields
from policies.loading.layer import LEVELS, STYLES, Layer, RawRule, limit_values
from policies.loading.layers import BUILTIN
from policies.loading.positions import Path
from policies.loading.project import Project
from policies.matching.line import CompiledLine
from policies.matching.loose import LooseLine
from policies.policy import Policy
from policies.rule import Ban, Entry, Program, Rule, Waiting
from policies.synopsis import SynopsisError, parse_synopsis, parse_type
from policies.synopsis.tree import Line, Style
from policies.values.catalogue import Catalogue
from policies.values.paths import Protection
from policies.values.value import ValueType
from policies.verdict import PROTECTED, Conditions, Decision

__all__ = ["Builder"]

TYPE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
STREAMS = ("read", "write")
DECISIONS = (("allow", Decision.ALLOW), ("ask", Decision.ASK))
MOST_LINES = 512


class Builder:
    """Compiles the layers of one policy."""

    def __init__(
        self, layers: list[Layer], *, trust: bool = False, project: Project | None = None
    ) -> None:
        self.layers = layers
        self.project = project
        self.trust = trust
        self.entries: list[Entry | Waiting] = []
        self.bans: list[Ban] = []
        self.programs: dict[str, Program] = {}
        self.styles: dict[str, Style] = {}
        self.owners: dict[tuple[str, str], Layer] = {}
        self.sealed: dict[str, Layer] = {}
        self.conditions = self.top_conditions()
        self.protect = self.protected()
        self.roots = self.merged_roots()
        self.catalogue = Catalogue(protection=Protection(self.protect), roots=self.roots)
        self.places: dict[int, tuple[Layer, Path]] = {}  # of entries, by number
        self.rules: dict[str, RawRule] = {}
        self.kept: list[RawRule] = []
        self.env: dict[str, dict[str, ValueType]] = {}  # [env] by file

    def trusted(self, layer: Layer) -> bool:
        """Whether the lines of a layer need no proof now."""
        return self.trust and layer.origin.startswith(BUILTIN)

    def build(self) -> Policy:
        """The policy, usable only when no layer has faults."""
        for layer in self.layers:
            self.add_types(layer)
            self.add_programs(layer)
        dropped = self.dropped()
        self.restrict(dropped)
        for layer in self.layers:
            for raw in layer.rules:
                if self.own("rule", raw.name, layer, (*raw.path, "name")):
                    self.rules[raw.name] = raw
                    if raw.name not in dropped:
                        self.kept.append(raw)
                        self.add_rule(raw)
            for program in layer.sealed:
                self.sealed.setdefault(program, layer)
        top = self.layers[-1]
        budgets = self.budgets()
        return Policy(
            name=top.name,
            description=top.description,
            entries=self.entries,
            bans=self.bans,
            programs=self.programs,
            tools=self.tools(),
            digest=self.digest(),
            conditions=self.conditions,
            budgets=budgets if self.project is None else self.project.spare(budgets),
            only=self.fence(),
            protect=self.protect,
            roots=self.roots,
            redirect=self.redirect(),
            globs=all(layer.plan.flag("globs", default=True) for layer in self.layers),
        )

    def own(self, kind: str, name: str, layer: Layer, path: Path) -> bool:
        """Whether this layer may define the name: each is defined once."""
        owner = self.owners.get((kind, name))
        if owner is None:
            self.owners[(kind, name)] = layer
            return True
        where = "twice" if owner is layer else f"already in {owner.origin}"
        layer.document.fault(path, f"{kind} {name!r} is defined {where}", "choose another name")
        return False

    def restrict(self, dropped: set[str]) -> None:
        """What a project file takes away: rules, and commands by its deny lines."""
        project = self.project
        if project is None:
            return
        known = {raw.name for layer in self.layers for raw in layer.rules}
        for index, name in enumerate(project.drop):
            if name not in known:
                project.document.fault(("drop", index), f"no rule is named {name!r}")
            dropped.add(name)
        rule = Rule(project.name, reason="the project file denies it", conditions=self.conditions)
        for path, text in project.deny:
            line = self.project_line(project, path, text)
            try:
                if line is not None:
                    self.bans.append(Ban(rule, LooseLine(line, self.catalogue)))
            except SynopsisError as error:
                self.note(project.document, path, error)

    def fence(self) -> Policy | None:
        """The ``only`` lines of a project file as a policy of their own."""
        project = self.project
        if project is None or not project.only:
            return None
        rule = Rule(project.name, reason="the project file allows less", conditions=self.conditions)
        entries: list[Entry] = []
        for path, text in project.only:
            line = self.project_line(project, path, text)
            try:
                if line is not None:
                    compiled = CompiledLine(line, self.catalogue)
                    entries.append(Entry(rule, Decision.ALLOW, compiled, len(entries)))
            except SynopsisError as error:
                self.note(project.document, path, error)
        return Policy(name=project.name, entries=entries, programs=self.programs)

    def project_line(self, project: Project, path: Path, text: str) -> Line | None:
        """A line of a project file."""
        head = text.split(None, 1)[0] if text.split() else ""
        try:
            style = self.styles.get(self.program_of(head), "gnu")
            return parse_synopsis(text, self.catalogue, style)
        except SynopsisError as error:
            self.note(project.document, path, error)
            return None

    def note(self, document: Document, path: Path, error: SynopsisError) -> None:
        """Note the fault of a line at its column."""
        document.fault(path, error.message, error.fix, column=error.column, width=error.width)

    def closure(self, layer: Layer) -> Policy:
        """The policy of one file and what it extends: its examples speak of that."""
        known = {layer.origin}
        for other in reversed(self.layers):
            if other.origin in known:
                known.update(other.bases)
        kept = [entry for entry in self.entries if entry.rule.origin in known]
        bans = [ban for ban in self.bans if ban.rule.origin in known]
        return Policy(
            name=layer.name,
            entries=kept,
            bans=bans,
            programs=self.programs,
            conditions=self.conditions,
        )

    # -- the top of the files

    def top_conditions(self) -> Conditions:
        """The strictest isolation, and the smallest of the limits that are set."""
        limits: dict[str, float] = {}
        isolation = Isolation.PROCESS
        for layer in self.layers:
            for key, value in layer.limits.items():
                limits[key] = min(value, limits.get(key, value))
            isolation = max(isolation, layer.isolation or Isolation.PROCESS)
        merged = with_limits(Limits(), limits)
        if self.project is not None:
            isolation = max(isolation, self.project.isolation)
            merged = self.project.lowered(merged)
        return Conditions(isolation=isolation, limits=merged)

    def budgets(self) -> Budgets:
        """The smallest of the budgets that are set."""
        found: dict[str, Any] = {}
        per_tool: dict[str, int] = {}
        for layer in self.layers:
            for key, value in layer.budgets.items():
                if key == "per_tool":
                    for tool, most in value.items():
                        per_tool[tool] = min(most, per_tool.get(tool, most))
                else:
                    found[key] = min(value, found.get(key, value))
        return Budgets(**found, per_tool=tuple(sorted(per_tool.items())))

    def protected(self) -> tuple[str, ...]:
        """The protected names, with what layers add and remove."""
        names = list(PROTECTED)
        for layer in self.layers:
            for index, name in enumerate(layer.protect_remove):
                if name in names:
                    names.remove(name)
                else:
                    layer.document.fault(("protect", "remove", index), f"{name!r} is not protected")
            names.extend(name for name in layer.protect_add if name not in names)
        return tuple(names)

    def merged_roots(self) -> dict[str, str]:
        """The named roots of all layers."""
        roots: dict[str, str] = {}
        for layer in self.layers:
            owned = [n for n in layer.roots if self.own("root", n, layer, ("roots", n))]
            roots.update((name, layer.roots[name]) for name in owned)
        return roots

    def redirect(self) -> frozenset[str]:
        """The redirections that every layer which speaks of them allows."""
        found: frozenset[str] | None = None
        for layer in self.layers:
            if "redirect" in layer.plan.data:
                kinds = streams(layer.plan)
                found = kinds if found is None else found & kinds
        return found or frozenset()

    def dropped(self) -> set[str]:
        """The rules that a later layer takes out."""
        known: dict[str, Layer] = {}
        found: set[str] = set()
        for layer in self.layers:
            for index, name in enumerate(layer.drop):
                if name not in known:
                    layer.document.fault(("drop", index), f"no earlier rule is named {name!r}")
                else:
                    found.add(name)
            known.update((raw.name, layer) for raw in layer.rules)
        return found

    def digest(self) -> str:
        """sha256 over the canonical content of all layers."""
        content = [layer.document.data for layer in self.layers]
        if self.project is not None:
            content.append(self.project.document.data)
        data = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
        return "sha256:" + hashlib.sha256(data.encode()).hexdigest()

    # -- types and programs

    def add_types(self, layer: Layer) -> None:
        """Declare the types of a layer."""
        for name, text in layer.types.items():
            path: Path = ("types", name)
            if TYPE_NAME.fullmatch(name) is None:
                layer.document.fault(
                    path, f"{name!r} is not a type name", "write capitals, digits, _", key=True
                )
            elif name in self.catalogue and name not in self.catalogue.declared:
                layer.document.fault(path, f"{name} is a built-in type", "rename it", key=True)
            elif self.own("type", name, layer, path):
                self.declare(layer, name, text, path)

    def declare(self, layer: Layer, name: str, text: str, path: Path) -> None:
        """Declare one type."""
        offset = 0
        refs = []
        try:
            for part in split_types(text):
                refs.append(parse_type(part, self.catalogue))
                offset += len(part) + 1
            offset = 0
            self.catalogue.declare(name, tuple(refs), trusted=self.trusted(layer))
        except SynopsisError as error:
            self.catalogue.declared.setdefault(name, ())
            layer.document.fault(
                path, error.message, error.fix, column=offset + error.column, width=error.width
            )

    def add_programs(self, layer: Layer) -> None:
        """Note the programs of a layer."""
        for name, fields in layer.programs.items():
            if not self.own("program", name, layer, ("program", name)):
                continue
            style = fields.choice("style", STYLES)
            if style is not None:
                self.styles[name] = style  # type: ignore[assignment]
            env = fields.table("env")
            search = tuple(fields.texts("search")) or FIXED_PATH
            for index, folder in enumerate(search):
                if not folder.startswith("/"):
                    layer.document.fault(
                        ("program", name, "search", index), "search lists absolute folders"
                    )
            self.programs[name] = Program(
                name,
                search,
                tuple(fields.texts("paths")),
                fields.text("sha256"),
                tuple(fields.texts("also")),
                tuple(fields.texts("workspace")),
                tuple((key, env.text(key)) for key in env.data),
            )

    # -- rules

    def add_rule(self, raw: RawRule) -> None:
        """Compile the lines of a rule."""
        rule = self.rule(raw)
        style = raw.fields.choice("style", STYLES)
        prefix = raw.fields.text("global")
        only = raw.fields.text("program")
        for kind, decision in DECISIONS:
            for path, text in raw.lines(kind):
                if self.trusted(raw.layer):
                    self.wait(raw, path, rule, decision, text)
                    continue
                line = self.line(raw, path, text, style, prefix)
                if line is not None and self.permitted(raw, path, line, only):
                    self.add_entry(raw, path, rule, decision, line)
        for path, text in raw.lines("deny"):
            line = self.line(raw, path, text, style, "")
            if line is not None and self.permitted(raw, path, line, only, deny=True):
                try:
                    self.bans.append(Ban(rule, LooseLine(line, self.catalogue)))
                except SynopsisError as error:
                    self.complain(raw.layer, path, error)

    def wait(self, raw: RawRule, path: Path, rule: Rule, decision: Decision, text: str) -> None:
        """Note a line that is compiled when it is needed."""
        number = len(self.entries)
        style = raw.fields.choice("style", STYLES)
        prefix = raw.fields.text("global")

        def compiled() -> Entry:
            line = self.line(raw, path, text, style, prefix)
            if line is None:
                raise AssertionError(text)
            return Entry(rule, decision, CompiledLine(line, self.catalogue), number)

        head = text.split(None, 1)[0].strip("'")
        program = "./" if head.startswith("./<") else head
        self.entries.append(Waiting(program, rule, number, compiled))
        self.places[number] = (raw.layer, path)

    def add_entry(
        self, raw: RawRule, path: Path, rule: Rule, decision: Decision, line: Line
    ) -> None:
        """Compile one allow or ask line."""
        try:
            compiled = CompiledLine(line, self.catalogue)
        except SynopsisError as error:
            self.complain(raw.layer, path, error)
            return
        number = len(self.entries)
        self.entries.append(Entry(rule, decision, compiled, number))
        self.places[number] = (raw.layer, path)

    def line(
        self, raw: RawRule, path: Path, text: str, style: str | None, prefix: str
    ) -> Line | None:
        """A parsed line with the rule's global options spliced in."""
        name = text.split(None, 1)[0] if text.split() else ""
        used: Style = style or self.styles.get(self.program_of(name), "gnu")  # type: ignore[assignment]
        try:
            line = parse_synopsis(text, self.catalogue, used)
        except SynopsisError as error:
            self.complain(raw.layer, path, error)
            return None
        if not prefix:
            return line
        try:
            extra = parse_synopsis(f"x {prefix}", self.catalogue, used)
        except SynopsisError as error:
            raw.layer.document.fault(
                (*raw.path, "global"), error.message, error.fix, column=max(error.column - 2, 0)
            )
            return None
        return replace(line, items=(*extra.items, *line.items))

    def program_of(self, name: str) -> str:
        """The program that a name belongs to."""
        for program in self.programs.values():
            if name in program.also:
                return program.name
        return name

    def permitted(
        self, raw: RawRule, path: Path, line: Line, only: str, *, deny: bool = False
    ) -> bool:
        """Whether the line is about the rule's program, and the program is not sealed."""
        document = raw.layer.document
        if only and line.program not in (only, "./"):
            document.fault(path, f"the rule is about {only}, the line about {line.program}")
            return False
        if not deny and line.program in self.sealed:
            owner = self.sealed[line.program].origin
            document.fault(path, f"{line.program} is sealed by {owner}", "only deny it")
            return False
        return True

    def complain(self, layer: Layer, path: Path, error: SynopsisError) -> None:
        """Note the fault of a line at its column."""
        self.note(layer.document, path, error)

    def rule(self, raw: RawRule) -> Rule:
        """The fields that a rule's lines share."""
        fields = raw.fields
        layer = raw.layer
        level = fields.choice("isolation", LEVELS)
        isolation = Isolation.PROCESS if level is None else Isolation.parse(level)
        limits = self.conditions.limits.least(
            with_limits(self.conditions.limits, limit_values(fields.table("limits")))
        )
        network = fields.texts("network") if "network" in fields.data else list(layer.network)
        forced = fields.table("set_env")
        redirect = streams(fields) if "redirect" in fields.data else None
        env = self.env_types(raw)
        cwd = tuple(fields.texts("cwd"))
        most = fields.number("max_words", whole=True)
        stdin = fields.choice("stdin", ("any", "none")) != "none"
        return Rule(
            name=raw.name,
            reason=fields.text("reason"),
            runs_code=fields.flag("runs_code"),
            conditions=Conditions(
                isolation=max(self.conditions.isolation, isolation),
                limits=limits,
                network=tuple(host for host in network if host != "none"),
                env=tuple((key, forced.text(key)) for key in forced.data),
            ),
            env=tuple(env.items()),
            cwd=cwd,
            stdin=stdin,
            redirect=redirect,
            max_words=int(most) if most is not None else 4096,
            origin=layer.origin,
            gated=bool(cwd) or most is not None or not stdin or redirect is not None,
        )

    def env_types(self, raw: RawRule) -> dict[str, ValueType]:
        """The variables that a leading assignment may set, with their types."""
        layer = raw.layer
        if layer.origin not in self.env:
            self.env[layer.origin] = self.typed(layer, ("env",), layer.env)
        own = raw.fields.table("env")
        if not own.data:
            return self.env[layer.origin]
        texts = {key: own.text(key) for key in own.data}
        return {**self.env[layer.origin], **self.typed(layer, (*raw.path, "env"), texts)}

    def typed(self, layer: Layer, path: Path, texts: dict[str, str]) -> dict[str, ValueType]:
        """A table of variables with their types."""
        found: dict[str, ValueType] = {}
        for name, text in texts.items():
            try:
                found[name] = self.catalogue.resolve(parse_type(text, self.catalogue))
            except SynopsisError as error:
                self.complain(layer, (*path, name), error)
        return found

    # -- tools

    def tools(self) -> Policy | None:
        """The lines of [tools] as a policy of their own."""
        entries: list[Entry] = []
        bans: list[Ban] = []
        rule = Rule("tools", conditions=self.conditions)
        for layer in self.layers:
            for kind, decision in (*DECISIONS, ("deny", Decision.DENY)):
                for index, text in enumerate(layer.tools.texts(kind)):
                    path: Path = ("tools", kind, index)
                    try:
                        line = parse_synopsis(text, self.catalogue)
                        if decision is Decision.DENY:
                            bans.append(Ban(rule, LooseLine(line, self.catalogue)))
                            continue
                        compiled = CompiledLine(line, self.catalogue)
                        entries.append(Entry(rule, decision, compiled, len(entries)))
                    except SynopsisError as error:
                        self.complain(layer, path, error)
        if not entries and not bans:
            return None
        return Policy(name="tools", entries=entries, bans=bans, conditions=self.conditions)


def with_limits(limits: Limits, values: dict[str, float]) -> Limits:
    """The limits with some of them replaced."""
    return replace(limits, **values) if values else limits  # type: ignore[arg-type]


def streams(fields: Fields) -> frozenset[str]:
    """``redirect``: a list of read and write, or "none"."""
    if fields.data.get("redirect") == "none":
        return frozenset()
    kinds = fields.texts("redirect")
    for kind in kinds:
        if kind not in STREAMS:
            fields.fault("redirect", f"{kind!r} is not a redirection", "one of read, write")
    return frozenset(kinds)


def split_types(text: str) -> list[str]:
    """The parts of ``T & U``; an ``&`` inside parentheses belongs to its type."""
    parts: list[str] = []
    depth = start = 0
    index = 0
    while index < len(text):
        character = text[index]
        if text.startswith("RE(/", index):
            close = re.compile(r"(?:[^\\]|\\.)*?/\)").match(text, index + 4)
            index = close.end() if close else len(text)
            continue
        depth += (character == "(") - (character == ")")
        if character == "&" and depth == 0:
            parts.append(text[start:index])
            start = index + 1
        index += 1
    parts.append(text[start:])
    return parts
