"""Plans as JSON: the form in which models write them and logs keep them (decision 11).

A plan is a list of pipelines and links that alternate; a pipeline is a list of stages; a stage is
a list of words, or ``{argv, env, stdin, stdout, stderr}``. ``{"cd": DIR}`` stands in the place of
a pipeline.
"""

from __future__ import annotations

from typing import Any, cast

from harness.schema import child_path
from policies import (
    Cd,
    FromFile,
    FromText,
    Link,
    NullDevice,
    Pipeline,
    Plan,
    Stage,
    ToFile,
    ToStdout,
)

__all__ = ["PlanFormError", "plan_from_json", "plan_to_json"]

_LINKS = ("&&", "||", ";")
_KEYS = ("argv", "env", "stdin", "stdout", "stderr")


class PlanFormError(ValueError):
    """JSON that is no plan; ``faults`` has every fault with its place."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def plan_from_json(value: object, *, cwd: str = ".", path: str = "$") -> Plan:
    """The plan that a JSON value stands for, or PlanFormError."""
    reader = _Reader()
    plan = reader.plan(value, cwd, path)
    if reader.faults:
        raise PlanFormError(reader.faults)
    return plan


class _Reader:
    """Reads on after a fault, so that all are told at once."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def plan(self, value: object, cwd: str, path: str) -> Plan:
        if not isinstance(value, list) or not value:
            self.faults.append(f"{path}: must be a list of pipelines with links between them")
            return Plan(())
        steps: list[Pipeline | Cd] = []
        links: list[Link] = []
        for index, item in enumerate(value):
            place = child_path(path, index)
            if index % 2:
                if item in _LINKS:
                    links.append(cast("Link", item))
                else:
                    self.faults.append(f'{place}: must be a link: "&&", "||" or ";"')
            else:
                steps.append(self.step(item, place))
        if len(value) % 2 == 0:
            self.faults.append(f"{path}: ends with a link")
        return Plan(tuple(steps), tuple(links), cwd)

    def step(self, value: object, path: str) -> Pipeline | Cd:
        if isinstance(value, dict):
            folder = value.get("cd")
            if set(value) != {"cd"} or not isinstance(folder, str) or not folder:
                self.faults.append(f'{path}: must be a list of stages, or {{"cd": FOLDER}}')
            return Cd(folder if isinstance(folder, str) else ".")
        if not isinstance(value, list) or not value:
            self.faults.append(f"{path}: must be a list of stages")
            return Pipeline(())
        if all(isinstance(word, str) for word in value):
            self.faults.append(f"{path}: must be a list of stages; write [[...]] for a single one")
            return Pipeline(())
        return Pipeline(tuple(self.stage(v, child_path(path, i)) for i, v in enumerate(value)))

    def stage(self, value: object, path: str) -> Stage:
        if isinstance(value, list):
            return Stage(self.words(value, path))
        if not isinstance(value, dict):
            self.faults.append(f"{path}: must be a list of words or an object with argv")
            return Stage(())
        for key in value:
            if key not in _KEYS:
                self.faults.append(f"{child_path(path, str(key))}: is not declared")
        return Stage(
            self.words(value.get("argv"), child_path(path, "argv")),
            self.env(value.get("env"), child_path(path, "env")),
            self.source(value.get("stdin"), child_path(path, "stdin")),
            self.target(value.get("stdout"), child_path(path, "stdout")),
            ToStdout()
            if value.get("stderr") == "stdout"
            else self.target(value.get("stderr"), child_path(path, "stderr")),
        )

    def words(self, value: object, path: str) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            self.faults.append(f"{path}: must be a list of words")
            return ()
        wrong = [i for i, word in enumerate(value) if not isinstance(word, str)]
        self.faults += [f"{child_path(path, i)}: must be a string" for i in wrong]
        return () if wrong else tuple(value)

    def env(self, value: object, path: str) -> tuple[tuple[str, str], ...]:
        if value is None:
            return ()
        if not isinstance(value, dict):
            self.faults.append(f"{path}: must be an object of strings")
            return ()
        wrong = [key for key, text in value.items() if not isinstance(text, str)]
        self.faults += [f"{child_path(path, key)}: must be a string" for key in wrong]
        return () if wrong else tuple(value.items())

    def source(self, value: object, path: str) -> FromFile | FromText | NullDevice | None:
        if value is None:
            return None
        if value == "null":
            return NullDevice()
        if isinstance(value, dict) and len(value) == 1:
            if isinstance(value.get("file"), str):
                return FromFile(value["file"])
            if isinstance(value.get("text"), str):
                return FromText(value["text"].encode("utf-8", "surrogateescape"))
        self.faults.append(f'{path}: must be {{"file": PATH}}, {{"text": TEXT}} or "null"')
        return None

    def target(self, value: object, path: str) -> ToFile | NullDevice | None:
        if value is None:
            return None
        if value == "null":
            return NullDevice()
        if isinstance(value, dict) and isinstance(value.get("file"), str):
            append = value.get("append", False)
            if set(value) <= {"file", "append"} and isinstance(append, bool):
                return ToFile(value["file"], append)
        self.faults.append(f'{path}: must be {{"file": PATH, "append": BOOLEAN}} or "null"')
        return None


def plan_to_json(plan: Plan) -> list[Any]:
    """A plan in the same form; standard input that is no text is shown by its size."""
    made: list[Any] = []
    for index, step in enumerate(plan.steps):
        if index:
            made.append(plan.links[index - 1])
        made.append({"cd": step.path} if isinstance(step, Cd) else list(map(_stage, step.stages)))
    return made


def _stage(stage: Stage) -> Any:  # noqa: ANN401 - a list, or an object when there is more to say
    more: dict[str, Any] = {}
    if stage.env:
        more["env"] = dict(stage.env)
    if stage.stdin is not None:
        more["stdin"] = _stream(stage.stdin)
    if stage.stdout is not None:
        more["stdout"] = _stream(stage.stdout)
    if stage.stderr is not None:
        more["stderr"] = _stream(stage.stderr)
    if stage.globs:
        more["globs"] = list(stage.globs)
    return {"argv": list(stage.argv), **more} if more else list(stage.argv)


def _stream(stream: FromFile | FromText | NullDevice | ToFile | ToStdout) -> Any:  # noqa: ANN401
    match stream:
        case FromFile(path):
            return {"file": path}
        case FromText(data):
            return {"text": data.decode("utf-8", "surrogateescape")}
        case ToFile(path, append):
            return {"file": path, "append": append}
        case ToStdout():
            return "stdout"
    return "null"
