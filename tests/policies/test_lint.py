"""Lint: for every code one file that has the finding, and a clean twin."""

from __future__ import annotations

import pytest

from policies import compile_layers, lint_policy, profile_names, sarif
from tests.policies.writing import write

EXAMPLES = 'match = []\nnot_match = ["nothing"]\n'


def rule(body: str, *, top: str = "", examples: bool = True) -> str:
    return f'{top}\n[[rule]]\nname = "r"\n{body}\n' + (EXAMPLES if examples else "")


def allow(*lines: str, top: str = "", more: str = "") -> str:
    texts = ", ".join(f"'''{line}'''" for line in lines)
    return rule(f"allow = [{texts}]\n{more}", top=top)


BOXED = 'runs_code = true\nisolation = "namespace"'

PAIRS = {
    "L101": (allow("ls [-l]", "ls [-{la}]"), allow("ls [-r]", "ls [-{la}]")),
    "L102": (
        rule(f'allow = ["git push origin"]\ndeny = ["git push"]\n{BOXED}'),
        rule(f'allow = ["git pull origin"]\ndeny = ["git push"]\n{BOXED}'),
    ),
    "L103": (
        rule('ask = ["wc [PATH]"]\nallow = ["wc"]'),
        rule('ask = ["wc PATH"]\nallow = ["wc"]'),
    ),
    "L104": (rule('allow = ["ls"]\ndeny = ["rm"]'), rule('allow = ["ls"]\ndeny = ["ls (-R)"]')),
    "L105": (
        rule('allow = ["ls"]\ndeny = ["ls [-R]"]'),
        rule('allow = ["ls"]\ndeny = ["ls (-R)"]'),
    ),
    "L106": (allow("head [-n|--lines INT]"), allow("head [-n INT|--lines INT]")),
    "L107": (allow("ls -l [-a]"), allow("ls (-l) [-a]")),
    "L109": (allow("ls [PATH...]"), allow("ls [--] [PATH...]")),
    "L110": (allow("ls", top='[types]\nX = "INT"'), allow("ls [-w X]", top='[types]\nX = "INT"')),
    "L201": (allow("python FILE"), allow("python FILE", more=BOXED)),
    "L202": (allow("node -e TEXT"), allow("node -e TEXT", more=BOXED)),
    "L203": (allow("env [ANY...]"), allow("env CMD")),
    "L204": (allow("rg [--pre TEXT] TEXT"), allow("rg [--hidden] TEXT")),
    "L205": (allow("git [-c TEXT] log", more=BOXED), allow("git [-C DIR] log", more=BOXED)),
    "L206": (
        allow("curl [-K FILE] URL", more='network = ["x.org"]'),
        allow("curl [-s] URL", more='network = ["x.org"]'),
    ),
    "L207": (allow("sort [-o FILE]"), allow("sort [-o PATH:rw]")),
    "L208": (allow("cat TEXT..."), allow("cat PATH...")),
    "L209": (allow("grep [-e TEXT] TEXT [--] [PATH...]"), allow("grep (-e TEXT) [--] [PATH...]")),
    "L210": (allow("rsync LINE PATH:rw"), allow("rsync PATH PATH:rw")),
    "L211": (
        allow("cat OUT", top='[types]\nOUT = "RE(/[a-z.\\\\/]+/)"'),
        allow("cat OUT", top='[types]\nOUT = "PATH & RE(/[a-z.\\\\/]+/)"'),
    ),
    "L212": (allow("ls ANY..."), allow("ls ANY...", more=BOXED)),
    "L213": (allow("awk TEXT"), allow("sed SED")),
    "L214": (allow("curl URL"), allow("curl URL", more='network = ["x.org"]')),
    "L215": (allow("tar [-{x,f FILE}]"), allow("tar [-{x,f FILE}] (-C DIR:rw)")),
    "L216": (allow("chmod WORD PATH:rw"), allow("chmod MODE PATH:rw")),
    "L301": (allow("make", more="runs_code = true"), allow("make", more=BOXED)),
    "L302": (allow("env [-i] [NAME=TEXT...]"), allow("env [-i] CMD")),
    "L304": (
        allow("ls", top='[protect]\nremove = [".git"]'),
        allow("ls", top='[protect]\nadd = ["x"]'),
    ),
    "L401": (rule('allow = ["ls"]', examples=False), allow("ls")),
    "L402": (rule('allow = ["ls"]\nmatch = ["ls"]', examples=False), allow("ls")),
}


