"""Laws of the language, on generated lines and commands."""

from __future__ import annotations

import string

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import Command, Conditions, Decision, LineError, Plan, Policy, parse_line
from policies.matching.line import CompiledLine
from policies.matching.loose import LooseLine
from policies.rule import Ban, Entry, Rule
from policies.synopsis import parse_synopsis
from policies.synopsis.printer import print_synopsis
from policies.values.catalogue import Catalogue

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])

LETTERS = "abcdefghij"
TYPES = {
    "INT(1..9)": st.integers(1, 9).map(str),
    "WORD": st.sampled_from(["w", "x1", "main"]),
    "PATH": st.sampled_from(["a", "src/b.py", "./c", "d/../e"]),
    "ENUM(red,green)": st.sampled_from(["red", "green"]),
    "TEXT": st.sampled_from(["some text", "a|b", "x=1"]),
    "RE(/z+/)": st.sampled_from(["z", "zzz"]),
}


class Sample:
    """A line with a way to draw commands of it."""

    def __init__(self, text: str, options: list[st.SearchStrategy], operands: st.SearchStrategy):
        self.text = text
        self.options = options
        self.operands = operands


@st.composite
def option(draw, letter):
    """An option group's text, and a strategy for its words (a list of word lists)."""
    kind = draw(
        st.sampled_from(
            ["flag", "long", "spaced", "equals", "either", "attached", "repeat", "required"]
        )
    )
    name = draw(st.sampled_from(sorted(TYPES)))
    value = TYPES[name]
    short, long = f"-{letter}", f"--{letter}long"
    if kind == "flag":
        return f"[{short}]", st.sampled_from([[], [short]])
    if kind == "long":
        return f"[{long}]", st.sampled_from([[], [long]])
    if kind == "spaced":
        return f"[{short} {name}]", st.one_of(st.just([]), value.map(lambda v: [short, v]))
    if kind == "equals":
        return f"[{long}={name}]", st.one_of(st.just([]), value.map(lambda v: [f"{long}={v}"]))
    if kind == "either":
        forms = st.one_of(value.map(lambda v: [f"{long}={v}"]), value.map(lambda v: [long, v]))
        return f"[{long}[=]{name}]", st.one_of(st.just([]), forms)
    if kind == "attached":
        return f"[{short}<{name}>]", st.one_of(st.just([]), value.map(lambda v: [f"{short}{v}"]))
    if kind == "repeat":
        return f"[{short} {name}]...", st.lists(value, max_size=3).map(
            lambda vs: [word for v in vs for word in (short, v)]
        )
    return f"({short}|{long})", st.sampled_from([[short], [long]])


@st.composite
def operand(draw):
    kind = draw(st.sampled_from(["one", "maybe", "many", "word"]))
    name = draw(st.sampled_from(sorted(TYPES)))
    value = TYPES[name]
    if kind == "one":
        return name, value.map(lambda v: [v])
    if kind == "maybe":
        return f"[{name}]", st.one_of(st.just([]), value.map(lambda v: [v]))
    if kind == "many":
        return f"[{name}...]", st.lists(value, max_size=4)
    return f"({name} | lit)", st.one_of(value.map(lambda v: [v]), st.just(["lit"]))


@st.composite
def samples(draw, program="prog"):
    """A line, and a strategy of commands that it must accept."""
    letters = draw(st.lists(st.sampled_from(LETTERS), unique=True, max_size=4))
    options = [draw(option(letter)) for letter in letters]
    pinned = draw(st.sampled_from([[], ["sub"], ["sub", "deep"]]))
    operands = draw(st.lists(operand(), max_size=3))
    text = " ".join([program, *pinned, *(o[0] for o in options), *(o[0] for o in operands)])

    @st.composite
    def commands(draw_word):
        chunks = [draw_word(o[1]) for o in options]
        chunks = draw_word(st.permutations([c for c in chunks if c]))
        rest = [word for o in operands for word in draw_word(o[1])]
        cut = draw_word(st.integers(0, len(chunks)))
        before = [w for chunk in chunks[:cut] for w in chunk]
        behind = [w for chunk in chunks[cut:] for w in chunk]
        return (program, *pinned, *before, *rest, *behind)

    return text, commands()


def policy_of(*texts: str, ask: tuple[str, ...] = (), deny: tuple[str, ...] = ()) -> Policy:
    catalogue = Catalogue()
    entries = []
    for decision, group in ((Decision.ALLOW, texts), (Decision.ASK, ask)):
        for text in group:
            rule = Rule(text, conditions=Conditions())
            line = CompiledLine(parse_synopsis(text, catalogue), catalogue)
            entries.append(Entry(rule, decision, line, len(entries)))
    bans = [Ban(Rule(t), LooseLine(parse_synopsis(t, catalogue), catalogue)) for t in deny]
    return Policy(name="law", entries=entries, bans=bans)


