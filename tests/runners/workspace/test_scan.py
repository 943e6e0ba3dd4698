"""What travels into a box, what stays behind, and what is said about it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.errors import WorkspaceError
from runners.workspace import Tree, scan, write_archive
from runners.workspace.ignore import Ignore

from .folders import make

KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def files(tree: Tree) -> list[str]:
    return [path for path, item in tree.items.items() if item.kind != "dir"]


def reasons(tree: Tree) -> dict[str, str]:
    return {left.path: left.reason for left in tree.left_out}


def test_secrets_and_installed_packages_stay_behind_by_name(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "main.py": b"",
            ".env": b"",
            "sub/.env.local": b"",
            ".env.example": b"",
            ".env.sample": b"",
            "key.pem": KEY,
            "cert.pem": CERTIFICATE,
            "id_rsa": b"",
            "id_rsa.pub": b"",
            "deep/id_ed25519": b"",
            ".netrc": b"",
            ".npmrc": b"",
            ".pypirc": b"",
            ".venv/bin/python": b"",
            "web/node_modules/x/index.js": b"",
            ".stockade/runs/1": b"",
        },
    )
    tree = scan(tmp_path)
    assert files(tree) == [".env.example", ".env.sample", "cert.pem", "id_rsa.pub", "main.py"]
    assert reasons(tree) == {
        ".env": "an environment file, which may hold secrets",
        ".netrc": "account data, which may hold secrets",
        ".npmrc": "account data, which may hold secrets",
        ".pypirc": "account data, which may hold secrets",
        ".stockade": "what stockade itself keeps",
        ".venv": "installed packages, not source",
        "deep/id_ed25519": "a private key",
        "id_rsa": "a private key",
        "key.pem": "a private key",
        "sub/.env.local": "an environment file, which may hold secrets",
        "web/node_modules": "installed packages, not source",
    }


def test_include_brings_back_what_it_names(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".env": b"",
            "sub/.env": b"",
            "node_modules/a/x": b"",
            "node_modules/b/x": b"",
            "key.pem": KEY,
            ".stockade/x": b"",
        },
    )
    include = ["/.env", "node_modules/a/**", "*.pem", ".stockade"]
    tree = scan(tmp_path, include=include)
    assert files(tree) == [".env", "key.pem", "node_modules/a/x"]
    written = write_archive(tmp_path, tree, tmp_path / "in.tar")
    assert sorted(files(written)) == [".env", "key.pem", "node_modules/a/x"]


def test_the_ignore_file_leaves_out_more(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            ".stockadeignore": b"# data\n*.bin\n!keep.bin\n/build/\n",
            "a.bin": b"",
            "keep.bin": b"",
            "build/x": b"",
            "src/build/x": b"",
        },
    )
    tree = scan(tmp_path)
    assert files(tree) == [".stockadeignore", "keep.bin", "src/build/x"]


def test_an_ignore_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    make(tmp_path / "other", {"patterns": b"*\n"})
    make(tmp_path / "w", {"f": b"", ".stockadeignore": ("link", "../other/patterns")})
    assert files(scan(tmp_path / "w")) == ["f"]


def test_credentials_in_the_configuration_of_git_stay_behind(tmp_path: Path) -> None:
    config = (
        b'[core]\n\tbare = false\n[remote "origin"]\n'
        b"\turl = https://user:secret@example.invalid/r.git\n"
        b'[http "https://example.invalid/"]\n'
        b"\textraHeader = Authorization: secret\\\n  more secret\n"
        b"[credential]\n\thelper = store --file secret\n[user]\n\tname = Me\n"
    )
    make(tmp_path / "w", {".git/config": config, ".git/modules/m/config": config, "config": config})
    tree = scan(tmp_path / "w")
    written = write_archive(tmp_path / "w", tree, tmp_path / "in.tar")
    archive = (tmp_path / "in.tar").read_bytes()
    assert archive.count(b"secret") == config.count(b"secret")  # the plain file named config
    for path in (".git/config", ".git/modules/m/config"):
        item = written.items[path]
        assert archive[item.offset : item.offset + item.size] == (
            b'[core]\n\tbare = false\n[remote "origin"]\n'
            b"\turl = https://example.invalid/r.git\n"
            b'[http "https://example.invalid/"]\n[user]\n\tname = Me\n'
        )
    assert reasons(written) == {
        ".git/config": "its credentials; the rest of the file travels",
        ".git/modules/m/config": "its credentials; the rest of the file travels",
    }


def test_what_cannot_travel_is_named(tmp_path: Path) -> None:
    make(
        tmp_path,
        {
            "f": b"",
            "inside": ("link", "f"),
            "sub/up": ("link", "../f"),
            "absolute": ("link", "/etc/passwd"),
            "out": ("link", "../f"),
        },
    )
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    tree = scan(tmp_path, plain=True)
    assert files(tree) == ["f", "inside", "sub/up"]
    assert reasons(tree) == {
        "absolute": "a symbolic link that leads out",
        "fifo": "a fifo, not a file",
        "out": "a symbolic link that leads out",
        "socket": "a socket, not a file",
    }


def test_a_workspace_over_the_limit_names_its_largest_parts(tmp_path: Path) -> None:
    make(tmp_path, {"data/a": b"", "data/b": b"x" * 1000, "src/c": b"y" * 2000})
    os.truncate(tmp_path / "data" / "a", 3 << 20)
    with pytest.raises(WorkspaceError) as caught:
        scan(tmp_path, limit_mib=1)
    assert caught.value.exit_code == 2
    assert "holds 3.0 MiB, more than the limit of 1 MiB" in str(caught.value)
    assert "data/ (3.0 MiB), src/ (0.0 MiB)" in str(caught.value)
    assert ".stockadeignore" in str(caught.value)


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    make(tmp_path, {f"many/{count}": b"" for count in range(20)})
    with pytest.raises(WorkspaceError, match=r"most are in many/ \(21\)|many/ \(20\)"):
        scan(tmp_path, max_files=10)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_workspace_that_is_no_folder_is_an_operators_mistake(tmp_path: Path, name: str) -> None:
    make(tmp_path, {"file": b""})
    with pytest.raises(WorkspaceError, match=name):
        scan(tmp_path / name)


def test_a_file_that_shrinks_while_it_is_read_is_told(tmp_path: Path) -> None:
    make(tmp_path, {"w/f": b"x" * 1000})
    tree = scan(tmp_path / "w")
    os.truncate(tmp_path / "w" / "f", 10)
    written = write_archive(tmp_path / "w", tree, tmp_path / "in.tar")
    assert written.items["f"].size == 10


# A slash inside brackets is no separator to git; to us it is one. Nobody writes that.
parts = st.text(st.sampled_from("ab*?[]!\\/. #"), min_size=1, max_size=7).filter(
    lambda text: not ("[" in text and "/" in text)
)
name = st.text(st.sampled_from("ab.!# "), min_size=1, max_size=3).filter(
    lambda text: text not in (".", "..")
)


@settings(max_examples=25, deadline=None)
@given(
    lines=st.lists(parts, max_size=3),
    paths=st.lists(st.lists(name, min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_ignore_patterns_mean_what_they_mean_to_git(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], paths: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("ignore")
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".git" / "info" / "exclude").write_text("\n".join(lines) + "\n")
    named = ["/".join(path) for path in paths]
    asked = b"".join(os.fsencode(path) + b"\0" for path in named)
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder,
        input=asked,
        capture_output=True,
        check=False,
    )
    ignored = {os.fsdecode(path) for path in done.stdout.split(b"\0") if path}
    ignore = Ignore(lines)
    assert {path for path in named if is_ignored(ignore, path)} == ignored


def is_ignored(ignore: Ignore, path: str) -> bool:
    """Whether a path, or a folder above it, is ignored."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        if ignore.decides("/".join(parts[:count]), folder=count < len(parts)):
            return True
    return False
