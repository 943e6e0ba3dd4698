"""Value types: one table of what each accepts and refuses."""

from __future__ import annotations

import pytest

from tests.policies.writing import code, judge, lines

TABLE = [
    (
        "INT(1..10)",
        ["1", "10"],
        {
            "0": "value-range",
            "11": "value-range",
            "+1": "value-type",
            "01": "value-type",
            "1.0": "value-type",
            "": "empty-word",
            "-1": "dash-operand",
            "1 ": "value-type",
            "１": "value-type",
            "9" * 30: "value-type",
        },
    ),
    ("INT(-5..5)", ["-5", "5", "0"], {"-6": "value-range", "--1": "value-type"}),
    (
        "FLOAT(0.5..2)",
        ["0.5", "1", "2.0"],
        {"0.4": "value-range", "1e0": "value-type", ".5": "value-type", "nan": "value-type"},
    ),
    ("DURATION", ["5", "1.5m", "10ms", "2h", "1d"], {"5x": "value-type", "m": "value-type"}),
    ("SIZE", ["5", "10K", "1.5G", "4MiB", "7B"], {"5X": "value-type", "K": "value-type"}),
    (
        "MODE",
        ["644", "0755", "u+x", "+x", "a=rw,g-w"],
        {"4755": "value-type", "u+s": "value-type", "+t": "value-type", "u+": "value-type"},
    ),
    ("ENUM(a,'b c',-d)", ["a", "b c", "-d"], {"e": "value-range", "A": "value-range"}),
    (
        "RE(/[a-c]{2,3}x?/)",
        ["ab", "abcx"],
        {"a": "value-type", "abcd": "value-type", "": "empty-word", "AB": "value-type"},
    ),
    (
        "PATH:named",
        ["a", ".git/config", "x/.github", "."],
        {
            ".git": "path-protected",
            "x/.git/": "path-protected",
            "x/.git/.": "path-protected",
            "x/a/../.vscode": "path-protected",
            "../x": "path-escape",
        },
    ),
    ("RE(/-x/):dash", ["-x"], {"-y": "value-type"}),
    (
        "TEXT(2..4)",
        ["ab", "a\nb", "a\tb"],
        {
            "a": "value-range",
            "abcde": "value-range",
            "a\x1bb": "control-char",
            "a\u202eb": "control-char",
            "\u2014x": "lookalike",
            "-ab": "dash-operand",
        },
    ),
    ("LINE", ["a b"], {"a\nb": "control-char", "a\tb": "control-char", "a\u2028b": "control-char"}),
    (
        "WORD",
        ["a", "a-b.c:d@e%", "_x"],
        {"a b": "value-type", ".a": "value-type", "é": "value-type", "a/b": "value-type"},
    ),
    ("NAME", ["a_b-c"], {"1a": "value-type", "a.b": "value-type"}),
    (
        "REV",
        ["HEAD", "main~2", "a..b", "HEAD:src/x", "v1^{commit}", ":file", "@{u}", "a/b"],
        {
            "-x": "dash-operand",
            "a//b": "value-type",
            "x.lock": "value-type",
            "a b": "value-type",
            "a/../../x": "path-escape",
            "../x": "value-type",
        },
    ),
    (
        "REF",
        ["main", "feat/x", "v1.0"],
        {
            "+main": "value-type",
            "a:b": "value-type",
            "a..b": "value-type",
            "x.lock": "value-type",
            ".a": "value-type",
            "a/": "value-type",
            "@": "value-type",
            "a@{1}": "value-type",
        },
    ),
    (
        "REMOTE",
        ["origin", "up-stream"],
        {
            "https://x": "value-type",
            "ext::sh": "value-type",
            "../x": "value-type",
            "a:b": "value-type",
        },
    ),
    (
        "HOST(a.org,*.b.org)",
        ["a.org", "A.org", "x.b.org"],
        {
            "b.org": "value-range",
            "a.org.evil": "value-range",
            "x_y": "value-type",
            "a.org:80": "value-type",
        },
    ),
    (
        "HOST",
        ["a.org", "127.0.0.1", "[::1]"],
        {"-a": "dash-operand", "999.1.1.1": "value-type", "a..b": "value-type"},
    ),
    (
        "URL(a.org)",
        ["https://a.org", "http://a.org:8080/x?y#z", "HTTPS://A.ORG/"],
        {
            "ftp://a.org": "value-type",
            "https://u@a.org/": "value-type",
            "https://a.org\\@b": "value-type",
            "https://b.org": "value-range",
            "//a.org": "value-type",
            "https://a.org:99999/": "value-type",
            "https://a.org /": "value-type",
            "https://a.org%2f.b": "value-type",
        },
    ),
    (
        "PKG(pypi)",
        ["requests", "a-b[x,y]==1.0", "a>=1,<2"],
        {
            "https://x/a": "value-type",
            "./a": "value-type",
            "a @ b": "value-type",
            "git+x": "value-type",
        },
    ),
    (
        "PKG(npm)",
        ["react", "@a/b@^1.2.0", "x@latest"],
        {"../x": "value-type", "a@npm:b": "value-type", "github:a/b": "value-type"},
    ),
    (
        "NAME=INT(0..9)",
        ["A=1", "A="],
        {
            "A": "value-type",
            "A=x": "value-type",
            "LD_PRELOAD=1": "env-denied",
            "PATH=1": "env-denied",
            "http_proxy=1": "env-denied",
            "MYPATH=1": "env-denied",
            "1A=1": "value-type",
        },
    ),
    (
        "SED",
        [
            "s/a/b/g",
            "1,5p",
            "/x/d",
            "5a\\text",
            "$!N;P;D",
            "s|a|b|;s/c/d/2",
            "/a/,/b/{s/x/y/;p}",
            "y/ab/cd/",
            "s/[/]/x/",
            "10q",
            "1~2p",
            "/x/I,+2d",
            "a hi",
        ],
        {
            "s/a/b/e": "value-type",
            "w x": "value-type",
            "r x": "value-type",
            "s/a/b/w x": "value-type",
            "1e": "value-type",
            "e id": "value-type",
            "R x": "value-type",
            "F": "value-type",
            "s/a/b": "value-type",
            "{p": "value-type",
            "p}": "value-type",
            "s/[\\]/x/": "value-type",
            "v": "value-type",
            "W x": "value-type",
            "p;w x": "value-type",
            "a x\nw y": "value-type",
        },
    ),
    ("PATH:odd", ["a:b", "a=b", "@x"], {"../x": "path-escape"}),
    ("FILE", ["a/b"], {"/etc/x": "path-escape"}),
    ("ANY", ["", "-x", "a\nb", "../x"], {}),
]


