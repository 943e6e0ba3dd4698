"""Reader: tokens become pipelines, links and a plan."""

from __future__ import annotations

from typing import NoReturn

from policies.command import (
    Cd,
    FromFile,
    FromText,
    Link,
    NullDevice,
    Pipeline,
    Plan,
    Stage,
    ToFile,
    ToStdout,
)
from policies.commandline.error import LineError
from policies.commandline.lexer import Lexer
from policies.commandline.token import Operator, Redirect, Token, WordToken

__all__ = ["HOME", "parse_line"]

HOME = "/home/box"
"""What ``~`` stands for where the caller does not say."""

LONGEST = 2 << 20
KEYWORDS = frozenset(
    (
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "select",
        "function",
        "[[",
        "]]",
        "{",
        "}",
        "!",
        "coproc",
    )
)
BUILTINS = {
    "source": "run the program itself: there is no shell whose state a script could change",
    ".": "run the program itself: there is no shell whose state a script could change",
    "eval": "write the command itself",
    "exec": "write the command itself",
    "command": "write the command itself, or which NAME",
    "builtin": "write the command itself",
    "type": "write which NAME",
    "hash": "write which NAME",
    "set": "there are no shell options: a failed command ends an && list by itself",
    "shopt": "there are no shell options",
    "trap": "there are no traps: the box cleans up",
    "read": "there are no variables to read into",
    "unset": "there are no variables",
    "declare": "there are no variables",
    "local": "there are no variables",
    "typeset": "there are no variables",
    "readonly": "there are no variables",
    "alias": "write the command itself",
    "unalias": "write the command itself",
    "let": "there is no arithmetic",
    "exit": "the code of the last command is the result",
    "return": "the code of the last command is the result",
    "shift": "there are no positional parameters",
    "ulimit": "limits come from the policy",
    "umask": "the box sets the mask",
    "wait": "every command is waited for",
    "jobs": "there are no background jobs",
    "fg": "there are no background jobs",
    "bg": "there are no background jobs",
    "disown": "there are no background jobs",
    "pushd": "write cd DIR",
    "popd": "write cd DIR",
    "history": "there is no history",
}


def parse_line(
    text: str,
    *,
    root: str = "/workspace",  # noqa: ARG001 (part of the face; paths are judged, not read)
    cwd: str = ".",
    home: str = HOME,
) -> Plan:
    """Read a plain command line as a plan. No shell is involved, now or later.

    Args:
        text: words, quotes, pipes, lists, redirections, heredocs, globs, leading assignments.
        root: absolute path of the workspace in the box.
        cwd: the folder the line starts in.
        home: the box's HOME, for ``~``.

    Raises:
        LineError: for everything only a shell could do, with the column and what to write instead.
    """
    if len(text) > LONGEST:
        raise LineError("plan:too-long", LONGEST, "a line is at most 2 MiB: write a file")
    if "\0" in text:
        raise LineError("plan:control-char", text.index("\0"), "a NUL: leave it out")
    return Reader(text, Lexer(text, home).read()).plan(cwd)


