from datetime import datetime

import pytest
from boltons.timeutils import isoparse


@pytest.mark.parametrize(
    ("digits", "microseconds"),
    [
        ("8", 800000),
        ("05", 50000),
        ("851", 851000),
        ("0851", 85100),
        ("000851", 851),
        ("999999", 999999),
        ("123456789", 123456),
        ("999999999", 999999),
    ],
)
def test_a_fraction_is_read_by_its_number_of_digits(digits, microseconds):
    assert isoparse(f"1970-01-01T00:00:00.{digits}") == datetime(
        1970, 1, 1, microsecond=microseconds
    )


def test_a_time_without_a_fraction_is_read_as_before():
    assert isoparse("2020-02-29T23:59:58") == datetime(2020, 2, 29, 23, 59, 58)


def test_a_date_is_read_as_before():
    assert isoparse("2020-02-29") == datetime(2020, 2, 29)
