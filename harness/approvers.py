"""Ready-made approvers: a terminal, a policy file, a webhook."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.approval import Answer, ApprovalRequest, Reply
from harness.arguments import decode_arguments
from harness.errors import ConfigError

__all__ = ["PolicyFileApprover", "TerminalApprover", "WebhookApprover", "visible"]

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def visible(text: str) -> str:
    """A text for a terminal: nothing in it can move the cursor, hide or reorder what is shown."""
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


class TerminalApprover:
    """Asks on a terminal. Only a whole ``y`` or ``yes`` is a yes."""

    name = "terminal"

    def __init__(
        self, *, input_fd: int | None = None, write: Callable[[str], object] | None = None
    ) -> None:
        self._given = input_fd
        self._write = write or _to_stderr

    async def ask(self, request: ApprovalRequest, /) -> Reply:
        """Show what would run and wait for a line."""
        try:
            descriptor = self._open()
        except OSError:
            return Reply(Answer.UNAVAILABLE, self.name, "there is no terminal to ask on")
        try:
            # Only our own lines begin at the margin: no summary can hold a question of its own.
            tool, reason = (visible(one).replace("\n", "\\n") for one in
                            (request.tool, request.reason))  # fmt: skip
            summary = visible(request.summary).replace("\n", "\n  ")
            self._write(f"\n{tool} asks ({reason}):\n  {summary}\nAllow this once? [y/N] ")
            line = await _line(descriptor)
        finally:
            if self._given is None:
                os.close(descriptor)
        if line is None:
            return Reply(Answer.UNAVAILABLE, self.name, "the terminal was closed")
        said = line.strip().lower()
        return Reply(Answer.ALLOWED if said in ("y", "yes") else Answer.REJECTED, self.name)

    def _open(self) -> int:
        if self._given is not None:
            return self._given
        return os.open("/dev/tty", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _to_stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


async def _line(descriptor: int) -> str | None:
    """The next line; None at the end of input. Cancelling leaves nothing behind."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str | None] = loop.create_future()
    read = bytearray()

    def readable() -> None:
        try:
            data = os.read(descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        read.extend(data)
        if not done.done() and (not data or b"\n" in read):
            text = bytes(read).split(b"\n")[0].decode("utf-8", "replace")
            done.set_result(text if read else None)

    loop.add_reader(descriptor, readable)
    try:
        return await done
    finally:
        loop.remove_reader(descriptor)


class PolicyFileApprover:
    """Answers from a second policy, that the operator wrote: what it allows is a yes.

    Only commands are judged; a question about another tool goes to its ``[tools]`` lines without
    paths. What it would ask about is a no.
    """

    def __init__(self, source: str | Path, *, root: str = "/workspace") -> None:
        from policies import load

        self._policy = load(source)
        self._root = root
        self.name = f"policy:{self._policy.name}"

    async def ask(self, request: ApprovalRequest, /) -> Reply:
        """Judge what is asked about."""
        from harness.action import plan_from_json
        from policies import Command, Decision, LineError, parse_line

        try:
            arguments = decode_arguments(request.arguments)
            if "argv" in arguments:
                argv = tuple(arguments["argv"])
                verdict = self._policy.judge(Command(argv), root=self._root)
            elif "plan" in arguments:
                plan = plan_from_json(arguments["plan"])
                verdict = self._policy.judge_plan(plan, root=self._root)
            elif "line" in arguments:
                plan = parse_line(arguments["line"], root=self._root)
                verdict = self._policy.judge_plan(plan, root=self._root)
            else:
                verdict = self._policy.judge_tool(request.tool, (), root=self._root)
        except (ValueError, LineError) as error:
            return Reply(Answer.REJECTED, self.name, str(error))
        if verdict.decision is Decision.ALLOW:
            return Reply(Answer.ALLOWED, self.name, verdict.rule or "")
        return Reply(Answer.REJECTED, self.name, verdict.message)


class WebhookApprover:
    """Asks a service on this machine: POST of the question, ``{"answer": "allow"}`` is a yes.

    Args:
        url: ``http://127.0.0.1:PORT/...``; another host than loopback is refused.
        token: sent as a bearer token, where given.
    """

    def __init__(self, url: str, *, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in _LOOPBACK:
            raise ConfigError(f"approval webhook {url!r}: must be http:// on loopback")
        self.name = "webhook"
        self._url = url
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def ask(self, request: ApprovalRequest, /) -> Reply:
        """Send the question and read the answer."""
        import httpx

        question = {
            "tool": request.tool,
            "call_id": request.call_id,
            "summary": request.summary,
            "reason": request.reason,
            "rule": request.rule,
            "tier": request.tier,
        }
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=None) as client:  # noqa: S113
                response = await client.post(self._url, json=question, headers=self._headers)
            answer = response.json() if response.status_code == httpx.codes.OK else None
        except (httpx.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
            return Reply(Answer.UNAVAILABLE, self.name, f"it failed: {type(error).__name__}")
        return _webhook_reply(answer, response.status_code, self.name)


def _webhook_reply(answer: Any, status: int, by: str) -> Reply:  # noqa: ANN401 - foreign JSON
    if not isinstance(answer, dict):
        return Reply(Answer.UNAVAILABLE, by, f"it answered with status {status} and no object")
    reason = str(answer.get("reason", ""))[:500]
    known = {"allow": Answer.ALLOWED, "deny": Answer.REJECTED}
    said = answer.get("answer")
    if not isinstance(said, str) or said not in known:
        return Reply(Answer.UNAVAILABLE, by, "its answer is neither allow nor deny")
    return Reply(known[said], str(answer.get("by") or by)[:100], reason)
