"""The stable reason codes of a verdict, each with one sentence that says what is wrong."""

from __future__ import annotations

__all__ = ["REASONS", "sentence"]

REASONS: dict[str, str] = {
    "ok": "allowed",
    "denied": "a deny line covers this command",
    "empty-argv": "there is no command: the list of words is empty",
    "too-many-words": "more words than a command may have",
    "too-long": "a word is longer than 32,768 characters",
    "nul": "a word holds a NUL character",
    "not-text": "a word is not valid text (bytes that are not UTF-8)",
    "program-path": "a program is named by its bare name, not by a path",
    "program-digest": "the program's digest is not the one that the policy pins",
    "no-program": "no rule names this program",
    "no-subcommand": "no rule names this sub-command",
    "literal": "another word is expected here",
    "unknown-option": "this option is not written in any line that fits",
    "option-place": "this option stands at the wrong place",
    "option-repeated": "this option may be given only once",
    "option-conflict": "this option excludes another one that was given",
    "option-missing": "a required option is missing",
    "value-missing": "this option needs a value",
    "value-unexpected": "this option takes no value",
    "value-type": "the value has the wrong form",
    "value-range": "the value is outside of what is allowed",
    "dash-value": "an option's value may not begin with a dash here",
    "dash-operand": "an operand may not begin with a dash here",
    "bundle": "these letters may not be written in one word",
    "end-marker": "the end marker -- is not accepted here",
    "extra-operand": "there is one word too many",
    "missing-operand": "a word is missing",
    "empty-word": "an empty word is not accepted here",
    "control-char": "the word holds a control or format character",
    "lookalike": "the word begins with a character that looks like a dash",
    "path-escape": "the path leaves the workspace",
    "path-form": "the word could be read as something else than a path (write ./NAME)",
    "path-protected": "the path is protected",
    "env-denied": "this environment variable may not be set here",
    "unseen-words": "words that cannot be seen here may stand only after --",
    "inner-depth": "commands inside commands are nested too deep",
    "cwd-denied": "the rule does not allow this folder to start in",
    "redirect-denied": "the policy does not allow this redirection",
    "env-leading": "an assignment is not a program; it stands before the program of a stage",
    "network-unavailable": "the rule needs the network, and no egress broker is running",
    "tool-denied": "no line of [tools] allows this tool call",
}


def sentence(reason: str) -> str:
    """What a reason code says, for people and for the model."""
    return REASONS.get(reason, reason)
