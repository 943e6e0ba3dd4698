"""Turns a real conversation into a script: what a model answered, with secrets removed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.model import Model, ModelRequest, Reply

__all__ = ["RecordingModel", "script_of"]

REMOVED = "[removed]"
_SECRETS = re.compile(
    r"""(?x)
    \b(?: sk-[A-Za-z0-9_-]{16,}            # API keys of model providers
      | gh[pousr]_[A-Za-z0-9]{20,}         # GitHub tokens
      | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,}           # GitLab tokens
      | (?:AKIA|ASIA)[A-Z0-9]{16}          # AWS access key ids
      | xox[abprs]-[A-Za-z0-9-]{10,}       # Slack tokens
      | pypi-[A-Za-z0-9_-]{32,}
      | npm_[A-Za-z0-9]{30,}
      | eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}  # JSON web tokens
    )
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?-----END\ [A-Z ]*PRIVATE\ KEY-----
    """,
    re.DOTALL,
)


class RecordingModel:
    """Hands every request on, and keeps what was answered.

    Promises:
     1. The answer that comes back is the inner model's, unchanged.
     2. The script file is whole after every answer: an interrupted run has a script too.
     3. Named secrets and what looks like a key are never written.
    """

    def __init__(self, inner: Model, path: Path, *, secrets: Sequence[str] = ()) -> None:
        self._inner = inner
        self._path = path
        self._secrets = [secret for secret in secrets if len(secret) > 3]
        self._replies: list[Reply] = []

    async def generate(self, request: ModelRequest, /) -> Reply:
        """The inner model's answer, recorded."""
        reply = await self._inner.generate(request)
        self._replies.append(reply)
        text = script_of(self._replies, secrets=self._secrets)
        temporary = self._path.with_name(self._path.name + ".part")
        try:
            temporary.write_text(text, "utf-8")
            temporary.replace(self._path)
        except OSError as error:
            raise ScriptError(f"{self._path}: the script cannot be written: {error}") from error
        return reply

    async def aclose(self) -> None:
        """Close the inner model's connections."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()


def script_of(replies: Sequence[Reply], *, secrets: Sequence[str] = ()) -> str:
    """The script (decision 27) that gives these replies again."""
    document = {"schema": 1, "replies": [_reply(reply) for reply in replies]}
    return json.dumps(_cleaned(document, secrets), indent=1, ensure_ascii=False) + "\n"


def _reply(reply: Reply) -> dict[str, Any]:
    made: dict[str, Any] = {"text": reply.text}
    if reply.calls:
        made["calls"] = [
            {"id": call.id, "name": call.name, "arguments": _arguments(call.arguments)}
            for call in reply.calls
        ]
    if reply.usage is not None:
        made["usage"] = reply.usage.reported()
    return made


def _arguments(raw: str) -> object:
    """As an object where that gives the same text again, else raw."""
    try:
        given = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    return given if isinstance(given, dict) and json.dumps(given) == raw else raw


def _cleaned(value: object, secrets: Sequence[str]) -> object:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REMOVED)
        return _SECRETS.sub(REMOVED, value)
    if isinstance(value, dict):
        return {key: _cleaned(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, secrets) for item in value]
    return value
