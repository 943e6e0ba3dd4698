"""A step of our loop beside one of other agent libraries, on the same script.

The script: so many calls of an in-process echo tool, one in each answer, then an end. No library
reaches a network; tracing to elsewhere is off. Ours has its policy, pipeline and log on.

What is counted is the CPU time of the whole script, in the best of some rounds: libraries whose
step grows with the conversation pay for that here, as they do in a real run.

Each library runs in a process of its own, in an environment of its own: `make bench-peers` makes
it once, in the cache outside the checkout, and STOCKADE_PEERS_PYTHON names another. What is not
installed there is reported, not measured.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.row import Row

ROOT = Path(__file__).parents[1]

STEPS = 200
ROUNDS = 4
DESCRIPTION = "Say a text back."
MISSING = "not installed: make bench-peers"
TARGETS = {"smolagents": 2.5, "langgraph": 12.0, "pydantic-ai-slim": 12.0, "openai-agents": 12.0}


def stockade() -> Callable[[], float]:
    import benchmarks.loop as ours

    ours.STEPS, ours.clock = STEPS, time.process_time
    return lambda: average(ours.times())


def average(times: list[float]) -> float:
    """Seconds of CPU a step over the whole script; waiting for the processor is nobody's cost."""
    return (times[-1] - times[0]) / (len(times) - 1)


def smolagents() -> Callable[[], float]:
    from smolagents import Model, Tool, ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
    )

    class Echo(Tool):
        name = "echo"
        description = DESCRIPTION
        inputs: ClassVar = {"text": {"type": "string", "description": "the text"}}
        output_type = "string"

        def forward(self, text: str) -> str:
            return text

    class Scripted(Model):
        def __init__(self) -> None:
            super().__init__()
            self.times: list[float] = []

        def generate(self, *_: Any, **__: Any) -> Any:
            self.times.append(time.process_time())
            number = len(self.times)
            name = "echo" if number <= STEPS else "final_answer"
            arguments = {"text": "hello"} if number <= STEPS else {"answer": "done"}
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=f"c{number}", type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    def once() -> float:
        model = Scripted()
        agent = ToolCallingAgent([Echo()], model, max_steps=STEPS + 2, verbosity_level=0)
        assert agent.run("go") == "done"
        return average(model.times)

    return once


def langgraph() -> Callable[[], float]:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.prebuilt import create_react_agent

    @tool
    def echo(text: str) -> str:
        """Say a text back."""
        return text

    class Scripted(BaseChatModel):
        times: list[float] = []  # noqa: RUF012 - pydantic copies it

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, *_: Any, **__: Any) -> Any:
            return self

        def _generate(self, *_: Any, **__: Any) -> Any:
            self.times.append(time.process_time())
            number = len(self.times)
            calls = [{"name": "echo", "args": {"text": "hello"}, "id": f"c{number}"}]
            message = (
                AIMessage("", tool_calls=calls) if number <= STEPS else AIMessage("done")  # type: ignore[call-arg]
            )
            return ChatResult(generations=[ChatGeneration(message=message)])

    def once() -> float:
        model = Scripted()
        graph = create_react_agent(model, [echo])
        state = graph.invoke({"messages": [("user", "go")]}, {"recursion_limit": 2 * STEPS + 10})
        assert state["messages"][-1].content == "done"
        return average(model.times)

    return once


def pydantic_ai() -> Callable[[], float]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    def echo(text: str) -> str:
        """Say a text back."""
        return text

    def once() -> float:
        times: list[float] = []

        def answer(*_: Any) -> Any:
            times.append(time.process_time())
            if len(times) > STEPS:
                return ModelResponse(parts=[TextPart("done")])
            part = ToolCallPart("echo", '{"text":"hello"}', tool_call_id=f"c{len(times)}")
            return ModelResponse(parts=[part])

        agent = Agent(FunctionModel(answer), tools=[echo])
        result = asyncio.run(agent.run("go", usage_limits=UsageLimits(request_limit=None)))
        assert result.output == "done"
        return average(times)

    return once


