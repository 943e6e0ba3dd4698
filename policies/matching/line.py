"""CompiledLine: a synopsis line as segments of options, pinned words and operands."""

from __future__ import annotations

from policies.matching.operands import Operands
from policies.matching.options import OptionTable
from policies.synopsis.tree import Group, Item, Line, Operand, Option, OptionGroup, Word
from policies.values.catalogue import Catalogue
from policies.values.value import ValueType

__all__ = ["CompiledLine", "Segment"]


class Segment:
    """Options, then a pinned word: a literal of a set, a bare option, or a pair of both.

    Attributes:
        options: what may stand before the pinned word.
        literals: the words of which one must come; empty for a bare option alone.
        option: the bare option that must come (before the literal), or None.
        bare: the literals where no option stands before them.
    """

    __slots__ = ("bare", "literals", "option", "options")

    def __init__(self, options: OptionTable, literals: frozenset[str], option: str | None) -> None:
        self.options = options
        self.literals = literals
        self.option = option
        self.bare = literals if option is None else frozenset[str]()

    def heads(self) -> frozenset[str]:
        """The words that this segment's pinned part can begin with."""
        return self.literals if self.option is None else frozenset((self.option,))

    def texts(self) -> tuple[str, ...]:
        """What is expected, for messages."""
        return tuple(sorted(self.heads()))


class CompiledLine:
    """A line ready to be matched.

    Attributes:
        line: the parsed line.
        text: as written.
        pinned: segments that end with a pinned word.
        options: the options of the last segment.
        operands: the automaton of the operands.
        open: the line ends in ``ANY...``.
        posix: the first operand ends the options.
        words: nothing is an option.
        heads: the words of which one is in every command of this line; empty: no such word.
        demands: each a tuple of beginnings, of which some word must have one. A line whose demands
            are not met cannot hold, so it is only walked to explain a denial.
        needles: the demands as they stand in words that are joined by NUL.
        runs_commands: it has a command type.
        file: the type of the workspace program, for ``./<FILE>`` lines.
    """

    __slots__ = (
        "demands", "file", "heads", "line", "needles", "open", "operands", "options", "pinned",
        "posix", "program", "required", "runs_commands", "text", "words",
    )  # fmt: skip

    def __init__(self, line: Line, catalogue: Catalogue) -> None:
        self.line = line
        self.program = line.program
        self.text = " ".join(line.text.split())
        self.posix = line.style == "posix"
        self.words = line.style == "words"
        self.file: ValueType | None = None if line.file is None else catalogue.resolve(line.file)
        self.pinned: list[Segment] = []
        self.options = OptionTable(catalogue)
        operands = self.split(list(line.items), catalogue)
        self.options.close()
        self.operands = Operands(operands, catalogue)
        self.open = self.ends_open()
        self.heads = self.pinned[0].heads() if self.pinned else frozenset[str]()
        tables = [segment.options for segment in self.pinned] + [self.options]
        self.required = tuple(pair for table in tables for pair in table.required)
        self.runs_commands = any(
            place.value is not None and place.value.command for place in self.operands.places
        )
        self.demands = tuple(demands(line.items, words=self.words))
        self.needles = tuple(tuple("\0" + word for word in one) for one in self.demands)

    def split(self, items: list[Item], catalogue: Catalogue) -> list[Operand]:
        """Fill the segments; what remains are the operands."""
        operands: list[Operand] = []
        index = 0
        while index < len(items):
            item = items[index]
            following = items[index + 1] if index + 1 < len(items) else None
            index += 1
            if isinstance(item, OptionGroup):
                flag = bare_flag(item)
                if flag is None or operands:
                    self.options.add(item)
                    continue
                literals = pinned_words(following) if following is not None else None
                index += literals is not None
                self.pin(literals or frozenset(), flag.name, catalogue)
                continue
            literals = None if operands or self.words else pinned_words(item)
            if literals is None:
                operands.append(item)
            else:
                self.pin(literals, None, catalogue)
        return operands

    def ends_open(self) -> bool:
        """Whether some last operand is a repeated ANY."""
        operands = self.operands
        return any(
            index in operands.follow[index] and value is not None and value.anything
            for index in operands.last
            for value in (operands.places[index].value,)
        )

    def pin(self, literals: frozenset[str], option: str | None, catalogue: Catalogue) -> None:
        """End the segment with a pinned word."""
        self.options.close()
        segment = Segment(self.options, literals, option)
        self.pinned.append(segment)
        self.options = OptionTable(catalogue, self.options.slots)

    def named_before(self, word: str, segment: int) -> bool:
        """Whether an option of an earlier segment begins like the word."""
        return any(earlier.options.named(word) for earlier in self.pinned[:segment])


def bare_flag(group: OptionGroup) -> Option | None:
    """The option of a bare group that takes no value: it is pinned."""
    option = group.choices[0].options[0]
    if group.bare and option.shape == "plain" and not option.values and not option.repeat:
        return option
    return None


def pinned_words(item: Item) -> frozenset[str] | None:
    """The literals of a bare word or of a ``( | )`` of words, else None."""
    if isinstance(item, Word):
        return frozenset((item.text,))
    if isinstance(item, Group) and not item.optional and not item.repeat:
        words = [a[0].text for a in item.alternatives if len(a) == 1 and isinstance(a[0], Word)]
        if len(words) == len(item.alternatives):
            return frozenset(words)
    return None


def demands(items: tuple[Item, ...], *, words: bool) -> list[tuple[str, ...]]:
    """What some word of every command of the line begins with."""
    found: list[tuple[str, ...]] = []
    for item in items:
        if isinstance(item, OptionGroup) and item.required:
            options = item.choices[0].options
            if all(option.shape != "bundle" for option in options):
                found.append(tuple(option.name for option in options))
            continue
        literals = pinned_words(item) if words and not isinstance(item, OptionGroup) else None
        if literals is not None:
            found.append(tuple(literals))
    return found
