"""Walk: one command against one line, word by word, without backtracking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from policies.matching.fault import Miss
from policies.matching.line import CompiledLine
from policies.matching.operands import State
from policies.matching.options import Form, OptionTable
from policies.matching.sprint import Trail, sprint
from policies.values.value import CommandKind, Place, ValueType
from policies.verdict import PathCheck, fast_path_check

__all__ = ["PATHLIKE", "UNSEEN", "Inner", "Span", "Walk"]

UNSEEN = "\0unseen"
"""A word that will only be known when the command runs. No given word holds a NUL."""

PATHLIKE = "\0path"
"""An unseen word that is certain to be a path below a start path (``find -exec {}``)."""


class Span:
    """Words of a command: a part of an argv, perhaps with words that cannot be seen.

    Attributes:
        words: the argv; inner commands keep the indexes of the outer one.
        start: index of the program.
        end: index after the last word.
        blind: some words are UNSEEN or PATHLIKE.
        tail: unseen words will be appended.
        place: where the command runs.
        below: the paths of which one stands above every PATHLIKE word.
    """

    __slots__ = ("below", "blind", "end", "place", "start", "tail", "words")

    def __init__(
        self,
        words: Sequence[str],
        start: int,
        end: int,
        place: Place,
        *,
        blind: bool = False,
        tail: bool = False,
        below: tuple[str, ...] = (),
    ) -> None:
        self.words = words
        self.start = start
        self.end = end
        self.place = place
        self.blind = blind
        self.tail = tail
        self.below = below


Inner = Callable[[Span], Miss | None]
"""Judges an inner command: None when no rule denies it."""


class Walk:
    """The state of one match; ``run`` returns None when the line holds, else the Miss."""

    __slots__ = (
        "after", "at", "checks", "ended", "first", "forked", "inner", "line", "span",
        "spans", "state", "trail", "used",
    )  # fmt: skip

    def __init__(self, line: CompiledLine, span: Span, inner: Inner) -> None:
        self.line = line
        self.span = span
        self.inner = inner
        self.at = span.start + 1
        self.used: dict[int, str] = {}
        self.checks: list[PathCheck] = []
        self.trail: Trail = []
        self.spans: list[Span] = []
        self.state = line.operands.start
        self.after = False  # the end marker was seen
        self.ended = False  # no more options
        self.first = -1  # index of the first operand
        self.forked = False  # some word was read in two ways

    def run(self) -> Miss | None:
        """Match the whole command."""
        line = self.line
        if line.file is not None:
            miss = self.workspace_program(line.file)
            if miss is not None:
                return miss
        words, end = self.span.words, self.span.end
        pinned = line.pinned
        if pinned:
            if len(pinned) == 1 and self.at < end and words[self.at] in pinned[0].bare:
                self.at += 1
            else:
                miss = self.segments()
                if miss is not None:
                    return miss
        self.ended = line.words
        sprints = not self.span.blind
        while True:
            if sprints:
                self.at, self.state, self.first, self.after, self.ended = sprint(
                    line, words, end, self.span.place, self.used, self.checks, self.trail,
                    self.at, self.state, self.first, self.after, self.ended,
                )  # fmt: skip
            if self.at >= end:
                return self.finish()
            word = words[self.at]
            if self.ended or not is_option(word, self.first):
                miss = self.operand(word)
            elif word == "--":
                miss = self.marker()
            else:
                miss = self.option(word)
            if miss is not None:
                return miss

    def workspace_program(self, file: ValueType) -> Miss | None:
        """``./<FILE>``: the program itself is a path of the workspace."""
        start = self.span.start
        word = self.span.words[start]
        reason = file.check(word, self.span.place)
        if reason is not None:
            return Miss(reason, start, (f"./<{file.text}>",))
        check = fast_path_check(start, word, file.path or "file", False, file.root)
        self.checks.append(check)
        return None

    # -- pinned words

    def segments(self) -> Miss | None:
        """Match the pinned words, each with the options before it."""
        words, end = self.span.words, self.span.end
        for number, segment in enumerate(self.line.pinned):
            while True:
                if self.at >= end:
                    return self.missing_pinned(number, segment.texts())
                word = words[self.at]
                if segment.option is None:
                    if word in segment.literals:
                        self.at += 1
                        break
                elif word == segment.option:
                    miss = self.pair(segment.literals)
                    if miss is not None:
                        return miss
                    break
                if word[:1] not in ("-", "+") or len(word) == 1:
                    reason = "literal" if number else "no-subcommand"
                    return Miss(reason, self.at, segment.texts())
                if word == "--":
                    return Miss("end-marker", self.at, segment.texts())
                miss = self.take(segment.options, word, number)
                if miss is not None:
                    return miss
        return None

    def missing_pinned(self, number: int, expected: tuple[str, ...]) -> Miss:
        """The miss of a command that ends before a pinned word."""
        if number:
            return Miss("missing-operand", self.span.end, expected)
        return Miss("no-subcommand", self.span.end - 1, expected)

    def pair(self, literals: frozenset[str]) -> Miss | None:
        """A bare option and the literal that must follow it at once."""
        self.at += 1
        if not literals:
            return None
        expected = tuple(sorted(literals))
        if self.at >= self.span.end:
            return Miss("value-missing", self.at - 1, expected)
        if self.span.words[self.at] not in literals:
            return Miss("value-range", self.at, expected)
        self.at += 1
        return None

    # -- options

    def option(self, word: str) -> Miss | None:
        """An option of the last segment, or an operand that only ANY accepts."""
        at = self.at
        miss = self.take(self.line.options, word, len(self.line.pinned))
        if miss is None:
            return None
        if miss.word == at and self.is_operand(miss, word):
            return self.operand(word)
        return miss

    def is_operand(self, miss: Miss, word: str) -> bool:
        """Whether a word that no option form takes is an operand of this line."""
        if miss.reason in ("unknown-option", "option-place"):
            return self.line.open or word[0] == "+"
        return word[0] == "+" and miss.reason == "value-type"

    def take(self, options: OptionTable, word: str, segment: int) -> Miss | None:
        """Take an option: exact, ``name=``, attached, bundle, in this order."""
        form = options.exact.get(word)
        if form is not None:
            return self.plain(form)
        if "=" in word:
            name, _, value = word.partition("=")
            form = options.equals.get(name)
            if form is not None:
                return self.attached(options, form, value, word)
        for size, prefixes in options.prefixes.items():
            form = prefixes.get(word[:size])
            if form is not None:
                return self.attached(options, form, word[size:], word)
        letter = word[1:2]
        if word[0] == "-" and letter != "-":
            for bundle in options.bundles:
                if letter in bundle:
                    return self.cluster(options, bundle, word)
        return self.untaken(options, word, segment)

    def untaken(self, options: OptionTable, word: str, segment: int) -> Miss | None:
        """A numeric option, or the miss of a word that no form takes."""
        for prefix, form in options.attached:
            if prefix == word[0] and word[1:2] != "-":
                at = self.at
                miss = self.attached(options, form, word[1:], word)
                if miss is None or miss.reason != "value-type":
                    return miss
                self.at = at
        name, equals, _ = word.partition("=")
        if word in options.equals:
            return Miss("value-missing", self.at, (f"{word}=",))
        if equals and name in options.exact and not options.exact[name].values:
            return Miss("value-unexpected", self.at, (name,))
        if self.line.named_before(word, segment):
            return Miss("option-place", self.at)
        return Miss("unknown-option", self.at, options.names)

    def seen(self, form: Form) -> Miss | None:
        """Count the option; a second one must be declared repeatable."""
        before = self.used.get(form.slot)
        if before is None:
            self.used[form.slot] = form.name
        elif not form.repeat:
            same = before == form.name
            return Miss("option-repeated" if same else "option-conflict", self.at, (form.name,))
        return None

    def plain(self, form: Form) -> Miss | None:
        """The option word itself, its values in the next words."""
        if form.slot in self.used:
            miss = self.seen(form)
            if miss is not None:
                return miss
        else:
            self.used[form.slot] = form.name
        self.at += 1
        for value in form.values:
            if self.at >= self.span.end:
                return self.no_value(form, value)
            word = self.span.words[self.at]
            if word[:1] == "-" and len(word) > 1 and not value.dash:
                return Miss("dash-value", self.at, (value.text,))
            miss = self.fits(value, word)
            if miss is not None:
                return miss
            self.at += 1
        return None

    def no_value(self, form: Form, value: ValueType) -> Miss:
        """The miss of an option that ends the command."""
        if self.span.tail:
            return Miss("unseen-words", self.span.end, (value.text,))
        return Miss("value-missing", self.at - 1, (f"{form.name} {value.text}",))

    def attached(self, options: OptionTable, form: Form, text: str, word: str) -> Miss | None:
        """An option with its value, which are the whole word: read at once the next time.

        What a path is depends on the place, so those are read each time.
        """
        miss = self.glued(form, text)
        if miss is None and not form.values[0].path and not self.span.blind:
            options.remember(word, Form(form.name, form.slot, (), repeat=form.repeat))
        return miss

    def glued(self, form: Form, text: str) -> Miss | None:
        """An option whose value stands in the same word."""
        value = form.values[0]
        if not text and value.check("", self.span.place) is not None:
            return Miss("value-missing", self.at, (value.text,))
        miss = self.seen(form) or self.fits(value, text)
        if miss is None:
            self.at += 1
        return miss

    def fits(self, value: ValueType, text: str) -> Miss | None:
        """The value of an option."""
        if self.span.blind and "\0" in text:
            fits = value.anything or (text == PATHLIKE and value.path != "")
            return None if fits else Miss("unseen-words", self.at, (value.text,))
        reason = value.check(text, self.span.place)
        if reason is not None:
            return Miss(reason, self.at, (value.text,))
        if value.path:
            check = fast_path_check(self.at, text, value.path, value.writable, value.root)
            self.checks.append(check)
        return None

    def cluster(
        self, options: OptionTable, bundle: dict[str, tuple[Form, bool]], word: str
    ) -> Miss | None:
        """Letters in one word; from the first one with a value on, the rest is its value."""
        form = bundle[word[1]][0]
        for index in range(1, len(word)):
            entry = bundle.get(word[index])
            if entry is None:
                return Miss("bundle", self.at, tuple(f"-{letter}" for letter in bundle))
            form, attachable = entry
            if not form.values:
                self.used.setdefault(form.slot, form.name)
                continue
            rest = word[index + 1 :]
            if rest:
                if index == 1:
                    return self.attached(options, form, rest, word)
                return self.glued(form, rest)
            if attachable:
                miss = self.seen(form)
                self.at += miss is None
                return miss
            return self.plain(form)
        if not form.values:
            options.remember(word, form)
        self.at += 1
        return None

    # -- operands

    def marker(self) -> Miss | None:
        """``--`` as the end marker, where the line writes it."""
        state = self.state
        if state.marker:
            self.state = self.line.operands.step(state, state.marker)
            self.trail.append((self.at, state.marker))
            self.after = self.ended = True
            self.at += 1
            return None
        if state.anything:
            return self.operand("--")
        return Miss("end-marker", self.at, partial(self.line.operands.expected, state))

    def operand(self, word: str) -> Miss | None:
        """Move the set of positions by one operand."""
        at = self.at
        if word == "--" and not self.after and self.ended and self.state.marker:
            return self.marker()
        if self.first < 0:
            self.first = at
            if self.line.posix:
                self.ended = True
        state = self.state
        single = state.single
        if single is not None and not self.span.blind and not state.literals:
            if word[:1] == "-" and not single.dash and not self.after and len(word) > 1:
                reason: str | None = "dash-operand"
            else:
                reason = single.check(word, self.span.place)
            if reason is not None:
                return self.command(word, reason) if state.commands else self.wrong(word, reason)
            taken = single.taken
        else:
            taken, reason = self.taken(state, word)
            if not taken:
                return self.command(word, reason) if state.commands else self.wrong(word, reason)
            if len(taken) > 1:
                self.forked = True
        self.trail.append((at, taken))
        after = state.steps.get(taken)
        self.state = self.line.operands.step(state, taken) if after is None else after
        self.at = at + 1
        return None

    def taken(self, state: State, word: str) -> tuple[tuple[int, ...], str | None]:
        """The positions that take the word; the last reason of those that do not."""
        found = list(state.literals.get(word, ()))
        reason: str | None = None
        dashed = word[:1] == "-" and not self.after and len(word) > 1
        blind = self.span.blind and word[:1] == "\0"
        place = self.span.place
        for index, check, dash in state.types:
            if blind:
                fault = self.blind_fault(index, word)
            elif dashed and not dash:
                fault = "dash-operand"
            else:
                fault = check(word, place)
            if fault is None:
                found.append(index)
            else:
                reason = fault
        return tuple(found), reason

    def blind_fault(self, index: int, word: str) -> str | None:
        """Whether a position takes a word that nobody has seen."""
        value = self.line.operands.places[index].value
        if value is None:
            return "unseen-words"
        if value.anything:
            return None
        if value.path and word == PATHLIKE:
            return self.below_fault(value)
        return None if value.path and self.after else "unseen-words"

    def below_fault(self, value: ValueType) -> str | None:
        """What may not be written is refused where the search for it starts."""
        if value.writable:
            for path in self.span.below:
                fault = value.check(path, self.span.place)
                if fault is not None:
                    return fault
        return None

    def wrong(self, word: str, reason: str | None) -> Miss:
        """The miss of a word that no position takes."""
        state = self.state
        expected = partial(self.line.operands.expected, state)
        dashed = word[:1] == "-" and len(word) > 1 and not self.after
        if self.span.blind and word[:1] == "\0":
            return Miss(reason or "unseen-words", self.at, expected)
        if word == "--" and not self.after:
            return Miss("end-marker", self.at, expected)
        if dashed and state.literals:
            return Miss("literal", self.at, expected)
        if reason is not None:
            return Miss(reason, self.at, expected)
        if state.literals:
            return Miss("literal", self.at, expected)
        if dashed:
            return Miss("dash-operand", self.at, expected)
        return Miss("extra-operand", self.at, expected)

    # -- commands inside

    def command(self, word: str, reason: str | None) -> Miss | None:
        """The rest of the words, or those up to ``;``, as a command of its own."""
        index = self.state.commands[0]
        value = self.line.operands.places[index].value
        kind = value.command if value is not None else ""
        if kind == "terminated":
            return self.terminated(index)
        if word[:1] == "-" and len(word) > 1:
            return Miss("dash-operand", self.at, ("CMD",))
        if "=" in word:
            return Miss(reason or "value-type", self.at, ("CMD",))
        inner = self.inner_span(kind)
        miss = self.inner(inner)
        if miss is not None:
            return miss
        self.spans.append(inner)
        self.trail.append((self.at, (index,)))
        self.state = self.line.operands.step(self.state, (index,))
        self.at = self.span.end
        return None

    def inner_span(self, kind: CommandKind) -> Span:
        """The words of the inner command."""
        span = self.span
        if kind == "replaced":
            words = [UNSEEN if "{}" in word else word for word in span.words]
            return Span(
                words, self.at, span.end, span.place, blind=True, tail=span.tail, below=span.below
            )
        tail = span.tail or kind == "appended"
        return Span(
            span.words, self.at, span.end, span.place, blind=span.blind, tail=tail, below=span.below
        )

    def terminated(self, index: int) -> Miss | None:
        """``-exec CMD ;``: ``+`` ends it only directly after ``{}``, as find reads it."""
        words, start, end = self.span.words, self.at, self.span.end
        stop = start
        while stop < end and words[stop] != ";":
            if words[stop] == "+" and words[stop - 1] == "{}" and stop > start:
                break
            stop += 1
        if stop >= end:
            return Miss("missing-operand", end, ("';'",))
        if stop == start:
            return Miss("missing-operand", start, ("CMD",))
        inside = [exec_word(word) for word in words]
        below = (*self.span.below, *self.start_paths())
        inner = Span(inside, start, stop, self.span.place, blind=True, below=below)
        miss = self.inner(inner)
        if miss is not None:
            return miss
        self.spans.append(inner)
        self.trail.append((start, (index,)))
        self.state = self.line.operands.step(self.state, (index,))
        self.at = stop
        return None

    def start_paths(self) -> Iterator[str]:
        """The first path operands that stand together: where find starts."""
        paths = self.line.operands.paths
        found = False
        for at, taken in self.trail:
            if any(paths[index] is not None for index in taken):
                found = True
                word = self.span.words[at]
                if word[:1] != "\0":
                    yield word
            elif found:
                return

    # -- the end

    def finish(self) -> Miss | None:
        """What must have occurred, and whether the operands may end here."""
        if self.line.required:
            at = self.first if self.first >= 0 else self.span.end
            for slot, text in self.line.required:
                if slot not in self.used:
                    return Miss("option-missing", at, (text,))
        if self.span.tail and not self.spans:
            miss = self.unseen_tail()
            if miss is not None:
                return miss
        elif not self.state.accepts:
            return Miss(
                "missing-operand", self.span.end, partial(self.line.operands.expected, self.state)
            )
        if self.trail:
            self.path_checks()
        return None

    def unseen_tail(self) -> Miss | None:
        """Any number of unseen words must be accepted."""
        state, operands = self.state, self.line.operands
        visited: set[frozenset[int]] = set()
        while state.follow not in visited:
            if not state.accepts:
                return Miss("missing-operand", self.span.end, partial(operands.expected, state))
            visited.add(state.follow)
            taken = tuple(i for i, _, _ in state.types if self.blind_fault(i, UNSEEN) is None)
            if not taken:
                return Miss("unseen-words", self.span.end, partial(operands.expected, state))
            state = operands.step(state, taken)
        return None

    def path_checks(self) -> None:
        """Collect the path operands, by the readings that reach the end of the line."""
        operands = self.line.operands
        trail = self.trail
        if self.forked:
            alive = operands.alive([taken for _, taken in trail])
            for (at, _), taken in zip(trail, alive, strict=True):
                reading = operands.reading(taken)
                word = self.span.words[at]
                if reading is not None and word[:1] != "\0":
                    kind, writable, root, prefix = reading
                    path = word[prefix:] if prefix else word
                    self.checks.append(fast_path_check(at, path, kind, writable, root))
            return
        paths = operands.paths
        for at, taken in trail:
            value = paths[taken[0]]
            if value is not None:
                word = self.span.words[at]
                if word[:1] != "\0":
                    path = word[value.prefix :] if value.prefix else word
                    self.checks.append(
                        fast_path_check(at, path, value.path, value.writable, value.root)
                    )


def is_option(word: str, first: int) -> bool:
    """Whether a word is looked up as an option; ``+`` options stand before the operands."""
    sign = word[:1]
    return len(word) > 1 and (sign == "-" or (sign == "+" and first < 0))


def exec_word(word: str) -> str:
    """A word of ``find -exec``: ``{}`` is a path, a word that holds it is anything."""
    if word == "{}":
        return PATHLIKE
    return UNSEEN if "{}" in word else word