def openai_agents() -> Callable[[], float]:
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from agents import set_tracing_disabled as without_tracing
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    without_tracing(True)

    @function_tool
    def echo(text: str) -> str:
        """Say a text back."""
        return text

    class Scripted(Model):
        def __init__(self) -> None:
            self.times: list[float] = []

        async def get_response(self, *_: Any, **__: Any) -> Any:
            self.times.append(time.process_time())
            number = len(self.times)
            item: Any = ResponseFunctionToolCall(
                name="echo",
                arguments='{"text":"hello"}',
                call_id=f"c{number}",
                type="function_call",
            )
            if number > STEPS:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                item = ResponseOutputMessage(
                    id="m", role="assistant", status="completed", type="message", content=[text]
                )
            return ModelResponse(output=[item], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    def once() -> float:
        model = Scripted()
        agent = Agent(name="a", model=model, tools=[echo])
        result = asyncio.run(Runner.run(agent, "go", max_turns=STEPS + 5))
        assert result.final_output == "done"
        return average(model.times)

    return once


MAKERS = {
    "stockade": stockade,
    "smolagents": smolagents,
    "langgraph": langgraph,
    "pydantic-ai-slim": pydantic_ai,
    "openai-agents": openai_agents,
}


Measured = tuple[float, str] | None


def measure(name: str, python: str) -> Measured:
    """Seconds a step in the best of some rounds, and the version; None where it is missing."""
    env = {**os.environ, "OTEL_SDK_DISABLED": "true", "HF_HUB_OFFLINE": "1"}
    argv = [python, "-m", "benchmarks.peers_loop", name]
    done = subprocess.run(argv, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
    if done.returncode == 3:
        return None
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    seconds, version = json.loads(done.stdout.splitlines()[-1])
    return seconds, version


def peers_python() -> str:
    """The Python that has the libraries: the one named, the one in the cache, or this one."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made = cache / "stockade" / "peers" / "bin" / "python"
    return os.environ.get("STOCKADE_PEERS_PYTHON") or str(made if made.exists() else sys.executable)


def main() -> list[Row]:
    """How many times less a step of ours takes."""
    python = peers_python()
    rows, every = [], [measure("stockade", sys.executable)]
    for name, target in TARGETS.items():
        theirs, ours = [measure(name, python)], []
        if theirs[0] is not None:
            ours = [measure("stockade", sys.executable)]
            theirs.append(measure(name, python))
            ours.append(measure("stockade", sys.executable))
        rows.append(beside(name, target, theirs, ours))
        every += ours
    best = min(one[0] for one in every if one is not None)
    return [Row("a step of ours on that script", f"{best * 1e6:.0f} us", "", None), *rows]


def beside(name: str, target: float, theirs: list[Measured], ours: list[Measured]) -> Row:
    """The better of two turns of each, that were taken in turns."""
    what, wanted = f"a step beside {name}'s", f"{target:g}x less"
    found = [one for one in theirs if one is not None]
    if not found:
        return Row(what, MISSING, wanted, None)
    seconds, version = min(found)
    ratio = seconds / min(one[0] for one in ours if one is not None)
    figure = f"{ratio:.1f}x less ({seconds * 1e6:.0f} us, {name} {version})"
    return Row(what, figure, wanted, ratio >= target)


def _child(name: str) -> int:
    try:
        version = importlib.metadata.version("stockade-harness" if name == "stockade" else name)
        once = MAKERS[name]()
    except (ImportError, importlib.metadata.PackageNotFoundError) as error:
        print(error, file=sys.stderr)
        return 3
    best = min(once() for _ in range(ROUNDS))
    print(json.dumps([best, version]))
    return 0


if __name__ == "__main__":
    raise SystemExit(_child(sys.argv[1]))
