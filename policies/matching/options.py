"""The options of a segment: hash tables of their forms, and what must occur."""

from __future__ import annotations

from policies.synopsis.error import SynopsisError
from policies.synopsis.tree import Option, OptionGroup, TypeRef, Word
from policies.values.catalogue import Catalogue, literal_value
from policies.values.value import Place, ValueType

__all__ = ["Form", "OptionTable"]

MOST_PREFIXES = 16
MOST_QUICK = 1024
EVERYWHERE = Place("/", ".")


class Form:
    """One way to write an option.

    Attributes:
        name: as written, without its value.
        slot: options of one choice share a slot; it is taken once unless ``repeat``.
        values: types of the words that follow, or of the one attached value.
        repeat: may occur again.
    """

    __slots__ = ("name", "repeat", "slot", "values")

    def __init__(
        self, name: str, slot: int, values: tuple[ValueType, ...], *, repeat: bool
    ) -> None:
        self.name = name
        self.slot = slot
        self.values = values
        self.repeat = repeat


class OptionTable:
    """All option forms of one segment.

    Attributes:
        exact: whole words, whose values are the next words.
        equals: names that stand before ``=``.
        attached: prefixes with their forms, the longest first.
        prefixes: the same by length, without the bare ``-`` and ``+``.
        bundles: letters that may be written in one word.
        quick: words that were understood as a whole.
        required: slots of which each must be taken.
    """

    __slots__ = (
        "attached", "bundles", "catalogue", "equals", "exact", "prefixes", "quick", "required",
        "slots",
    )  # fmt: skip

    def __init__(self, catalogue: Catalogue, first_slot: int = 0) -> None:
        self.catalogue = catalogue
        self.exact: dict[str, Form] = {}
        self.equals: dict[str, Form] = {}
        self.quick: dict[str, Form] = {}
        self.prefixes: dict[int, dict[str, Form]] = {}
        self.attached: list[tuple[str, Form]] = []
        self.bundles: list[dict[str, tuple[Form, bool]]] = []
        self.required: list[tuple[int, str]] = []
        self.slots = first_slot

    def add(self, group: OptionGroup) -> None:
        """Add the options of a group."""
        for choice in group.choices:
            slot = self.slots
            self.slots += 1
            for option in choice.options:
                repeat = group.repeat or option.repeat
                self.add_option(option, slot, repeat=repeat)
            if group.required:
                from policies.synopsis.printer import print_choice

                self.required.append((slot, print_choice(choice)))

    def add_option(self, option: Option, slot: int, *, repeat: bool) -> None:
        """Add one option in all the forms it declares."""
        if option.shape == "bundle":
            self.add_bundle(option, slot, repeat=repeat)
            return
        values = tuple(self.value(value) for value in option.values)
        form = Form(option.name, slot, values, repeat=repeat)
        flag = Form(option.name, slot, (), repeat=repeat)
        shape = option.shape
        if shape in ("plain", "either"):
            self.put(self.exact, option, form)
        if shape in ("equals", "either", "optional"):
            self.put(self.equals, option, form)
        if shape in ("optional", "attachable"):
            self.put(self.exact, option, flag)
        if shape in ("attached", "attachable"):
            if any(prefix == option.name for prefix, _ in self.attached):
                raise ambiguous(option.name, option.column)
            self.attached.append((option.name, form))

    def value(self, value: TypeRef | Word) -> ValueType:
        """The type of a value."""
        if isinstance(value, Word):
            return literal_value(value)
        found = self.catalogue.resolve(value)
        if found.command:
            raise SynopsisError("a command cannot be the value of an option", value.column)
        return found

    def put(self, table: dict[str, Form], option: Option, form: Form) -> None:
        """Enter a form, once."""
        if option.name in table:
            raise ambiguous(option.name, option.column)
        table[option.name] = form

    def add_bundle(self, option: Option, slot: int, *, repeat: bool) -> None:
        """Flags of a bundle may repeat; a letter with a value has a slot of its own."""
        letters: dict[str, tuple[Form, bool]] = {}
        for part in option.parts:
            name = f"-{part.letter}"
            if any(part.letter in other for other in self.bundles):
                raise ambiguous(name, option.column)
            if part.type is None:
                letters[part.letter] = (Form(name, slot, (), repeat=True), False)
                continue
            value = self.catalogue.resolve(part.type)
            form = Form(name, self.slots, (value,), repeat=repeat)
            self.slots += 1
            letters[part.letter] = (form, part.attachable)
        self.bundles.append(letters)

    def close(self) -> None:
        """Order the prefixes, and refuse forms that could take one word together."""
        self.attached.sort(key=lambda pair: -len(pair[0]))
        if len({len(prefix) for prefix, _ in self.attached}) > MOST_PREFIXES:
            raise SynopsisError(
                f"more than {MOST_PREFIXES} lengths of attached options", 0, "write two lines"
            )
        for name in (*self.exact, *self.equals):
            letter = name[1:2]
            if len(name) == 2 and any(letter in bundle for bundle in self.bundles):
                raise ambiguous(name, 0)
        for name in self.exact:
            self.refuse_overlap(name)
        for prefix, form in self.attached:
            if len(prefix) > 1:
                self.prefixes.setdefault(len(prefix), {})[prefix] = form
        self.quicken()
        for prefix, _ in self.attached:
            if len(prefix) == 2 and any(prefix[1] in bundle for bundle in self.bundles):
                raise ambiguous(prefix, 0)

    def quicken(self) -> None:
        """Words that need no further look-up: exact ones, and single letters of bundles."""
        self.quick.update(self.exact)
        for bundle in self.bundles:
            for letter, (form, attachable) in bundle.items():
                if not attachable:
                    self.quick[f"-{letter}"] = form

    def remember(self, word: str, form: Form) -> None:
        """A cluster of flags was read: read it at once the next time."""
        if len(self.quick) < MOST_QUICK:
            self.quick[word] = form

    def refuse_overlap(self, word: str) -> None:
        """Refuse a word that an attached form could take too."""
        for prefix, form in self.attached:
            if word != prefix and word.startswith(prefix):
                rest = word[len(prefix) :]
                if form.values[0].check(rest, EVERYWHERE) is None:
                    raise ambiguous(word, 0)

    def named(self, word: str) -> bool:
        """Whether a form of this table begins like the word."""
        if word in self.exact or word.partition("=")[0] in self.equals:
            return True
        if any(len(p) > 1 and word.startswith(p) for p, _ in self.attached):
            return True
        return any(word[1:2] in bundle for bundle in self.bundles)

    def names(self) -> tuple[str, ...]:
        """Every option as written, for messages."""
        found = [*self.exact, *(f"{name}=" for name in self.equals)]
        found += [f"{prefix}<>" for prefix, _ in self.attached]
        for bundle in self.bundles:
            found += [f"-{letter}" for letter in bundle]
        return tuple(sorted(set(found)))


def ambiguous(word: str, column: int) -> SynopsisError:
    return SynopsisError(
        f"ambiguous-option: two forms could take {word}", column, "keep one of them"
    )