@pytest.mark.parametrize(("text", "good", "bad"), TABLE, ids=[row[0] for row in TABLE])
def test_a_type_accepts_exactly_what_it_says(text, good, bad, tmp_path):
    found = lines(tmp_path, f"prog {text}", style="words")
    assert {word: code(judge(found, "prog", word)) for word in good} == dict.fromkeys(good, "allow")
    assert {word: judge(found, "prog", word).reason for word in bad} == bad


def test_a_named_root_is_another_ground_than_the_workspace(tmp_path):
    found = lines(tmp_path, "cat PATH@data", top='[roots]\ndata = "/data"')
    got = [
        code(judge(found, "cat", word)) for word in ("/data/x", "/data/../etc", "x", "/workspace/x")
    ]
    assert got == ["allow", "path-escape@1", "path-escape@1", "path-escape@1"]
    assert judge(found, "cat", "/data/x").checks[0].root == "data"


@pytest.mark.parametrize(
    "pattern",
    [
        "^a",
        "a$",
        "(?=a)",
        "(?P<x>a)",
        r"\1",
        "a*?",
        "a++",
        "a{2",
        "a{1001}",
        "[b-a]",
        "(a",
        "a)",
        "*a",
        r"\q",
        "(a{900}){900}",
    ],
)
def test_what_is_not_regular_is_refused(pattern, tmp_path):
    import policies

    with pytest.raises(policies.PolicyFileError):
        lines(tmp_path, f"prog RE(/{pattern}/)")
