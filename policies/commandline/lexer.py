"""Lexer: the characters of a command line as words, operators and redirections.

What only a shell could do (variables, substitution, jobs, ...) is refused here by name.
"""

from __future__ import annotations

import re
from typing import NoReturn

from policies.commandline.error import LineError
from policies.commandline.heredoc import Heredoc, read_bodies
from policies.commandline.token import Operator, Redirect, Token, WordToken

__all__ = ["Lexer"]

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
DESCRIPTOR = re.compile(r"([0-9]+)(?=[<>])")
NAME = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
SAFE_UNQUOTED = re.compile(r"[A-Za-z0-9_./:@%+=,-]+")
EXPANDS = re.compile(r"[A-Za-z_0-9@*#?$!{-]")
ENDS_WORD = frozenset(" \t\n|&;<>()")
GLOB = frozenset("*?[")
GLOB_SPECIAL = frozenset("*?[]")


class Lexer:
    """Reads a line once, from left to right."""

    def __init__(self, text: str, home: str) -> None:
        self.text = text
        self.home = home
        self.at = 0
        self.tokens: list[Token] = []
        self.waiting: list[Heredoc] = []
        self.values: dict[str, str] = {}  # names that the line itself has set
        self.step_start = 0  # index of the first token of the step being read
        self.certain = True  # the step being read is sure to be reached

    def peek(self, width: int = 1) -> str:
        """The next characters, fewer at the end."""
        return self.text[self.at : self.at + width]

    def refuse(self, reason: str, message: str, at: int | None = None) -> NoReturn:
        """Raise the error at a column (default: here)."""
        raise LineError(f"plan:{reason}", self.at if at is None else at, message)

    def read(self) -> list[Token]:
        """All tokens of the line."""
        while self.at < len(self.text):
            character = self.peek()
            if character in " \t":
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif self.peek(3) == "\\\r\n":
                self.at += 3
            elif character == "\n" or self.peek(2) == "\r\n":
                self.newline()
            elif character == "#":
                self.comment()
            elif character in "|&;()":
                self.operator()
            elif character in "<>" or DESCRIPTOR.match(self.text, self.at):
                self.redirection()
            else:
                self.tokens.append(self.word())
        if self.waiting:
            self.bodies(len(self.text))
        return self.tokens

    # -- operators

    def newline(self) -> None:
        """A newline joins like ``;``; heredocs have their bodies behind it."""
        self.end_step(";")
        self.tokens.append(Operator(";", self.at, newline=True))
        self.at += 2 if self.peek() == "\r" else 1
        if self.waiting:
            self.bodies(self.at)

    def bodies(self, at: int) -> None:
        """Read the bodies of the heredocs that began on the line before."""
        self.at, found = read_bodies(self.text, at, self.waiting)
        for index, body in found:
            token = self.tokens[index]
            self.tokens[index] = Redirect("<<", token.column, body=body)
        self.waiting = []

    def comment(self) -> None:
        """Go past a comment, up to the newline."""
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def operator(self) -> None:
        """``|``, ``&&``, ``||``, ``;`` and their kin."""
        start = self.at
        character = self.peek()
        if character == "(":
            self.refuse("subshell", "no subshells: write the commands one after the other")
        if character == ")":
            self.refuse("subshell", "unbalanced ): quote it if it is meant literally")
        if self.peek(2) in ("&&", "||", "|&"):
            text = self.peek(2)
            self.at += 2
            self.end_step(text)
            self.tokens.append(Operator(text, start))  # type: ignore[arg-type]
        elif self.peek(2) == "&>":
            self.both()
        elif self.peek(2) == ";;":
            self.refuse("keyword", "no case branches: write one command after the other")
        elif character == "&":
            self.refuse("background", "no background jobs: run the command and wait for it")
        else:
            self.at += 1
            self.end_step(character)
            self.tokens.append(Operator(character, start))  # type: ignore[arg-type]

    def end_step(self, operator: str) -> None:
        """Learn the names that a step of nothing but assignments has set.

        ``DIR=src; ls $DIR`` is read with the value put in: the text says all of it. A name whose
        value depends on what programs do stays refused.
        """
        step = self.tokens[self.step_start :]
        words = [token for token in step if isinstance(token, WordToken)]
        if words and words[0].plain and words[0].text == "export":
            words = words[1:]
        assigns = len(step) > 0 and bool(words) and all(word.assign for word in words)
        assigns = assigns and all(isinstance(token, WordToken) for token in step)
        if assigns and self.certain and operator in (";", "&&"):
            for word in words:
                self.values[word.text[: word.assign - 1]] = word.text[word.assign :]
        self.certain = operator == ";" or (operator == "&&" and assigns and self.certain)
        self.step_start = len(self.tokens) + 1

    def both(self) -> None:
        """``&> FILE`` and ``&>> FILE``."""
        start = self.at
        self.at += 2
        kind = "&>"
        if self.peek() == ">":
            self.at += 1
            kind = "&>>"
        self.tokens.append(Redirect(kind, start, self.target(start)))  # type: ignore[arg-type]

    # -- redirections

    def redirection(self) -> None:
        """A redirection, with the number of its stream before it."""
        start = self.at
        number = DESCRIPTOR.match(self.text, self.at)
        descriptor = number[1] if number else ""
        self.at += len(descriptor)
        if self.peek() == "<":
            self.input(start, descriptor)
        else:
            self.output(start, descriptor)

    def input(self, start: int, descriptor: str) -> None:
        """``< FILE`` or a heredoc."""
        if self.peek(2) == "<(":
            self.refuse(
                "process-substitution",
                "no process substitution: write the output to a file first",
                start,
            )
        if self.peek(3) == "<<<":
            self.refuse(
                "herestring",
                "no here-strings: use a heredoc <<'EOF', or echo TEXT | PROGRAM",
                start,
            )
        if descriptor not in ("", "0") or self.peek(2) in ("<&", "<>"):
            self.refuse("descriptor", "only < FILE redirects the input", start)
        if self.peek(2) == "<<":
            self.at += 2
            self.heredoc(start)
            return
        self.at += 1
        self.tokens.append(Redirect("<", start, self.target(start)))

    def heredoc(self, start: int) -> None:
        """``<<EOF``: the body follows after the line."""
        strip = self.peek() == "-"
        self.at += strip
        while self.peek() and self.peek() in " \t":
            self.at += 1
        if not self.peek() or self.peek() in ENDS_WORD:
            self.refuse("heredoc-unterminated", "a heredoc needs a delimiter: <<'EOF'", start)
        end = self.at
        word = self.word(expand=False)
        self.waiting.append(
            Heredoc(len(self.tokens), word.text, start, strip=strip, quoted=not word.plain)
        )
        if end == self.at:
            self.refuse("heredoc-unterminated", "a heredoc needs a delimiter: <<'EOF'", start)
        self.tokens.append(Redirect("<<", start))

    def output(self, start: int, descriptor: str) -> None:
        """``> FILE``, ``>> FILE``, ``2> FILE`` and ``2>&1``."""
        if self.peek(2) == ">(":
            self.refuse(
                "process-substitution",
                "no process substitution: write to a file, then read it",
                start,
            )
        if self.peek(2) == ">&":
            self.duplicate(start, descriptor)
            return
        if descriptor not in ("", "1", "2"):
            self.refuse("descriptor", "only 1 (>) and 2 (2>) are redirected", start)
        if self.peek(2) == ">|":
            self.refuse("clobber", "write > FILE: it replaces the file", start)
        append = self.peek(2) == ">>"
        self.at += 2 if append else 1
        kind = ("2" if descriptor == "2" else "") + (">>" if append else ">")
        self.tokens.append(Redirect(kind, start, self.target(start)))  # type: ignore[arg-type]

    def duplicate(self, start: int, descriptor: str) -> None:
        """``2>&1``, the only duplicate there is."""
        after = self.text[self.at + 2 : self.at + 3]
        ends = self.text[self.at + 3 : self.at + 4]
        if descriptor == "2" and after == "1" and (not ends or ends in ENDS_WORD):
            self.at += 3
            self.tokens.append(Redirect("2>&1", start))
            return
        self.refuse(
            "descriptor", "only 2>&1 joins streams; > FILE, 2> FILE and &> FILE redirect", start
        )

    def target(self, start: int) -> WordToken:
        """The word after a redirection."""
        while self.peek() and self.peek() in " \t":
            self.at += 1
        if not self.peek() or self.peek() in ENDS_WORD:
            if self.peek(2) in ("<(", ">("):
                self.refuse("process-substitution", "no process substitution: name a file")
            self.refuse("redirect-target", "a file name is expected after the redirection", start)
        word = self.word()
        if word.glob:
            self.refuse("glob", "a redirection names one file, without * ? [", word.column)
        return word

    # -- words

    def word(self, *, expand: bool = True) -> WordToken:
        """One word with its quotes taken off."""
        return WordReader(self, expand=expand).read()


