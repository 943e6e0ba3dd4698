"""Where the engine listens: DOCKER_HOST, a context, or the usual socket.

The order is that of the docker command: DOCKER_HOST, then DOCKER_CONTEXT, then the context that
the client's configuration names, then ``/var/run/docker.sock``.
"""

from __future__ import annotations

import hashlib
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from runners.errors import UnavailableError

__all__ = ["DEFAULT_SOCKET", "Endpoint", "Tls", "find_endpoint", "parse_endpoint"]

DEFAULT_SOCKET = "/var/run/docker.sock"
TLS_PORT = 2376
PLAIN_PORT = 2375


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificates for a TLS connection; ``verify`` is whether the engine's own is checked."""

    folder: Path
    verify: bool

    def files(self) -> tuple[Path, Path, Path]:
        """Authority, certificate and key."""
        return self.folder / "ca.pem", self.folder / "cert.pem", self.folder / "key.pem"

    def context(self) -> ssl.SSLContext:
        """For asyncio; UnavailableError names the file that cannot be used."""
        authority, certificate, key = self.files()
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        try:
            if certificate.exists():
                context.load_cert_chain(certificate, key)
            if self.verify:
                context.load_verify_locations(authority)
        except (OSError, ssl.SSLError) as error:
            raise UnavailableError(
                f"the certificates in {self.folder} cannot be used ({error}); "
                "DOCKER_CERT_PATH or the context must name a folder with ca.pem, cert.pem, key.pem"
            ) from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An engine's address.

    Attributes:
        kind: how it is reached.
        address: a socket's path, or ``host:port``, or ``[user@]host[:port]`` for ssh.
        origin: what named it, for messages.
        tls: set for TCP with certificates.
    """

    kind: Literal["unix", "tcp", "ssh"]
    address: str
    origin: str = "the default"
    tls: Tls | None = None

    @property
    def url(self) -> str:
        """As DOCKER_HOST would say it."""
        return f"{self.kind}://{self.address}"

    @property
    def local(self) -> bool:
        """Whether the engine sees this machine's files: only a path socket says so."""
        return self.kind == "unix"

    @property
    def host_port(self) -> tuple[str, int]:
        """Host and port of a TCP or ssh address (port 0: the protocol's own)."""
        parts = urlsplit(f"//{self.address}")
        port = parts.port or {"tcp": TLS_PORT if self.tls else PLAIN_PORT}.get(self.kind, 0)
        return parts.hostname or "127.0.0.1", port


def find_endpoint(environ: Mapping[str, str], home: Path) -> Endpoint:
    """The engine that the docker command would talk to."""
    named = environ.get("DOCKER_HOST", "")
    if named:
        return parse_endpoint(named, "DOCKER_HOST", tls_from_environment(environ, home))
    folder = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    context = environ.get("DOCKER_CONTEXT") or current_context(folder)
    if context and context != "default":
        return endpoint_of_context(context, folder)
    return Endpoint("unix", DEFAULT_SOCKET)


def parse_endpoint(text: str, origin: str, tls: Tls | None = None) -> Endpoint:
    """The endpoint that a text like ``tcp://host:2375`` names."""
    scheme, separator, rest = text.strip().partition("://")
    if not separator:
        scheme, rest = "tcp", text.strip()
    if scheme == "unix" and rest:
        return Endpoint("unix", rest, origin)
    rest = rest.rstrip("/")
    if rest and "/" not in rest:
        if scheme in ("tcp", "http", "https"):
            return Endpoint("tcp", rest, origin, tls)
        # An address that begins with a dash would be read by ssh as an option.
        if scheme == "ssh" and not rest.startswith("-"):
            return Endpoint("ssh", rest, origin)
    raise UnavailableError(
        f"{origin} names an engine address that is not understood: {text!r}; "
        "write unix:///path, tcp://host:port or ssh://user@host"
    )


def tls_from_environment(environ: Mapping[str, str], home: Path) -> Tls | None:
    """As the docker command reads DOCKER_TLS_VERIFY and DOCKER_CERT_PATH."""
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    folder = environ.get("DOCKER_CERT_PATH")
    if not verify and not folder:
        return None
    return Tls(Path(folder or home / ".docker"), verify)


def current_context(folder: Path) -> str:
    """The context that the client's configuration names, or ""."""
    try:
        settings = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return ""
    name = settings.get("currentContext") if isinstance(settings, dict) else None
    return name if isinstance(name, str) else ""


def endpoint_of_context(name: str, folder: Path) -> Endpoint:
    """The endpoint of a context, from the files that ``docker context create`` wrote."""
    key = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / key / "meta.json"
    try:
        endpoint: Any = json.loads(meta.read_bytes())["Endpoints"]["docker"]
        host = endpoint["Host"]
        skip_verify = bool(endpoint.get("SkipTLSVerify", False))
    except FileNotFoundError:
        raise UnavailableError(
            f"there is no Docker context {name!r}; docker context ls names those that exist"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnavailableError(f"the Docker context {name!r} cannot be read: {error!r}") from error
    certificates = folder / "contexts" / "tls" / key / "docker"
    tls = Tls(certificates, not skip_verify) if certificates.is_dir() else None
    return parse_endpoint(str(host), f"the context {name!r}", tls)
