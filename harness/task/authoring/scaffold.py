"""Writes a small task that works: it fails as it is and passes with its reference solution."""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import ConfigError

__all__ = ["write_task"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")

TASK = """\
schema_version = "1.4"

[task]
name = "{name}"
description = "What the task is about, in one line"
keywords = ["python", "bug"]

[agent]
timeout_sec = 300.0

[verifier]
timeout_sec = 120.0

[environment]
network_mode = "no-network"

[metadata.stockade]
policy = "python-dev"
image = "python"
workspace = "environment/workspace"

# The command runs in a fresh box on a copy of the result; these tests must be reported as passed.
[metadata.stockade.verify]
argv = ["python3", "-m", "pytest", "-q", "$STOCKADE_TESTS"]
tests = [
  "test_words.py::test_words_are_counted_whatever_stands_between_them",
  "test_words.py::test_an_empty_text_has_no_words",
]
"""
FILES = {
    "instruction.md": """\
`count_words` in `words.py` counts wrongly where more than one blank stands between two words, and
says that an empty text has one word. Mend it. The signature must stay as it is.
""",
    "environment/workspace/words.py": '''\
"""Counting words."""


def count_words(text: str) -> int:
    """How many words a text has."""
    return len(text.split(" "))
''',
    "environment/Dockerfile": """\
# For other harnesses of this layout; stockade uses its image `python`.
FROM python:3.11-slim
RUN pip install --no-cache-dir pytest==8.3.4
COPY workspace /workspace
WORKDIR /workspace
USER 1000:1000
""",
    "tests/test_words.py": """\
from words import count_words


def test_words_are_counted_whatever_stands_between_them():
    assert count_words(" one  two\\tthree\\n") == 3


def test_an_empty_text_has_no_words():
    assert count_words("") == 0
""",
    "tests/test.sh": """\
#!/bin/bash
# For other harnesses of this layout.
logs="${STOCKADE_LOGS:-/logs}"
mkdir -p "$logs/verifier"
if python3 -m pytest -q -p no:cacheprovider --rootdir "${STOCKADE_TESTS:-/tests}" \\
  -o pythonpath="$PWD" "${STOCKADE_TESTS:-/tests}"; then
  echo 1 > "$logs/verifier/reward.txt"
else
  echo 0 > "$logs/verifier/reward.txt"
fi
""",
    "solution/solve.sh": """\
#!/bin/bash
set -e
sed -i 's/text.split(" ")/text.split()/' words.py
""",
}


def write_task(folder: Path, name: str | None = None) -> list[Path]:
    """Write the task into a new or empty folder; the files that were written."""
    name = name or f"local/{folder.resolve().name}"
    if NAME.fullmatch(name) is None:
        raise ConfigError(f'{name!r} is no name of a task; write "organisation/name"')
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is there already and not empty; name another folder")
    written = []
    try:
        for file, text in {"task.toml": TASK.format(name=name), **FILES}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if path.suffix == ".sh":
                path.chmod(0o755)
            written.append(path)
    except OSError as error:
        raise ConfigError(f"{error.filename}: cannot be written: {error.strerror}") from None
    return written
