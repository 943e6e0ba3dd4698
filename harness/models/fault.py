"""What goes wrong between the harness and a provider, before it becomes a ModelError."""

from __future__ import annotations

import email.utils
import html
import json
import re
import time
from collections.abc import Mapping

__all__ = ["RETRYABLE", "WireError", "fault_of_error", "fault_of_status", "retry_after"]

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses after which the same request may succeed. 529 is Anthropic's 'overloaded'."""

_NAMES = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
    "not_found_error": 404,
}
_MAX_WORDS = 600


class WireError(Exception):
    """One attempt failed.

    Attributes:
        status: the HTTP status, or the one that an error object stands for, or None.
        retryable: the same request may succeed.
        after: seconds that the server asks to wait, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.after = after


def fault_of_status(status: int, headers: Mapping[str, str], body: bytes) -> WireError:
    """The fault that an HTTP answer other than 200 is, with the server's own words."""
    words = _words(body) or "no further words"
    return WireError(
        f"the server answered {status}: {words}",
        status=status,
        retryable=status in RETRYABLE,
        after=retry_after(headers),
    )


def fault_of_error(error: object) -> WireError:
    """The fault that an error object inside a 200 answer is."""
    words, status = _spoken(error), None
    if isinstance(error, Mapping):
        for key in ("status", "code", "type"):
            value = error.get(key)
            if isinstance(value, str):
                value = int(value) if value.isdecimal() else _NAMES.get(value)
            if isinstance(value, int) and 400 <= value < 600:
                status = value
                break
    shown = f" ({status})" if status else ""
    return WireError(
        f"the server answered with an error{shown}: {words}",
        status=status,
        retryable=status in RETRYABLE,
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of Retry-After (RFC 9110, 10.2.3: seconds or a date) or its `-ms` form, or None."""
    lower = {key.lower(): value for key, value in headers.items()}
    try:
        if "retry-after-ms" in lower:
            return max(0.0, float(lower["retry-after-ms"]) / 1000)
        text = lower["retry-after"].strip()
    except (KeyError, ValueError):
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _words(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    try:
        document = json.loads(text)
    except ValueError:
        return _plain(text)
    if isinstance(document, dict) and "error" in document:
        return _spoken(document["error"])
    return _spoken(document)


def _spoken(error: object) -> str:
    if isinstance(error, Mapping):
        for key in ("message", "detail", "error", "msg", "type"):
            value = error.get(key)
            if isinstance(value, str) and value:
                return _plain(value)
            if isinstance(value, Mapping):
                return _spoken(value)
    if isinstance(error, str):
        return _plain(error)
    return _plain(json.dumps(error))


def _plain(text: str) -> str:
    """Words for people: no markup, one line, bounded."""
    if "<" in text and ">" in text:
        text = re.sub(r"(?is)<(script|style|head)\b.*?</\1\s*>", " ", text[:100_000])
        text = html.unescape(re.sub(r"<[^<>]*>", " ", text))
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _MAX_WORDS else text[: _MAX_WORDS - 1] + "…"
