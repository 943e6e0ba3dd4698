"""Prints the parts of a synopsis line in their one canonical form."""

from __future__ import annotations

from policies.synopsis.tree import (
    Choice,
    End,
    Glued,
    Group,
    Item,
    Line,
    Operand,
    Option,
    OptionGroup,
    Part,
    Repeated,
    Style,
    Typed,
    TypeRef,
    Word,
)

__all__ = ["print_item", "print_synopsis", "print_type"]

PLAIN_START = frozenset('abcdefghijklmnopqrstuvwxyz0123456789_./@:%~^{}*?!#$&;\\"`')
STRUCTURE = frozenset("[]()|,'<> \t\r\n")


def print_type(ref: TypeRef) -> str:
    """A type as lines write it."""
    text = ref.name
    if ref.args is not None:
        text += f"(/{ref.args}/)" if ref.name == "RE" else f"({ref.args})"
    if ref.root is not None:
        text += f"@{ref.root}"
    text += "".join(f":{modifier}" for modifier in ref.modifiers)
    return text if ref.value is None else f"{text}={print_type(ref.value)}"


def print_synopsis(line: Line) -> str:
    """The line in canonical form: parsing it again gives the same line."""
    program = line.program if line.file is None else f"./<{print_type(line.file)}>"
    return " ".join([program, *(print_item(item, line.style) for item in line.items)])


def print_item(item: Item, style: Style = "gnu") -> str:
    """One item of a line."""
    if isinstance(item, OptionGroup):
        return print_options(item)
    return print_operand(item, style)


def print_options(group: OptionGroup) -> str:
    choices = ", ".join(print_choice(choice) for choice in group.choices)
    if group.bare:
        return choices
    brackets = "()" if group.required else "[]"
    return f"{brackets[0]}{choices}{brackets[1]}{'...' if group.repeat else ''}"


def print_choice(choice: Choice) -> str:
    return "|".join(print_option(option) for option in choice.options)


def print_option(option: Option) -> str:
    return bare_option(option) + ("..." if option.repeat else "")


def bare_option(option: Option) -> str:
    if option.shape == "bundle":
        return "-{" + print_parts(option.parts) + "}"
    values = [print_value(value) for value in option.values]
    if option.shape == "plain":
        return " ".join([option.name, *values])
    forms = {
        "equals": "{0}={1}",
        "either": "{0}[=]{1}",
        "optional": "{0}[={1}]",
        "attached": "{0}<{1}>",
        "attachable": "{0}[{1}]",
    }
    return forms[option.shape].format(option.name, values[0])


def print_parts(parts: tuple[Part, ...]) -> str:
    flags = "".join(part.letter for part in parts if part.type is None)
    valued = [
        f"{part.letter}[{print_type(part.type)}]"
        if part.attachable
        else f"{part.letter} {print_type(part.type)}"
        for part in parts
        if part.type is not None
    ]
    return ",".join(([flags] if flags else []) + valued)


def print_value(value: TypeRef | Word) -> str:
    return print_type(value) if isinstance(value, TypeRef) else print_word(value.text, "gnu")


def print_word(text: str, style: Style) -> str:
    """A literal, quoted where it would be read as something else."""
    plain = (
        text != ""
        and not (STRUCTURE & set(text))
        and "..." not in text
        and "=" not in text
        and (text[0] in PLAIN_START or style == "words" or text == "-")
        and not text[0].isupper()
        and (text != "--" or style == "words")
    )
    return text if plain else f"'{text}'"


def print_operand(operand: Operand, style: Style) -> str:
    if isinstance(operand, Word):
        return print_word(operand.text, style)
    if isinstance(operand, End):
        return "--"
    if isinstance(operand, Typed):
        return print_type(operand.type)
    if isinstance(operand, Glued):
        return print_glued(operand, style)
    if isinstance(operand, Repeated):
        return print_operand(operand.operand, style) + "..."
    return print_group(operand, style)


def print_glued(operand: Glued, style: Style) -> str:
    prefix = operand.prefix
    if prefix.endswith("=") and not STRUCTURE & set(prefix) and prefix != "NAME=":
        return prefix + print_type(operand.type)
    return f"{print_word(prefix, style) if prefix else ''}<{print_type(operand.type)}>"


def print_group(group: Group, style: Style) -> str:
    alternatives = [
        " ".join(print_operand(part, style) for part in alternative)
        for alternative in group.alternatives
    ]
    bar = " | " if any(" " in text for text in alternatives) else "|"
    brackets = "[]" if group.optional else "()"
    dots = "..." if group.repeat else ""
    return f"{brackets[0]}{bar.join(alternatives)}{brackets[1]}{dots}"
