"""The bwrap command line as a pure function."""

from __future__ import annotations

import pytest

from runners.bubblewrap.argv import OLDEST, Plumbing, Version, bubblewrap_argv
from runners.layout import Bind, Folder, Layout, Link, Text, Tmpfs

LAYOUT = Layout(
    system=(
        Bind("/tree/usr", "/usr"),
        Link("usr/bin", "/bin"),
        Folder("/etc"),
        Bind("/etc/ssl", "/etc/ssl", optional=True),
        Text("/etc/passwd", b"box"),
    ),
    writable=(
        Tmpfs("/dev/shm", 64, 0o1777),
        Tmpfs("/workspace", 384),
        Bind("/home/me/project", "/in-place", writable=True),
    ),
    python="/usr/bin/python3",
    roots={"workspace": "/workspace"},
)
NEW, OLD = Version(0, 11), Version(0, 7)


def build(version: Version = NEW, **plumbing: int) -> list[str]:
    texts: list[bytes] = []

    def text(data: bytes) -> int:
        texts.append(data)
        return 40 + len(texts)

    pipes = Plumbing(text, **plumbing)
    argv = bubblewrap_argv("/usr/bin/bwrap", LAYOUT, ["/bin/true", "-x"], pipes, version=version)
    assert texts == [b"box"]
    return argv


def test_the_whole_command_line() -> None:
    assert build() == [
        *("/usr/bin/bwrap", "--unshare-user", "--unshare-all", "--disable-userns", "--as-pid-1"),
        *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "box"),
        *("--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"),
        *("--ro-bind", "/tree/usr", "/usr"),
        *("--symlink", "usr/bin", "/bin"),
        *("--dir", "/etc"),
        *("--ro-bind-try", "/etc/ssl", "/etc/ssl"),
        *("--perms", "0444", "--ro-bind-data", "41", "/etc/passwd"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(64 << 20), "--tmpfs", "/dev/shm"),
        *("--perms", "0700", "--size", str(384 << 20), "--tmpfs", "/workspace"),
        *("--bind", "/home/me/project", "/in-place"),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/"),
        *("--", "/bin/true", "-x"),
    ]


def test_the_user_namespace_is_demanded_not_tried() -> None:
    argv = build()
    assert {"--unshare-user", "--unshare-all"} <= set(argv)


def test_every_tmpfs_has_a_size() -> None:
    argv = build()
    places = [index for index, word in enumerate(argv) if word == "--tmpfs"]
    assert places
    assert all(argv[index - 2] == "--size" for index in places)


def test_the_root_is_closed_after_the_last_mount() -> None:
    argv = build()
    mounts = {"--ro-bind", "--bind", "--tmpfs", "--dev", "--proc", "--dir", "--symlink"}
    last = max(index for index, word in enumerate(argv) if word in mounts)
    closed = [index for index, word in enumerate(argv) if word == "--remount-ro"]
    assert min(closed) > last


def test_an_old_release_is_not_given_what_it_does_not_know() -> None:
    assert "--disable-userns" not in build(OLD)


def test_descriptors_are_named_when_there_is_a_control_group() -> None:
    argv = build(info=7, block=8)
    end = argv.index("--")
    assert argv[end - 4 : end] == ["--info-fd", "7", "--block-fd", "8"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("bubblewrap 0.8.0\n", Version(0, 8)),
        ("bubblewrap 0.11.0", Version(0, 11)),
        ("bubblewrap 1.2", Version(1, 2)),
        ("", None),
        ("something else", None),
    ],
)
def test_a_release_is_read_from_what_bwrap_says(text: str, version: Version | None) -> None:
    assert Version.parse(text) == version


def test_releases_are_ordered_by_number() -> None:
    assert Version(0, 6) < OLDEST < Version(0, 11) < Version(1, 0)
