"""The HTML file: data, style and script in one.

The content policy allows nothing but the one script and the one style, by their digests: no
request leaves the page, and nothing of the log can run. The data is JSON in a script element that
is never executed; `<`, `>` and `&` are escaped in it so that no text can end the element.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from harness.errors import LogError
from harness.record import read_events
from harness.report.view import View, view_of

__all__ = ["render_page", "write_report"]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript><p class="noscript">This report draws itself with its own script; the same facts are in
events.jsonl and result.json beside it, and in `stockade runs show`.</p></noscript>
<div id="app"></div>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def render_page(view: View) -> str:
    """The whole file as text."""
    style, script = _resource("page.css"), _resource("page.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    task = view.run.get("task") or view.run.get("run") or "run"
    return PAGE.format(
        policy=html.escape(policy, quote=True),
        title=html.escape(f"{_visible(str(task))} · stockade"),
        style=style,
        data=_embedded(asdict(view)),
        script=script,
    )


def write_report(folder: Path, target: Path | None = None) -> Path:
    """Write the report of a run folder, by default as its `report.html`; returns its path.

    A log that cannot be read to its end is shown up to there, and the report says so.
    """
    records: list[dict[str, Any]] = []
    fault = ""
    try:
        records.extend(_read(folder / "events.jsonl"))
    except LogError as error:
        fault = str(error).replace(str(folder) + "/", "")
    view = view_of(
        records,
        result=_result(folder / "result.json"),
        patch=_bytes(folder / "patch.diff"),
        artifacts=_artifacts(folder / "artifacts"),
        fault=fault,
    )
    path = target or folder / "report.html"
    temporary = path.with_name(path.name + ".part")
    try:
        temporary.write_text(render_page(view), "utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _read(path: Path) -> Iterator[dict[str, Any]]:
    yield from read_events(path)


def _result(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


MAX_EMBEDDED = 1 << 20
"""Bytes of artifacts that a report carries in all; the others are named."""


def _artifacts(folder: Path) -> list[tuple[str, int, str | None]]:
    """The files with what they hold, as long as there is room."""
    if not folder.is_dir():
        return []
    made: list[tuple[str, int, str | None]] = []
    room = MAX_EMBEDDED
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file():
            continue
        size = path.stat().st_size
        text = path.read_bytes().decode("utf-8", "replace") if size <= room else None
        room -= size if text is not None else 0
        made.append((_visible(path.name), size, text))
    return made


def _resource(name: str) -> str:
    return files("harness.report").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _visible(text: str) -> str:
    """Text for the title bar: what is not printable is written as an escape."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
