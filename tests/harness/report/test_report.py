"""What a report is made of."""

from __future__ import annotations

import json
import re
from pathlib import Path

from harness.report import view_of, write_report
from tests.harness.report.sample import Writer, write_demo, write_hostile


def data_of(path: Path) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    assert found is not None
    loaded: dict[str, object] = json.loads(found.group(1))
    return loaded


def test_the_counts_are_those_of_the_log(tmp_path: Path) -> None:
    data = data_of(write_report(write_demo(tmp_path / "run")))
    assert data["counts"] == {"steps": 5, "calls": 7, "failed": 1, "denied": 1, "asked": 0}


def test_a_torn_log_is_shown_up_to_where_it_can_be_read(tmp_path: Path) -> None:
    folder = write_demo(tmp_path / "run")
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:9]) + b"{broken}\n")
    (folder / "result.json").unlink()
    data = data_of(write_report(folder))
    assert (data["fault"], data["result"]) != ("", {"x": 1})
    assert "record 9 is not JSON" in str(data["fault"])
    assert str(tmp_path) not in str(data)


def test_a_run_that_began_only_has_a_report(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "run")
    writer.start(task="t")
    writer.log.close()
    data = data_of(write_report(tmp_path / "run"))
    assert (data["steps"], data["result"]) == ([], {})


def test_a_long_output_says_how_much_is_left_out(tmp_path: Path) -> None:
    path = write_report(write_hostile(tmp_path / "run"))
    text = json.dumps(data_of(path))
    assert f'"missing": {(10 << 20) - (64 << 10)}' in text
    assert path.stat().st_size < 1 << 20


def test_no_text_of_the_log_can_end_the_script_element(tmp_path: Path) -> None:
    page = write_report(write_hostile(tmp_path / "run")).read_text()
    assert page.count("</script>") == 2


def test_records_of_unknown_types_are_named() -> None:
    view = view_of([{"type": "new/kind", "t": 1.0}])
    assert view.notes == [{"at": 0.0, "kind": "unknown record", "text": "new/kind"}]


def test_a_run_taken_up_after_a_restart_of_the_machine_goes_on_in_time() -> None:
    view = view_of(
        [
            {"type": "run/start", "t": 900.0},
            {"type": "notice", "t": 905.5, "kind": "a", "text": ""},
            {"type": "run/resumed", "t": 3.0},
            {"type": "notice", "t": 4.5, "kind": "b", "text": ""},
        ]
    )
    assert [note["at"] for note in view.notes] == [5.5, 5.5, 7.0]