PLACES = {
    "L101": "'''ls [-l]",
    "L102": '"git push origin"',
    "L103": '"wc"]',
    "L104": '"rm"]',
    "L105": "[-R]",
    "L106": "-n|--lines",
    "L107": "-l [-a]",
    "L109": "'''ls [PATH...]",
    "L110": "X = ",
    "L201": "python FILE",
    "L202": "-e TEXT",
    "L203": "env [ANY...]",
    "L204": "--pre TEXT",
    "L205": "-c TEXT",
    "L206": "-K FILE",
    "L207": "-o FILE",
    "L208": "TEXT...",
    "L209": "grep [-e",
    "L210": "LINE PATH:rw",
    "L211": "OUT",
    "L212": "ANY...",
    "L213": "TEXT",
    "L214": "'''curl URL",
    "L215": "'''tar",
    "L216": "WORD PATH:rw",
    "L301": "[[rule]]",
    "L302": "'''env [-i]",
    "L304": '".git"]',
    "L401": "[[rule]]",
    "L402": "[[rule]]",
}


def codes(folder, text: str, **more) -> set[str]:
    return {
        finding.code
        for finding in lint_policy(compile_layers(write(folder, text), trust=False), **more)
    }


@pytest.mark.parametrize("code", PAIRS)
def test_a_bad_file_has_the_finding_and_its_clean_twin_has_not(code, tmp_path):
    bad, clean = PAIRS[code]
    assert code in codes(tmp_path, bad)
    assert code not in codes(tmp_path, clean)


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ("", {"L401"}),
        ('match = ["ls"]', {"L402"}),
        ('not_match = ["ls -R"]', set()),
        ('match = ["ls"]\nnot_match = ["ls -R"]', set()),
    ],
)
def test_a_rule_lacks_all_examples_or_those_of_what_stays_denied(examples, expected, tmp_path):
    found = codes(tmp_path, rule(f'allow = ["ls"]\n{examples}', examples=False))
    assert found & {"L401", "L402"} == expected


@pytest.mark.parametrize("code", PAIRS)
def test_a_finding_stands_where_its_cause_is_written(code, tmp_path):
    path = write(tmp_path, PAIRS[code][0])
    found = [one for one in lint_policy(compile_layers(path, trust=False)) if one.code == code]
    text = path.read_text().splitlines()[found[0].line - 1]
    assert text[found[0].column - 1 :].startswith(PLACES[code])


def test_a_strict_look_reports_programs_that_are_not_pinned(tmp_path):
    pinned = '[program.ls]\nsha256 = "00"'
    assert "L303" in codes(tmp_path, allow("ls"), strict=True)
    assert "L303" not in codes(tmp_path, allow("ls", top=pinned), strict=True)
    assert "L303" not in codes(tmp_path, allow("ls"))


def test_two_forms_that_take_one_word_do_not_load(tmp_path):
    from policies import PolicyFileError

    with pytest.raises(PolicyFileError, match="ambiguous-option: two forms could take -in"):
        compile_layers(write(tmp_path, allow("x [-i[TEXT], -in]")))


def test_a_finding_stands_at_its_column(tmp_path):
    (finding,) = lint_policy(
        compile_layers(write(tmp_path, allow("sort [-r, -o FILE]")), trust=False)
    )
    assert (finding.code, finding.line, finding.column) == ("L207", 6, 23)


def test_a_waived_finding_carries_its_reason_and_is_suppressed_in_sarif(tmp_path):
    text = allow("sort [-o FILE]", more='waive = { L207 = "only here" }')
    findings = lint_policy(compile_layers(write(tmp_path, text), trust=False))
    assert [(f.code, f.waived) for f in findings] == [("L207", "only here")]
    (run,) = sarif(findings, "1.0")["runs"]
    assert run["results"][0]["suppressions"] == [{"kind": "inSource", "justification": "only here"}]


@pytest.mark.parametrize("name", profile_names())
def test_every_finding_of_a_profile_is_waived_with_a_reason(name):
    assert [str(f) for f in lint_policy(compile_layers(name, trust=False)) if not f.waived] == []
