from pathspec import GitIgnoreSpec, PathSpec

FILES = {"x", "y.py", "A/x", "A/y.py", "A/B/x", "A/B/C/y.py"}


def matched(*lines: str, kind=GitIgnoreSpec) -> set[str]:
    return set(kind.from_lines(lines).match_files(FILES))


def test_a_double_star_matches_every_file():
    assert matched("**") == FILES


def test_a_later_exclusion_wins_over_a_double_star():
    assert matched("**", "!*.py") == {"x", "A/x", "A/B/x"}


def test_a_double_star_with_a_slash_matches_what_is_in_folders():
    assert matched("**/") == {"A/x", "A/y.py", "A/B/x", "A/B/C/y.py"}


def test_a_single_star_still_matches_every_file():
    assert matched("*") == FILES


def test_an_inner_double_star_still_matches_at_any_depth():
    assert matched("A/**/y.py") == {"A/y.py", "A/B/C/y.py"}


def test_the_plain_kind_of_spec_agrees():
    assert set(PathSpec.from_lines("gitwildmatch", ["**"]).match_files(FILES)) == FILES
