"""Scripts of sed against the real one: what SED allows asks it for no program and no other file."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policies
from policies import Command, Decision

SED = shutil.which("sed") or ""


def version() -> str:
    if not SED:
        return ""
    return subprocess.run([SED, "--version"], check=True, capture_output=True, text=True).stdout


FORBIDDEN = "commands disabled in sandbox mode"

pytestmark = pytest.mark.skipif("GNU" not in version(), reason="needs GNU sed")

SIGNS = r"""
s y a i c p d q = { } # #n ! $ , / | e w r W R F id n N g I M 1 0~2 [ ] [^ [^^ ]] [] :] [[: [. [= \
\\ [[:alpha:]] \n \/ \, \| ; & x foo s/a/b/ s,a,b, y/ab/cd/ /x/ \,x, $!{ a\ i\ c\ #,
"""
PIECES = tuple(SIGNS.split())
ATOMS = [
    *PIECES,
    " ",
    "\n",
    "\\\n",
    "\ne id\n",
    "\nw leak\n",
    "e id",
    "1e id",
    "w leak",
    "r a",
    "\t",
]
WHOLE = [
    *("p", "d", "1q", "s/a/b/", "s,a,b,g", "y/ab/ba/", "/x/d", "$!{p;d}", "# note", "5a text"),
    *(
        "a\\\ntext",
        "i\\  text",
        "s/[^/]*//",
        "s/a/x\\\ny/",
        "{;p}",
        "s/a/b/;a t",
        "\\,x,p",
        "1!G;h;$!d",
    ),
    *("s,[^]^],x,", "s/[[:alpha:]]/x/", "a a\\\nb", "c\\\n\\\nb", "i\\\\tx", "s#a#b#", "/[/]/p"),
]


def sandboxed(options: list[str], pieces: list[str]) -> str:
    """What sed says against the joined script when it may neither run programs nor open files."""
    scripts = [word for piece in pieces for word in ("-e", piece)]
    argv = [SED, "--sandbox", "-n", *options, *scripts]
    done = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    return done.stderr.decode("utf-8", "replace")


def allowed(pieces: list[str]) -> bool:
    words = tuple(word for piece in pieces for word in ("-e", piece))
    return POLICY.judge(Command(("sed", *words, "a"))).decision is Decision.ALLOW


POLICY = policies.load("readonly")
noisy = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=9).map("".join)
mended = st.builds(
    lambda whole, atom, at: whole[:at] + atom + whole[at:],
    st.sampled_from(WHOLE),
    st.sampled_from(ATOMS),
    st.integers(0, 12),
)
piece = st.one_of(st.sampled_from(WHOLE), mended, noisy)
flags = st.sampled_from([[], ["-E"], ["-s"], ["-z"], ["--posix"]])


@settings(max_examples=300, deadline=None)
@given(st.lists(piece, min_size=1, max_size=3), flags)
def test_allowed_pieces_joined_ask_sed_for_nothing_that_a_sandbox_refuses(pieces, options):
    kept = [one for one in pieces if allowed([one])]
    if kept:
        assert allowed(kept)
        assert FORBIDDEN not in sandboxed(options, kept)


@pytest.mark.parametrize("script", WHOLE)
def test_scripts_of_the_subset_are_allowed_and_read_by_sed(script):
    assert allowed([script])
    assert sandboxed([], [script]) == ""


@pytest.mark.parametrize(
    ("twin", "pieces"),
    [
        (["a foo", "p"], ["a foo\\", "s,x,\ne touch mark\n#,"]),
        (["a foo", "p"], ["a\\", "y,x,\ne touch mark\n#,"]),
        (["i foo"], ["i\\  \ne touch mark"]),
        (["a foo\\\nb"], ["a foo\\\n", "e touch mark"]),
        (["s,[^^],x,"], ["s,[^^]*,touch mark #],e#,"]),
        (["a foo", "p"], ["a foo\\", "s,q,\nw mark\n#,"]),
    ],
)
def test_scripts_that_run_or_write_when_joined_are_denied_beside_their_twins(
    twin, pieces, tmp_path
):
    assert (allowed(twin), allowed(pieces)) == (True, False)
    (tmp_path / "a").write_text("one\n")
    scripts = [word for piece in pieces for word in ("-e", piece)]
    subprocess.run([SED, *scripts, "a"], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "mark").exists()
