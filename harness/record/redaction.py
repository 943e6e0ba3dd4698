"""What must not be written: named secrets, and whatever looks like one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness.record.log import Redactor

__all__ = ["MARK", "redactor"]

MARK = "[redacted]"


def redactor(secrets: Iterable[str] = (), patterns: Iterable[str] = ()) -> Redactor:
    """A redactor for a log: replaces secrets, and all that matches a pattern, in every text.

    Args:
        secrets: the very texts, the longest first; empty ones are ignored. A secret is also found
            as JSON writes it: the arguments of calls are raw JSON.
        patterns: regular expressions, each for itself.

    Keys are redacted like values. The texts are looked at one by one: a secret that is split over
    two of them is not seen.
    """
    words = {secret for secret in secrets if secret}
    words |= {
        json.dumps(word, ensure_ascii=plain)[1:-1] for word in words for plain in (False, True)
    }
    wanted = [re.compile(pattern) for pattern in patterns]
    if words:
        ordered = sorted(words, key=len, reverse=True)
        wanted.insert(0, re.compile("|".join(re.escape(word) for word in ordered)))

    def clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(value, str):
            for one in wanted:
                value = one.sub(MARK, value)
            return value
        if isinstance(value, Mapping):
            return {clean(key): clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    def redact(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: clean(value) for key, value in fields.items()}

    return redact
