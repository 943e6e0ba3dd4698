"""The engine's frequent calls: one short connection and one JSON document each.

They are the calls that every session makes. The SDK would take longer to import than they take, and
longer for each of them; it is used for all others. Shapes: the Docker Engine API, version 1.40 on.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from runners.docker.endpoint import Endpoint
from runners.docker.fault import explain_answer, explain_connection
from runners.errors import RunnerError

__all__ = ["CALL_SECONDS", "Control"]

CALL_SECONDS = 30.0
FAILED = 400
EMPTY = (204, 304)  # done; it was so already


class Control:
    """Blocking calls to one engine; any number at once.

    Args:
        endpoint: as the operator named it, for errors.
        reached: where it is reached, by a path socket or TCP.
    """

    def __init__(self, endpoint: Endpoint, reached: Endpoint) -> None:
        self._endpoint = endpoint
        self._reached = reached
        self._about: dict[str, Any] = {}
        self._secured: ssl.SSLContext | None = None

    @property
    def about(self) -> dict[str, Any]:
        """Versions of the engine, of its parts and of its API; asked once."""
        if not self._about:
            told = self._send("GET", "/version", None, CALL_SECONDS)
            if not isinstance(told, dict) or "ApiVersion" not in told:
                error = ValueError("it does not answer as an engine does: it names no ApiVersion")
                raise explain_connection(error, self._endpoint)
            self._about = told
        return self._about

    @property
    def version(self) -> str:
        """Of the API, as the engine speaks it."""
        return str(self.about["ApiVersion"])

    def ask(
        self,
        method: str,
        *names: str,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        seconds: float = CALL_SECONDS,
    ) -> Any:  # noqa: ANN401 - whatever JSON the engine answers
        """The answer of a call, None where it has no content.

        Args:
            method: of HTTP.
            names: the parts of the path; one may hold slashes and colons, as names of images do.
            query: parameters; mappings and lists are sent as JSON.
            body: sent as JSON.
            seconds: how long each wait for the engine may take.

        Raises:
            EngineFaultError: the engine answered with an error, or not in time.
            NoEngineError: it cannot be reached.
        """
        path = "/".join(quote(name, safe="/:") for name in names)
        asked = urlencode({key: in_query(value) for key, value in (query or {}).items()})
        target = f"/v{self.version}/{path}" + (f"?{asked}" if asked else "")
        return self._send(method, target, body, seconds)

    def _send(
        self, method: str, target: str, body: Mapping[str, Any] | None, seconds: float
    ) -> Any:  # noqa: ANN401
        tls = self._reached.tls
        if tls is not None and self._secured is None:
            self._secured = tls.context()
        connection = Connection(self._reached, self._secured, seconds)
        try:
            content = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request(method, target, content, headers)
            answer = connection.getresponse()
            data = answer.read()
            if answer.status >= FAILED:
                raise explain_answer(answer.status, message_of(data), self._endpoint)
            return None if answer.status in EMPTY else json.loads(data)
        except RunnerError:
            raise
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise explain_connection(error, self._endpoint) from error
        finally:
            connection.close()


class Connection(http.client.HTTPConnection):
    """One connection to the engine."""

    def __init__(self, endpoint: Endpoint, secured: ssl.SSLContext | None, seconds: float) -> None:
        super().__init__("docker", timeout=seconds)
        self._endpoint = endpoint
        self._secured = secured

    def connect(self) -> None:
        """By a path socket, or by TCP with or without TLS."""
        endpoint = self._endpoint
        if endpoint.kind == "unix":
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(endpoint.address)
            return
        host, port = endpoint.host_port
        self.sock = socket.create_connection((host, port), self.timeout)
        if self._secured is not None:
            self.sock = self._secured.wrap_socket(self.sock, server_hostname=host)


def in_query(value: object) -> str:
    """A parameter as the engine reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def message_of(data: bytes) -> str:
    """What the engine says of a call that failed."""
    try:
        return str(json.loads(data)["message"])
    except (ValueError, KeyError, TypeError):
        return data.decode("utf-8", "replace").strip()
