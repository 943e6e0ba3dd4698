"""Changes: what would have to be written otherwise in a line for it to take a word.

They are guesses, made by looking at the text: whoever uses one reads the changed line and tries it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from policies.authoring.guess import admitted_by, guess_type, widened
from policies.matching.fault import Miss
from policies.matching.walk import Span

__all__ = ["Change", "change_of"]

INTEGER = re.compile(r"-?[0-9]{1,18}")
LITERAL = re.compile(r"[a-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Change:
    """A replacement inside the text of a line."""

    kind: str
    column: int
    before: str
    after: str

    def applied(self, text: str) -> str:
        """The text after the change."""
        end = self.column + len(self.before)
        return " ".join((text[: self.column] + self.after + text[end:]).split())


def change_of(text: str, miss: Miss, span: Span, known: frozenset[str]) -> Change | None:
    """The smallest change of a line's text that answers a miss."""
    word = span.words[miss.word] if miss.word < span.end else ""
    if miss.reason in ("value-range", "value-type", "dash-value", "empty-word", "control-char"):
        before = span.words[miss.word - 1] if miss.word > 0 else ""
        return change_type(text, miss, word, before)
    if miss.reason == "unknown-option":
        return change_option(text, span, miss.word)
    if miss.reason == "option-repeated":
        return change_repeat(text, miss)
    if miss.reason == "end-marker":
        return at_operands(text, "end-marker", "[--]", known)
    if miss.reason == "extra-operand":
        return Change("add-operand", len(text), "", f" [{guess_type(word)}]")
    if miss.reason in ("option-missing", "missing-operand"):
        return change_demand(text, miss)
    if miss.reason == "literal":
        return change_literal(text, miss, word)
    if miss.reason == "bundle":
        return change_bundle(text, miss, word)
    if miss.reason == "option-conflict":
        return change_conflict(text, miss, word)
    return change_value(text, word) if miss.reason == "value-unexpected" else None


def change_type(text: str, miss: Miss, word: str, before: str) -> Change | None:
    """A wider range, or the narrowest type that admits the word."""
    for expected in miss.expected:
        at, given = type_place(text, expected, word, before)
        if at < 0:
            continue
        if miss.reason == "value-range":
            wider = widened(expected, given)
            if wider is not None:
                return Change("widen-range", at, expected, wider)
            continue
        if miss.reason == "dash-value" and INTEGER.fullmatch(given):
            wider = widened(expected, given) or expected
            return Change("change-type", at, expected, f"{wider}:dash")
        other = admitted_by(given)
        if other is not None and other != expected:
            return Change("change-type", at, expected, other)
    return None


def type_place(text: str, expected: str, word: str, before: str) -> tuple[int, str]:
    """Where the type stands in the line, and the part of the word that is its value."""
    name, equals, value = word.partition("=")
    if word.startswith("-") and equals:
        found = re.search(re.escape(name) + r"(?:\[=\]|\[=|=)(" + re.escape(expected) + ")", text)
        return (found.start(1), value) if found else (-1, value)
    if word.startswith("-") and len(word) > 2:
        found = re.search(re.escape(word[:2]) + r"(?:<|\[)?(" + re.escape(expected) + ")", text)
        if found:
            return found.start(1), word[2:]
    if before.startswith("-"):
        letter = re.escape(before[-1])
        names = rf"(?:{re.escape(before)}(?:\[=\])? ?|[,{{]{letter} )(" + re.escape(expected) + ")"
        found = re.search(names, text)
        if found:
            return found.start(1), word
    return text.find(expected), word


def change_option(text: str, span: Span, at: int) -> Change:
    """``[--x]``, ``[--x=T]`` or ``[--x T]``."""
    word = span.words[at]
    name, equals, value = word.partition("=")
    following = span.words[at + 1] if at + 1 < span.end else ""
    if equals:
        option = f"[{name}={guess_type(value)}]"
    elif len(name) == 2 and following[:1].isdigit():
        option = f"[{name} {guess_type(following)}]"
    else:
        option = f"[{name}]"
    return Change("add-option", place_for_option(text), "", f" {option}")


def place_for_option(text: str) -> int:
    """Behind the program and the literals that follow it."""
    found = re.match(r"\S+(?: [a-z][A-Za-z0-9-]*(?= |$))*", text)
    return found.end() if found else len(text)


def change_repeat(text: str, miss: Miss) -> Change | None:
    """``...`` behind the group that holds the option."""
    name = miss.expected[0] if miss.expected else ""
    at = text.find(f"[{name}")
    close = text.find("]", at)
    if at < 0 or close < 0 or text.startswith("...", close + 1):
        return None
    return Change("repeat-option", close + 1, "", "...")


def at_operands(text: str, kind: str, inserted: str, known: frozenset[str]) -> Change:
    """Before the first operand type."""
    for found in re.finditer(r"(?<= )[\[(]*([A-Z][A-Z0-9_]*)", text):
        if found[1] in known and "-" not in text[found.start() : found.start(1)]:
            depth = text[: found.start()].count("[") - text[: found.start()].count("]")
            if depth == 0:
                return Change(kind, found.start(), "", f"{inserted} ")
    return Change(kind, len(text), "", f" {inserted}")


def change_demand(text: str, miss: Miss) -> Change | None:
    """``[ ]`` around what must occur and does not."""
    for expected in miss.expected:
        bare = expected.removeprefix("(").removesuffix(")")
        for written in (f"({bare})", bare):
            found = re.search(rf"(?<= ){re.escape(written)}(?=(?:\.\.\.)?(?: |$))", text)
            if found is not None:
                return Change("make-optional", found.start(), written, f"[{bare}]")
    return None


def change_literal(text: str, miss: Miss, word: str) -> Change | None:
    """Another word beside the one that the line writes."""
    if LITERAL.fullmatch(word) is None or not miss.expected:
        return None
    last = miss.expected[-1]
    found = re.search(rf"(?<=[ (\[|]){re.escape(last)}(?=[ )\]|]|$)", text)
    if found is None or LITERAL.fullmatch(last) is None:
        return None
    in_group = text[found.start() - 1] in "([|" or text[found.end() : found.end() + 1] == "|"
    after = f"{last}|{word}" if in_group else f"({last}|{word})"
    return Change("add-literal", found.start(), last, after)


def change_bundle(text: str, miss: Miss, word: str) -> Change | None:
    """The letters that a cluster lacks, behind those that take no value."""
    known = {name[1:] for name in miss.expected}
    letters = "".join(dict.fromkeys(c for c in word[1:] if c not in known))
    for found in re.finditer(r"-\{([A-Za-z0-9]*)(?=[,}])", text):
        if set(found[1]) <= known and letters.isalnum():
            return Change("add-letter", found.start(1), found[1], found[1] + letters)
    return None


def change_conflict(text: str, miss: Miss, word: str) -> Change | None:
    """Options beside each other where the line lets one of them occur."""
    other = miss.expected[0] if miss.expected else ""
    for found in re.finditer(r"\[([^][()]*)\]", text):
        names = {choice.split("=")[0].split(" ")[0] for choice in found[1].split("|")}
        if {other, word.partition("=")[0]} <= names:
            return Change("add-option", found.start(1), found[1], found[1].replace("|", ", "))
    return None


def change_value(text: str, word: str) -> Change | None:
    """``--x[=T]`` in the place of ``--x``."""
    name, _, value = word.partition("=")
    found = re.search(rf"(?<=[ (\[|]){re.escape(name)}(?=[ ,)\]|]|$)", text)
    if not name.startswith("--") or found is None:
        return None
    return Change("add-value", found.start(), name, f"{name}[={guess_type(value)}]")
