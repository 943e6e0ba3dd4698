"""Run every benchmark, or those named, and print one table: `python -m benchmarks [NAME...]`."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.row import Row

HERE = Path(__file__).parent
OURS = {"__init__", "__main__", "mutants", "row"}
MARK = {True: "met", False: "missed", None: "not measured"}


def names(wanted: Sequence[str]) -> list[str]:
    """The benchmarks asked for, or all, in alphabetical order."""
    known = sorted(p.stem for p in HERE.glob("*.py") if p.stem not in OURS)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(unknown)}: one of {', '.join(known)}")
    return list(wanted) or known


def rows(name: str) -> list[Row]:
    """What one benchmark measured; one that fails is told and costs the others nothing."""
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        result: list[Row] = module.main()
    except Exception as error:
        traceback.print_exc()
        return [Row(name, f"{type(error).__name__}: {error}"[:60], "-", None)]
    return result


def main() -> None:
    """Measure and print; exit 0 whatever the figures say."""
    table = Table("what", "figure", "target", "", title="stockade benchmarks")
    for name in names(sys.argv[1:]):
        print(f"measuring {name}", file=sys.stderr)
        for row in rows(name):
            table.add_row(row.what, row.figure, row.target, MARK[row.ok])
            print(f"  {row.what}: {row.figure} ({row.target})", file=sys.stderr)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
