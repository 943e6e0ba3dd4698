"""Verdicts at 10, 100 and 1,000 rules and over real commands, and the loading of a profile.

Each figure stands beside ``json.loads`` of the same words in the same minute: the ratio counts.
"""

from __future__ import annotations

import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import policies
from benchmarks.row import Row
from policies import Command, LineError, Pipeline, Policy, parse_line

CORPUS = Path(__file__).parents[1] / "tests" / "policies" / "cases" / "agent-commands.jsonl"
ARGV = ("git", "log", "-n", "5", "--", "src")


def best(act: Callable[[], object], rounds: int, batch: int) -> float:
    """Microseconds of the fastest batch: what else the machine does is left out."""
    found = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(batch):
            act()
        found = min(found, time.perf_counter() - start)
    return found / batch * 1e6


def policy_of(rules: int, program: str, folder: Path) -> Policy:
    """A policy with many rules, of one program or of many."""
    rows = ["schema = 1", 'name = "bench"']
    for n in range(rules - 1):
        line = f"{program.format(n)} sub{n} [--flag, -n INT(1..100)] [PATH...]"
        rows += ["[[rule]]", f'name = "r{n}"', f'allow = ["{line}"]']
    line = "git log [--oneline, -n INT(1..1000)] [REV] [-- PATH...]"
    rows += ["[[rule]]", 'name = "git"', f'allow = ["{line}"]']
    path = folder / "bench.toml"
    path.write_text("\n".join(rows))
    return policies.load(path)


def commands() -> list[tuple[str, ...]]:
    """Every argv of the corpus."""
    found: list[tuple[str, ...]] = []
    for text in CORPUS.read_text().splitlines():
        try:
            plan = parse_line(json.loads(text)["line"])
        except LineError:
            continue
        steps = [step for step in plan.steps if isinstance(step, Pipeline)]
        found += [stage.argv for step in steps for stage in step.stages]
    return found


def rules_rows() -> list[Row]:
    rows: list[Row] = []
    text = json.dumps(ARGV)
    for rules in (10, 100, 1000):
        for label, program in (("many programs", "prog{}"), ("one program", "git")):
            with tempfile.TemporaryDirectory() as folder:
                policy = policy_of(rules, program, Path(folder))
            command = Command(ARGV)
            judged = best(lambda p=policy, c=command: p.judge(c), 100, 20)
            ratio = judged / best(lambda: json.loads(text), 100, 20)
            figure = f"{judged:.1f} us, {ratio:.1f}x json.loads"
            rows.append(Row(f"verdict, {rules} rules, {label}", figure, "at most 5x", ratio <= 5))
    return rows


def corpus_row() -> Row:
    """Every command in several passes: what else the machine does lasts longer than one command."""
    policy = policies.load("python-dev")
    pairs = [(Command(argv), json.dumps(argv)) for argv in commands()]
    times = [float("inf")] * len(pairs)
    bases = list(times)
    for _ in range(5):
        for number, (command, text) in enumerate(pairs):
            judged = best(lambda c=command: policy.judge(c, root="/testbed"), 6, 3)
            times[number] = min(times[number], judged)
            bases[number] = min(bases[number], best(lambda t=text: json.loads(t), 6, 3))
    times.sort()
    middle, base, slow = median(times), median(bases), times[int(len(times) * 0.99)]
    figure = (
        f"median {middle:.1f} us ({middle / base:.1f}x), "
        f"slowest hundredth {slow:.0f} us ({slow / base:.0f}x)"
    )
    ok = middle <= 5 * base and slow <= 25 * base
    return Row(f"verdict, {len(times)} real commands", figure, "median 5x, hundredth 25x", ok)


def profile_rows() -> list[Row]:
    policies.load("python-dev")
    loading = best(lambda: policies.load("python-dev"), 20, 1) / 1e3
    times = {n: best(lambda n=n: policies.load(n), 5, 1) / 1e3 for n in policies.profile_names()}
    slowest = max(times, key=lambda name: times[name])
    argvs = commands()
    tracemalloc.start()
    policy = policies.load("python-dev")
    for argv in argvs:
        policy.judge(Command(argv), root="/testbed")
    memory = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    return [
        Row("load python-dev", f"{loading:.1f} ms", "at most 30 ms", loading <= 30),
        Row(
            f"load {slowest}, the slowest profile",
            f"{times[slowest]:.1f} ms",
            "at most 30 ms",
            times[slowest] <= 30,
        ),
        Row("memory of the profile in use", f"{memory:.1f} MiB", "at most 5 MiB", memory <= 5),
    ]


def main() -> list[Row]:
    return [*rules_rows(), corpus_row(), *profile_rows()]
