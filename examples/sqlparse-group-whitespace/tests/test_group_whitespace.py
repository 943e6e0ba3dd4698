import pytest
import sqlparse


def clean(text: str) -> str:
    return sqlparse.format(text, strip_whitespace=True)


def test_no_space_is_left_after_a_clause_in_parentheses():
    assert clean("( where foo = bar  ) from") == "(where foo = bar) from"


def test_several_spaces_and_lines_go_too():
    assert clean("( where foo = bar \n\n  ) from") == "(where foo = bar) from"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select ( 1  )", "select (1)"),
        ("select a from b where ( a = 1  )", "select a from b where (a = 1)"),
        ("select * from (select a  from b  )  x", "select * from (select a from b) x"),
        ("insert into t values ( 1 , 'a'  )", "insert into t values (1, 'a')"),
        ("select f( )", "select f()"),
    ],
    ids=["number", "comparison", "subquery", "values", "call"],
)
def test_other_parentheses_are_formatted_as_before(text, expected):
    assert clean(text) == expected
