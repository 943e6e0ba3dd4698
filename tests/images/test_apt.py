"""Sources come from the machine's own apt; what others added to it is left out."""

from __future__ import annotations

import stat

import pytest

from sandbox_images import NoTreeError, apt

ROWS = [
    "Packages\thttp://mirror.invalid/debian/\tbookworm\tmain\t$(SIGNED_BY)\tDebian",
    "Packages\thttp://mirror.invalid/debian/\tbookworm\tmain\t$(SIGNED_BY)\tDebian",
    "Packages\thttp://mirror.invalid/security/\tbookworm-security\tmain\t/k.gpg\tDebian",
    "Packages\thttp://vendor.invalid/apt/\tbookworm\tmain\t$(SIGNED_BY)\tVendor",
    "Packages\thttp://vendor.invalid/apt/\tvendor-bookworm\tmain\t$(SIGNED_BY)\t$(ORIGIN)",
    "Translations\thttp://mirror.invalid/debian/\tbookworm\tmain\t$(SIGNED_BY)\tDebian",
]


@pytest.fixture
def fake_apt(tmp_path, monkeypatch):
    """Programs apt-get and apt-config that print what a test wants."""

    def install(name: str, lines: list[str]) -> None:
        (tmp_path / f"{name}.out").write_text("".join(line + "\n" for line in lines))
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/{name}.out\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", str(tmp_path))
    return install


def test_sources_are_those_of_the_distribution_each_once(fake_apt):
    fake_apt("apt-get", ROWS)
    assert apt.source_lines("bookworm") == [
        "deb http://mirror.invalid/debian/ bookworm main",
        "deb [signed-by=/k.gpg] http://mirror.invalid/security/ bookworm-security main",
    ]


def test_a_machine_without_sources_is_told_so(fake_apt):
    fake_apt("apt-get", [])
    with pytest.raises(NoTreeError, match="apt knows no source for bookworm"):
        apt.source_lines("bookworm")


def test_proxies_and_retries_are_passed_on_and_nothing_else(fake_apt):
    lines = [
        'Acquire::http::Proxy "http://proxy.invalid:3128";',
        'Acquire::Retries "3";',
        'Acquire::Languages "none";',
        'DPkg::Post-Invoke:: "rm -f /x";',
    ]
    fake_apt("apt-config", lines)
    assert apt.apt_options() == [
        'Acquire::http::Proxy "http://proxy.invalid:3128"',
        'Acquire::Retries "3"',
    ]


def test_a_machine_without_apt_is_told_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoTreeError, match="start a Docker engine"):
        apt.codename()
