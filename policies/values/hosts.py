"""HOST and URL, with the hosts that a line admits."""

from __future__ import annotations

import re

from policies.values.value import Check, Place

__all__ = ["host_check", "host_fits", "url_check"]

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
IPV4 = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")
URL = re.compile(r"(https?)://([^/?#]*)([/?#].*)?", re.IGNORECASE | re.DOTALL)
PORT = re.compile(r"[0-9]{1,5}")
NOT_IN_URL = re.compile(r"[\x00-\x20\x7f\\]")


def is_host(text: str) -> bool:
    """A letters-digits-hyphen name or an address, in lower case."""
    if text.startswith("[") and text.endswith("]"):
        return is_address(text[1:-1])
    if IPV4.fullmatch(text):
        return is_address(text)
    labels = text.split(".")
    return len(text) <= 253 and all(LABEL.fullmatch(label) for label in labels)


def is_address(text: str) -> bool:
    """An IP literal."""
    import ipaddress

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def host_fits(host: str, patterns: tuple[str, ...]) -> bool:
    """Whether a lower-case host is one of the names or a strict sub-domain of a ``*.name``."""
    for pattern in patterns:
        if pattern.startswith("*."):
            if host.endswith(pattern[1:]) and len(host) > len(pattern) - 1:
                return True
        elif host == pattern:
            return True
    return False


def host_check(patterns: tuple[str, ...]) -> Check:
    """A host; any host where no pattern is given."""

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if not word:
            return "empty-word"
        host = word.lower()
        if not host.isascii() or not is_host(host):
            return "value-type"
        return None if not patterns or host_fits(host, patterns) else "value-range"

    return check


def url_check(patterns: tuple[str, ...]) -> Check:
    """An http or https URL without user information, on one of the hosts."""

    def check(word: str, place: Place) -> str | None:  # noqa: ARG001
        if not word:
            return "empty-word"
        found = URL.fullmatch(word)
        if found is None or not word.isascii() or NOT_IN_URL.search(word):
            return "value-type"
        authority = found[2].lower()
        host, colon, port = authority.rpartition(":")
        if not colon or authority.endswith("]"):
            host, port = authority, "0"
        if not PORT.fullmatch(port) or int(port) > 65535 or not is_host(host):
            return "value-type"
        return None if not patterns or host_fits(host, patterns) else "value-range"

    return check
