"""How a log is kept, as the operator's configuration says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.config import Config
from harness.errors import ConfigError
from harness.run.recording import Recording, recording_of


def of(record: dict[str, Any], environ: dict[str, str] | None = None, **more: Any) -> Recording:
    return recording_of(Config(record=record, **more), environ or {})


def hidden(recording: Recording, text: str) -> str:
    assert recording.redact is not None
    return str(recording.redact({"text": text})["text"])


def test_without_a_table_the_disk_is_waited_for_at_the_end_and_nothing_is_hidden() -> None:
    assert of({}) == Recording("end", None, None, None)


def test_every_key_of_the_table_counts(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("0123456789abcdef\n")
    made = of({"fsync": "event", "rotate_mib": 2, "key": str(tmp_path / "key")})
    assert made == Recording("event", b"0123456789abcdef", None, 2 << 20)


def test_keys_of_providers_are_hidden_without_being_asked_for() -> None:
    environ = {"OPENAI_API_KEY": "sk-12345678", "LOCAL_KEY": "local-12345"}
    made = of({}, environ, models={"mine": {"provider": "openai", "key_env": "LOCAL_KEY"}})
    assert hidden(made, "sk-12345678, local-12345") == "[redacted], [redacted]"


def test_named_variables_and_patterns_are_hidden_also_in_the_form_of_json() -> None:
    made = of({"secrets": ["TOKEN", "UNSET"], "patterns": ["ghp_[a-z]+"]}, {"TOKEN": 'pass"word'})
    text = '{"a": "pass\\"word", "b": "ghp_abc"} pass"word'
    assert hidden(made, text) == '{"a": "[redacted]", "b": "[redacted]"} [redacted]'


def test_a_placeholder_of_a_key_hides_nothing() -> None:
    assert of({}, {"OPENAI_API_KEY": "x"}).redact is None


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"sync": "end"}, "sync: unknown key; known are fsync"),
        ({"fsync": "often"}, "fsync: 'often' is none of none, end, step, event"),
        ({"rotate_mib": 0}, "rotate_mib: must be at least 1"),
        ({"rotate_mib": True}, "rotate_mib: must be a whole number"),
        ({"secrets": "TOKEN"}, "secrets: must be a list of texts"),
        ({"secrets": [""]}, "secrets: must be a list of texts that are not empty"),
        ({"secrets": ["PIN"]}, "PIN holds fewer than 8 characters"),
        ({"patterns": ["("]}, "patterns: '\\('"),
        ({"patterns": ["x*"]}, "fits the empty text"),
        ({"key": "/nonexistent"}, "the key /nonexistent cannot be read"),
    ],
)
def test_a_mistake_in_the_table_is_named(record: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        of(record, {"PIN": "1234"})


def test_a_key_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("short\n")
    with pytest.raises(ConfigError, match="shorter than 16 bytes"):
        recording_of(Config(), {}, tmp_path / "key")
