"""What a task may write as a host that it wants to reach: names, addresses, ranges; no URLs."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, model_validator

from harness.task.table import NetworkMode, Table, fault

__all__ = ["Hosts", "NetworkTable"]

LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


NAME_IT = "write a host, *.host, an address or a range, without scheme, port or path"


def host(text: str) -> str:
    """One entry of an allowlist, in lower case."""
    name = text.strip().lower().rstrip(".")
    if "/" in name:
        return checked(name, ip_network, "is no range of addresses")
    if ":" in name:
        return checked(name, ip_address, "is no address")
    plain = name.removeprefix("*.")
    if "*" in plain or not all(map(LABEL.fullmatch, plain.split("."))):
        raise fault("is no host", NAME_IT)
    if plain != name and is_address(plain):
        raise fault("puts *. before an address", NAME_IT)
    return name


def checked(text: str, parse: object, what: str) -> str:
    """The text, if it parses."""
    assert callable(parse)
    try:
        parse(text)
    except ValueError:
        raise fault(what, NAME_IT) from None
    return text


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


Hosts = list[Annotated[str, AfterValidator(host)]]


class NetworkTable(Table):
    """The two keys that every table about a network has."""

    network_mode: NetworkMode | None = None
    allowed_hosts: Hosts | None = None

    @model_validator(mode="after")
    def hosts_need_an_allowlist(self) -> NetworkTable:
        """``allowed_hosts`` belongs to one mode alone."""
        wrong = self.allowed_hosts is not None and self.network_mode is None
        wrong = wrong or bool(self.allowed_hosts and self.network_mode != "allowlist")
        if wrong:
            fix = 'write network_mode = "allowlist", or remove it'
            raise fault("belongs to an allowlist", fix, "allowed_hosts")
        return self
