"""A pipeline as the values of a ``run`` request."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from policies import FromFile, FromText, Limits, NullDevice, Pipeline, Stage, ToFile, ToStdout

__all__ = ["encode", "run_request"]


def encode(text: str) -> bytes:
    """A text as the system has it; odd bytes of names travel as lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")  # no name on earth; it will not be found


def run_request(
    pipeline: Pipeline,
    *,
    cwd: str,
    env: Mapping[str, str],
    programs: Sequence[str | None],
    limits: Limits | None,
    keep: int | None,
) -> tuple[dict[str, Any], bytes | None]:
    """The request, and the input that is to be sent after it. Limits None: the session's."""
    stages = [
        _stage(stage, programs[index] if index < len(programs) else None, first=index == 0)
        for index, stage in enumerate(pipeline.stages)
    ]
    first = pipeline.stages[0].stdin
    request = {
        "stages": stages,
        "cwd": encode(cwd),
        "env": _pairs(env.items()),
        "limits": None if limits is None else _values(limits),
        "keep": keep,
    }
    return request, first.data if isinstance(first, FromText) else None


@lru_cache(maxsize=64)
def _values(limits: Limits) -> dict[str, Any]:
    return dataclasses.asdict(limits)


def _stage(stage: Stage, program: str | None, *, first: bool) -> dict[str, Any]:
    return {
        "argv": [encode(word) for word in stage.argv],
        "path": None if program is None else encode(program),
        "env": _pairs(stage.env),
        "stdin": _stdin(stage, first=first),
        "stdout": _target(stage.stdout),
        "stderr": _target(stage.stderr),
    }


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(encode(name), encode(text)) for name, text in pairs]


def _stdin(stage: Stage, *, first: bool) -> tuple[Any, ...] | None:
    match stage.stdin:
        case FromFile(path):
            return "file", encode(path)
        case FromText(data):
            return ("feed",) if first else ("text", data)
        case NullDevice():
            return ("null",)
        case None:
            return None


def _target(target: ToFile | NullDevice | ToStdout | None) -> tuple[Any, ...] | None:
    match target:
        case ToFile(path, append):
            return "file", encode(path), append
        case NullDevice():
            return ("null",)
        case ToStdout():
            return ("stdout",)
        case None:
            return None