def answer(policy: Policy, argv: tuple[str, ...]) -> tuple[str, tuple]:
    verdict = policy.judge(Command(argv))
    return verdict.decision.label, verdict.checks


@QUICK
@given(samples().flatmap(lambda s: st.tuples(st.just(s[0]), s[1])))
def test_a_command_made_from_a_line_is_allowed_by_it(made):
    text, argv = made
    verdict = policy_of(text).judge(Command(argv))
    assert verdict.decision is Decision.ALLOW, (text, argv, verdict.message)


@QUICK
@given(samples().flatmap(lambda s: st.tuples(st.just(s[0]), s[1])), st.data())
def test_an_inserted_unknown_option_is_denied(made, data):
    text, argv = made
    at = data.draw(st.integers(1, len(argv)))
    alien = data.draw(st.sampled_from(["-Z", "--zlong", "--zlong=1", "-Zx", "--along-not", "-9"]))
    changed = (*argv[:at], alien, *argv[at:])
    verdict = policy_of(text).judge(Command(changed))
    assert verdict.decision is Decision.DENY, (text, changed)


@QUICK
@given(samples(), samples(), st.data())
def test_adding_a_line_changes_only_what_that_line_matches(one, two, data):
    argv = data.draw(st.one_of(one[1], two[1], words()))
    alone, both, added = policy_of(one[0]), policy_of(one[0], two[0]), policy_of(two[0])
    if added.judge(Command(argv)).decision is Decision.DENY:
        assert answer(both, argv) == answer(alone, argv)
    else:
        assert answer(both, argv)[0] == "allow"


@QUICK
@given(st.lists(samples(), min_size=2, max_size=4), st.data())
def test_the_order_of_lines_does_not_matter(made, data):
    argv = data.draw(st.one_of(*[commands for _, commands in made]))
    texts = [text for text, _ in made]
    ask = tuple(texts[:1])
    there = policy_of(*texts, ask=ask, deny=("prog sub (-a|--along)",))
    back = policy_of(*reversed(texts), ask=ask, deny=("prog sub (-a|--along)",))
    one, two = there.judge(Command(argv)), back.judge(Command(argv))
    assert (one.decision, set(one.checks)) == (two.decision, set(two.checks))


@QUICK
@given(samples())
def test_a_line_parsed_and_printed_is_the_same_line(made):
    catalogue = Catalogue()
    line = parse_synopsis(made[0], catalogue)
    assert parse_synopsis(print_synopsis(line), catalogue) == line


def words():
    alphabet = st.one_of(
        st.sampled_from(list(string.printable)),
        st.characters(),
        st.sampled_from("-=/.\0\ud800\u202e\u2013"),
    )
    word = st.one_of(
        st.text(alphabet, max_size=8), st.sampled_from(["prog", "sub", "-a", "--", "{}", ";", "+"])
    )
    return st.lists(word, max_size=8).map(lambda ws: ("prog", *ws))


def plan_or_error(text: str) -> Plan | LineError:
    try:
        return parse_line(text)
    except LineError as error:
        return error


WILD = (
    "prog [-{ab,c INT,d[TEXT]}] [--x[=]PATH] [-<INT>] [PATH...] [-- PATH...]",
    "prog sub [ANY...]",
    "prog (-e TEXT:dash)... [RE(/(a|ab)*c?/)...]",
    "prog run CMD",
    "prog each CMD+",
    "prog put CMD({})",
    "prog url URL",
    "prog sed SED",
    "prog set [NAME=TEXT...]",
    "prog git REV REF REMOTE",
    "prog num FLOAT DURATION SIZE MODE",
)
TOTAL = policy_of(*WILD, deny=("prog (-q|--quit) PATH", "prog x (-o PATH|--out=INT)"))


@settings(max_examples=200, deadline=None)
@given(words())
def test_judging_never_raises(argv):
    assert TOTAL.judge(Command(argv)).decision in Decision


@settings(max_examples=200, deadline=None)
@given(
    st.text(
        st.one_of(
            st.sampled_from(list(" \n\t'\"\\|&;<>()$`#~{}[]*?=!-abEOF01/.,")), st.characters()
        ),
        max_size=40,
    )
)
def test_reading_a_line_gives_a_plan_or_a_reason_with_a_column(text):
    read = plan_or_error(text)
    if isinstance(read, LineError):
        assert read.reason.startswith("plan:")
        assert 0 <= read.column <= len(text)
        assert read.message
    else:
        assert len(read.links) == len(read.steps) - 1
        TOTAL.judge_plan(read)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(
            st.characters(exclude_characters="\0\r", exclude_categories=["Cc", "Cs"]), max_size=8
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_quoted_command_line_is_the_words_it_quotes(argv):
    import shlex

    argv = ["prog", *argv]
    plan = parse_line(shlex.join(argv))
    assert [step.stages[0].argv for step in plan.steps] == [tuple(argv)]
