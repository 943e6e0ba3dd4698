"""JUnit XML: a run is a test case, several runs are a suite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

__all__ = ["junit"]

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) has no way to write."""


def junit(results: Iterable[Mapping[str, Any]], *, name: str = "stockade") -> str:
    """A suite of runs by their `result.json`; the status `skipped` is a task that was not run.

    Passed is a success. Not passed and a spent budget are failures; a broken verifier, a model
    or a machine that failed are errors; a run without verifier that completed is a success.
    """
    suite = ET.Element("testsuite", name=name)
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    seconds = 0.0
    for result in results:
        counts["tests"] += 1
        took = float(result.get("seconds") or 0.0)
        seconds += took
        case = ET.SubElement(
            suite,
            "testcase",
            classname=_clean(name),
            name=_clean(str(result.get("task") or result.get("run") or "run")),
            time=f"{took:.3f}",
        )
        if result.get("status") == "skipped":
            counts["skipped"] += 1
            ET.SubElement(case, "skipped")
            continue
        kind = _kind(result)
        if kind:
            counts["failures" if kind == "failure" else "errors"] += 1
            said = _said(result)
            fault = ET.SubElement(case, kind, message=said, type=str(result.get("status")))
            fault.text = said
    for key, count in counts.items():
        suite.set(key, str(count))
    suite.set("time", f"{seconds:.3f}")
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, "unicode") + "\n"


def _kind(result: Mapping[str, Any]) -> str:
    verdict, status = result.get("verdict", "none"), result.get("status", "unfinished")
    if verdict == "passed" or (verdict == "none" and status == "completed"):
        return ""
    if verdict == "broken" or status in ("infrastructure", "model_error", "aborted", "unfinished"):
        return "error"
    return "failure"


def _said(result: Mapping[str, Any]) -> str:
    reason = (result.get("verification") or {}).get("reason") or ""
    parts = [f"status {result.get('status')}", f"verdict {result.get('verdict')}"]
    parts += [str(part) for part in (result.get("error"), reason) if part]
    return _clean("; ".join(parts))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda found: f"\\x{ord(found.group()):02x}", text)