class Reader:
    """Reads tokens once, from left to right."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.exported: list[tuple[str, str]] = []
        self.steps: list[Pipeline | Cd] = []
        self.links: list[Link] = []
        self.conditional = False  # the current && / || list has begun with a program
        self.closed = ""  # why no further ; or || may follow
        self.assigned = False

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def refuse(self, reason: str, column: int, message: str) -> NoReturn:
        raise LineError(f"plan:{reason}", column, message)

    def plan(self, cwd: str) -> Plan:
        """The whole line."""
        self.separators()
        link: Link | None = None
        while self.peek() is not None:
            step = self.step(link)
            column = self.column()
            found = self.link()
            if step is None:
                link = self.after_assignment(link, found, column)
                continue
            if self.steps:
                self.links.append(link or ";")
            self.steps.append(step)
            link = found
        if not self.steps:
            if self.assigned:
                self.refuse("assignment-only", len(self.text), ASSIGNMENT_ALONE)
            self.refuse("empty-stage", len(self.text), "there is no command")
        return Plan(tuple(self.steps), tuple(self.links), cwd)

    def after_assignment(self, before: Link | None, after: Link | None, column: int) -> Link | None:
        """The link that joins what stands around an assignment: it always succeeds."""
        self.assigned = True
        if after == "||" or before == "||" or (before == "&&" and self.conditional):
            self.refuse("assignment-only", column, "put the assignment first, followed by ;")
        if after is None:
            self.refuse("assignment-only", len(self.text), ASSIGNMENT_ALONE)
        return ";" if before == ";" or not self.steps else before

    def column(self) -> int:
        token = self.peek()
        return token.column if token is not None else len(self.text)

    def separators(self) -> None:
        """Go past newlines."""
        while isinstance(token := self.peek(), Operator) and token.newline:
            self.at += 1

    def link(self) -> Link | None:
        """The operator after a step; None at the end."""
        token = self.peek()
        if token is None:
            return None
        if not isinstance(token, Operator):
            raise AssertionError(token)
        self.at += 1
        self.separators()
        if token.text in ("&&", "||"):
            if self.peek() is None:
                self.refuse(
                    "empty-stage", len(self.text), f"a command is missing after {token.text}"
                )
            if self.closed and token.text == "||":
                self.refuse("cd", token.column, self.closed)
            return "&&" if token.text == "&&" else "||"
        if self.peek() is None:
            return None
        if self.closed:
            self.refuse("cd", token.column, self.closed)
        self.conditional = False
        return ";"

    # -- one step

    def step(self, link: Link | None) -> Pipeline | Cd | None:
        """A pipeline, a cd, or None for an export."""
        first = self.peek()
        if isinstance(first, WordToken) and first.plain:
            if first.text == "cd":
                return self.cd(first, link)
            if first.text == "export":
                self.export(first)
                return None
            if first.assign and self.only_assigns():
                return None
        stages = [self.stage()]
        while isinstance(token := self.peek(), Operator) and token.text in ("|", "|&"):
            self.at += 1
            if token.text == "|&":
                stages[-1] = self.joined(stages[-1], token)
            self.pipe_check(stages[-1], token)
            self.separators()
            if self.peek() is None:
                self.refuse("empty-stage", len(self.text), "a command is missing after |")
            stages.append(self.stage())
            if stages[-1].stdin is not None:
                self.refuse("redirect-target", token.column, "the pipe already feeds this command")
        self.conditional = True
        return Pipeline(tuple(stages))

    def only_assigns(self) -> bool:
        """Go past a step of assignments alone; the lexer has put their values in."""
        end = self.at
        while end < len(self.tokens) and not isinstance(self.tokens[end], Operator):
            token = self.tokens[end]
            if not isinstance(token, WordToken) or not token.assign:
                return False
            end += 1
        if end < len(self.tokens):
            operator = self.tokens[end]
            if isinstance(operator, Operator) and operator.text in ("|", "|&"):
                self.refuse("assignment-only", operator.column, ASSIGNMENT_ALONE)
        self.at = end
        return True

    def joined(self, stage: Stage, token: Operator) -> Stage:
        """``a |& b`` is ``a 2>&1 | b``."""
        if stage.stderr is not None:
            self.refuse("descriptor", token.column, "the error output already goes elsewhere")
        return Stage(stage.argv, stage.env, stage.stdin, stage.stdout, ToStdout(), stage.globs)

    def pipe_check(self, stage: Stage, token: Operator) -> None:
        if stage.stdout is not None and not isinstance(stage.stdout, NullDevice):
            self.refuse(
                "redirect-target", token.column, "the output already goes to a file: use tee FILE"
            )

    def cd(self, first: WordToken, link: Link | None) -> Cd:
        """``cd DIR`` as structure."""
        self.at += 1
        words: list[WordToken] = []
        while isinstance(token := self.peek(), WordToken):
            words.append(token)
            self.at += 1
        if len(words) == 2 and words[0].text == "--":
            words = words[1:]
        if isinstance(token := self.peek(), Redirect) and is_hushed(token):
            self.at += 1
        following = self.peek()
        piped = isinstance(following, Redirect) or (
            isinstance(following, Operator) and following.text in ("|", "|&", "||")
        )
        if len(words) != 1 or words[0].glob or words[0].text == "-" or piped or link == "||":
            self.refuse(
                "cd", first.column, "write cd DIR on its own, followed by &&, ; or a newline"
            )
        if words[0].text.startswith("-"):
            self.refuse("cd", words[0].column, "write cd DIR without options")
        if link == "&&" and self.conditional:
            self.closed = "after a cd that may not happen only && may follow: put cd first"
        return Cd(words[0].text or ".")

    def export(self, first: WordToken) -> None:
        """``export NAME=value``: a leading assignment of what follows."""
        self.at += 1
        count = 0
        while isinstance(token := self.peek(), WordToken):
            if not token.assign:
                self.refuse("builtin", token.column, "write export NAME=value")
            self.exported.append(assignment(token))
            self.at += 1
            count += 1
        if not count or isinstance(self.peek(), Redirect):
            self.refuse("builtin", first.column, "write export NAME=value")

    # -- one stage

    def stage(self) -> Stage:
        """Assignments, words and redirections up to an operator."""
        start = self.column()
        env = list(self.exported)
        words: list[WordToken] = []
        redirects: list[Redirect] = []
        while (token := self.peek()) is not None and not isinstance(token, Operator):
            self.at += 1
            if isinstance(token, Redirect):
                redirects.append(token)
            elif token.assign and not words:
                env.append(assignment(token))
            else:
                words.append(token)
        if not words:
            at = start if not redirects else redirects[0].column
            self.refuse("empty-stage", at, "a command is missing here")
        if [word.text for word in words[:2]] == ["command", "-v"] and len(words) == 3:
            words = [WordToken("which", words[0].column), words[2]]
        self.first_word(words[0])
        argv = tuple(word.text for word in words)
        if argv[0] == ":" and words[0].plain:
            argv = ("true", *argv[1:])
        streams = Streams(redirects)
        globs = tuple(index for index, word in enumerate(words) if word.glob)
        return Stage(argv, last_values(env), streams.stdin, streams.stdout, streams.stderr, globs)

    def first_word(self, word: WordToken) -> None:
        """Refuse what only a shell knows."""
        if word.glob:
            self.refuse("glob", word.column, "the program is named without * ? [")
        if not word.plain:
            return
        if word.text in KEYWORDS:
            self.refuse("keyword", word.column, "no shell keywords: write the commands one by one")
        if word.text in BUILTINS:
            self.refuse("builtin", word.column, f"{word.text}: {BUILTINS[word.text]}")
        if word.text in ("cd", "export"):
            self.refuse("cd" if word.text == "cd" else "builtin", word.column, CD_ALONE)


ASSIGNMENT_ALONE = "an assignment stands before a program, or before ; and the commands that use it"
CD_ALONE = "it stands at the start of a step, not in a pipeline"


def is_hushed(redirect: Redirect) -> bool:
    """``2>/dev/null``: a failed cd ends the plan and says so in any case."""
    target = redirect.target
    return redirect.kind == "2>" and target is not None and target.text == "/dev/null"


def assignment(token: WordToken) -> tuple[str, str]:
    return token.text[: token.assign - 1], token.text[token.assign :]


def last_values(env: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(dict(env).items())


class Streams:
    """The redirections of one stage; each stream goes to one place."""

    def __init__(self, redirects: list[Redirect]) -> None:
        self.stdin: FromFile | FromText | NullDevice | None = None
        self.stdout: ToFile | NullDevice | None = None
        self.stderr: ToFile | NullDevice | ToStdout | None = None
        for redirect in redirects:
            self.add(redirect)

    def add(self, redirect: Redirect) -> None:
        kind = redirect.kind
        if kind in ("<", "<<"):
            self.once(redirect, self.stdin is None)
            self.stdin = FromText(redirect.body.encode()) if kind == "<<" else source(redirect)
        elif kind == "2>&1":
            self.once(redirect, self.stderr is None)
            self.stderr = ToStdout()
        elif kind in ("2>", "2>>"):
            self.once(redirect, self.stderr is None)
            self.stderr = sink(redirect)
        else:
            self.once(redirect, self.stdout is None)
            if isinstance(self.stderr, ToStdout):
                raise LineError("plan:descriptor", redirect.column, "write > FILE before 2>&1")
            self.stdout = sink(redirect)
            if kind in ("&>", "&>>"):
                self.once(redirect, self.stderr is None)
                self.stderr = ToStdout()

    def once(self, redirect: Redirect, free: bool) -> None:  # noqa: FBT001
        if not free:
            raise LineError(
                "plan:redirect-target", redirect.column, "each stream is redirected once"
            )


def source(redirect: Redirect) -> FromFile | NullDevice:
    target = redirect.target
    text = target.text if target is not None else ""
    return NullDevice() if text == "/dev/null" else FromFile(text)


def sink(redirect: Redirect) -> ToFile | NullDevice:
    target = redirect.target
    text = target.text if target is not None else ""
    return NullDevice() if text == "/dev/null" else ToFile(text, redirect.kind.endswith(">>"))