class WordReader:
    """Reads one word."""

    def __init__(self, lexer: Lexer, *, expand: bool) -> None:
        self.lexer = lexer
        self.expand = expand
        self.start = lexer.at
        self.pieces: list[tuple[str, bool]] = []  # text, quoted
        self.plain = True
        self.braces: list[int] = []

    def read(self) -> WordToken:
        lexer = self.lexer
        text = lexer.text
        found = ASSIGNMENT.match(text, self.start)
        if self.expand:
            self.tilde()
        while lexer.at < len(text):
            character = text[lexer.at]
            if character in ENDS_WORD:
                break
            if character == "\r" and lexer.peek(2) == "\r\n":
                break
            if character == "'":
                self.single()
            elif character == '"':
                self.double()
            elif character == "\\":
                self.escape()
            elif character == "`" and self.expand:
                lexer.refuse("substitution", SUBSTITUTION)
            elif character == "$" and self.expand:
                self.dollar()
            else:
                self.character(character)
        return self.token(len(found.group()) if found else 0)

    def character(self, character: str) -> None:
        lexer = self.lexer
        if character < " " and character not in "\t\n":
            lexer.refuse("control-char", "a control character: leave it out")
        if character == "{":
            self.braces.append(lexer.at)
        elif character == "}" and self.braces:
            self.brace(self.braces.pop())
        self.pieces.append((character, False))
        lexer.at += 1

    def brace(self, opened: int) -> None:
        """``{a,b}`` and ``{1..3}`` would be expanded; ``{}`` and ``{a}`` stand for themselves."""
        inside = self.lexer.text[opened + 1 : self.lexer.at]
        if self.expand and ("," in inside or ".." in inside):
            self.lexer.refuse("brace", "no braces: write the words one by one", opened)

    def tilde(self) -> None:
        lexer = self.lexer
        if lexer.peek() != "~":
            return
        rest = lexer.text[lexer.at + 1 : lexer.at + 2]
        if rest and rest != "/" and rest not in ENDS_WORD:
            lexer.refuse("tilde", "no ~user: write the path")
        self.pieces.append((lexer.home, True))
        lexer.at += 1

    def single(self) -> None:
        lexer = self.lexer
        close = lexer.text.find("'", lexer.at + 1)
        if close < 0:
            lexer.refuse("quote", "the quote is not closed: add '")
        self.quoted(lexer.text[lexer.at + 1 : close])
        lexer.at = close + 1

    def quoted(self, text: str) -> None:
        self.plain = False
        self.pieces.append((text, True))
        for offset, character in enumerate(text):
            if (character < " " and character not in "\t\n\r") or character == "\x7f":
                self.lexer.refuse(
                    "control-char",
                    "a control character: leave it out",
                    self.lexer.at + 1 + offset,
                )

    def double(self) -> None:
        lexer = self.lexer
        text = lexer.text
        start = lexer.at
        at = start + 1
        found: list[str] = []
        while True:
            if at >= len(text):
                lexer.refuse("quote", 'the quote is not closed: add "', start)
            character = text[at]
            if character == '"':
                break
            if character == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                if text[at + 1] != "\n":
                    found.append(text[at + 1])
                at += 2
                continue
            if character == "`" and self.expand:
                lexer.refuse("substitution", SUBSTITUTION, at)
            if character == "$" and self.expand:
                known = self.known(at)
                if known is not None:
                    found.append(known[0])
                    at = known[1]
                    continue
                self.expansion(at, quoted=True)
            found.append(character)
            at += 1
        self.quoted("".join(found))
        lexer.at = at + 1

    def escape(self) -> None:
        lexer = self.lexer
        following = lexer.text[lexer.at + 1 : lexer.at + 2]
        if following == "\n":
            lexer.at += 2
            return
        if not following:
            lexer.refuse("quote", "nothing follows the back-slash")
        self.quoted(following)
        lexer.at += 2

    def dollar(self) -> None:
        found = self.known(self.lexer.at)
        if found is not None:
            value, self.lexer.at = found
            if not SAFE_UNQUOTED.fullmatch(value):
                self.lexer.refuse("variable", "write the value itself, in quotes", self.start)
            self.pieces.append((value, True))
            self.plain = False
            return
        self.expansion(self.lexer.at, quoted=False)
        self.pieces.append(("$", True))
        self.lexer.at += 1

    def known(self, at: int) -> tuple[str, int] | None:
        """The value of a name that the line itself has set, and where the text goes on."""
        name = NAME.match(self.lexer.text, at)
        if name is None:
            return None
        value = self.lexer.values.get(name[1] or name[2])
        return None if value is None else (value, name.end())

    def expansion(self, at: int, *, quoted: bool) -> None:
        """Refuse what a shell would expand; a lonely ``$`` stands for itself."""
        following = self.lexer.text[at + 1 : at + 2]
        if following == "(":
            self.lexer.refuse("substitution", SUBSTITUTION, at)
        if following in ("'", '"') and following and not quoted:
            self.lexer.refuse("ansi-quote", "no $'..': write the characters, or use printf", at)
        if following and EXPANDS.match(following):
            self.lexer.refuse(
                "variable", "no variables: write the value itself, or '$' in single quotes", at
            )

    def token(self, assign: int) -> WordToken:
        glob = self.expand and self.is_glob(assign)
        if not glob:
            text = "".join(piece for piece, _ in self.pieces)
        else:
            text = "".join(escaped(piece) if quoted else piece for piece, quoted in self.pieces)
        if assign and self.lexer.text[self.start : self.start + assign].endswith("+="):
            self.lexer.refuse("variable", "no += : write NAME=value", self.start)
        return WordToken(text, self.start, glob, self.plain, assign)

    def is_glob(self, assign: int) -> bool:
        """Whether a shell would look for files; no file's name begins like an option."""
        bare = "".join(piece if not quoted else "\0" for piece, quoted in self.pieces)
        if not GLOB & set(bare) or assign or bare.startswith("-"):
            return False
        if "*" in bare or "?" in bare:
            return True
        opened = bare.find("[")
        return "]" in bare[opened + 2 :]


SUBSTITUTION = "no command substitution: run the command first, then write its result"


def escaped(text: str) -> str:
    """Quoted text inside a pattern, where its special characters stand for themselves."""
    return "".join(f"[{c}]" if c in GLOB_SPECIAL else c for c in text)
