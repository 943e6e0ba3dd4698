"""What goes wrong with an engine, in our words: what, where, and the cure."""

from __future__ import annotations

import errno
import ssl
from collections.abc import Iterator

from runners.docker.endpoint import DEFAULT_SOCKET, Endpoint
from runners.errors import RunnerError, UnavailableError

__all__ = [
    "EngineFaultError",
    "NoEngineError",
    "explain",
    "explain_answer",
    "explain_connection",
]

CUT = {"BadStatusLine", "IncompleteRead", "ProtocolError", "RemoteDisconnected"}
"""Errors of the libraries that say that the connection ended too early."""


class NoEngineError(UnavailableError):
    """The engine cannot be reached at all.

    Attributes:
        reason: one sentence.
        cure: what would fix it.
    """

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}; {cure}")
        self.reason = reason
        self.cure = cure


class EngineFaultError(RunnerError):
    """The engine answered with an error, or not in time.

    Attributes:
        status: the HTTP status, 0 where no answer came.
        transient: the same call may work a moment later.
    """

    def __init__(self, message: str, *, status: int = 0, transient: bool = False) -> None:
        super().__init__(message)
        self.status = status
        self.transient = transient


def explain(error: Exception, endpoint: Endpoint) -> RunnerError:
    """The error to raise instead of one of the SDK's."""
    from docker.errors import APIError, InvalidVersion

    # The SDK's first call, for the version, wraps the answer in another error.
    answer = next((cause for cause in causes(error) if isinstance(cause, APIError)), None)
    if answer is not None:
        return explain_answer(
            int(answer.status_code or 0), str(answer.explanation or answer), endpoint
        )
    if isinstance(error, InvalidVersion):
        return NoEngineError(
            f"the engine at {endpoint.url} is too old ({error})", "install Docker 20.10 or newer"
        )
    return explain_connection(error, endpoint)


def explain_answer(status: int, message: str, endpoint: Endpoint) -> RunnerError:
    """The same for an answer of the engine."""
    if "client version" in message and ("too old" in message or "too new" in message):
        return NoEngineError(
            f"the engine at {endpoint.url} speaks another API version ({message})",
            "unset DOCKER_API_VERSION, or install a docker SDK and an engine that fit",
        )
    # A runtime that cannot start this container says 500 as well, and would say it again.
    ours = "OCI runtime" in message or "no such image" in message.lower()
    return EngineFaultError(
        f"the Docker engine at {endpoint.url} says: {message}",
        status=status,
        transient=status >= 500 and not ours,
    )


def explain_connection(error: Exception, endpoint: Endpoint) -> RunnerError:
    """The same for an error below HTTP."""
    secure = next((cause for cause in causes(error) if isinstance(cause, ssl.SSLError)), None)
    if secure is not None:
        return NoEngineError(
            f"no secure connection to the Docker engine at {endpoint.url}: {secure}",
            "check ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH or in the context",
        )
    numbers = {number for number in map(number_of, causes(error)) if number}
    if errno.EACCES in numbers or errno.EPERM in numbers:
        return NoEngineError(
            f"no permission to use the Docker engine's socket {endpoint.address}",
            "add the user to the group docker (this is as much as root), or use rootless Docker",
        )
    if endpoint.kind == "unix" and errno.ENOENT in numbers:
        return NoEngineError(
            f"there is no Docker engine: {endpoint.origin} is {endpoint.address}, "
            "which does not exist",
            missing_socket_cure(endpoint),
        )
    if errno.ECONNREFUSED in numbers:
        return NoEngineError(
            f"nothing answers at {endpoint.url} (connection refused)", "start the Docker engine"
        )
    names = {type(cause).__name__ for cause in causes(error)}
    if names & {"ReadTimeout", "ReadTimeoutError", "TimeoutError", "ConnectTimeout"}:
        return EngineFaultError(f"the Docker engine at {endpoint.url} did not answer in time")
    if errno.ECONNRESET in numbers or names & CUT:
        return EngineFaultError(
            f"the Docker engine at {endpoint.url} closed the connection", transient=True
        )
    return NoEngineError(
        f"the Docker engine at {endpoint.url} ({endpoint.origin}) cannot be reached: "
        f"{innermost(error)}",
        "check DOCKER_HOST, DOCKER_CONTEXT and that the engine runs",
    )


def missing_socket_cure(endpoint: Endpoint) -> str:
    """What to do where there is no socket."""
    if endpoint.address == DEFAULT_SOCKET:
        return (
            "install and start Docker, or set DOCKER_HOST "
            "(rootless: unix://$XDG_RUNTIME_DIR/docker.sock)"
        )
    return f"start that engine, or correct {endpoint.origin}"


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it, those too that libraries put into arguments."""
    seen: set[int] = set()
    todo: list[BaseException] = [error]
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        todo += [arg for arg in current.args if isinstance(arg, BaseException)]
        todo += [e for e in (current.__cause__, current.__context__) if e is not None]
        reason = getattr(current, "reason", None)
        if isinstance(reason, BaseException):
            todo.append(reason)


def number_of(error: BaseException) -> int:
    """The errno of an error of the system, else 0 (errors of TLS have numbers of their own)."""
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError):
        return 0
    return error.errno or 0


def innermost(error: BaseException) -> str:
    """The text of the first cause."""
    return str(list(causes(error))[-1])
