"""What looks like a secret: names that decision 13 lists, private keys, credentials of git."""

from __future__ import annotations

import re

__all__ = ["MAX_PEEK", "holds_private_key", "is_git_config", "secret_name", "without_credentials"]

MAX_PEEK = 1 << 20  # a key or a configuration is never longer

SHARED_ENV = frozenset({".env.example", ".env.sample"})
KEYS = frozenset({"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"})
ACCOUNTS = frozenset({".netrc", ".npmrc", ".pypirc", ".git-credentials"})

GIT_CONFIG = re.compile(r"(?:^|/)\.git/(?:modules/.+/|worktrees/[^/]+/)?config(?:\.worktree)?$")
USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/@\s\"]{1,4096}@")
SECTION = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)")
KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=")
SECRET_KEYS = frozenset(
    {"extraheader", "password", "token", "oauthtoken", "smtppass", "cookiefile", "sslkey"}
)


def secret_name(path: str) -> str | None:
    """Why a path is left out by its last name alone, or None."""
    name = path.rpartition("/")[2]
    if name == ".env" or (name.startswith(".env.") and name not in SHARED_ENV):
        return "an environment file, which may hold secrets"
    if name in KEYS:
        return "a private key"
    if name in ACCOUNTS:
        return "account data, which may hold secrets"
    return None


def holds_private_key(data: bytes) -> bool:
    """Whether the beginning of a PEM file shows a private key."""
    return b"PRIVATE KEY-----" in data


def is_git_config(path: str) -> bool:
    """Whether a path is a configuration file inside ``.git``."""
    return GIT_CONFIG.search(path) is not None


def without_credentials(data: bytes) -> bytes:
    """A git configuration without credential sections, secret keys, and users in addresses."""
    kept = []
    dropping = section_dropped = False
    for line in data.decode("utf-8", "surrogateescape").splitlines(keepends=True):
        continued, dropping = dropping, False
        section = SECTION.match(line)
        if section and not continued:
            section_dropped = section.group(1).lower().split(".")[0] == "credential"
        key = KEY.match(line[line.find("]") + 1 :] if section else line)
        secret = key is not None and key.group(1).lower() in SECRET_KEYS
        if continued or section_dropped or secret:
            dropping = line.rstrip("\r\n").endswith("\\")
            continue
        kept.append(USERINFO.sub(r"\1", line))
    return "".join(kept).encode("utf-8", "surrogateescape")
