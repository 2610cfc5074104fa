"""On which side of a cut-off a date lies."""

from __future__ import annotations

from datetime import date

import pytest

from judge.report.cutoff import side_of

CUTOFF = date(2024, 7, 16)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("2024-7-3", "before"),
        ("2024-07-15", "before"),
        ("2024-7-16", "after"),
        ("2024-10-1", "after"),
        ("2024-9-9", "after"),  # by the calendar, not by the alphabet
        ("2024-6", "before"),
        ("2024-8", "after"),
        ("2023", "before"),
        ("2025", "after"),
    ],
)
def test_a_date_as_data_sets_write_it_lies_before_or_after(text: str, side: str) -> None:
    assert side_of(text, CUTOFF) == side


@pytest.mark.parametrize("text", ["2024-7", "2024", "", "soon", "2024-13-1", "2024-2-30", "16/7/2024"])
def test_what_does_not_lie_wholly_on_one_side_is_on_none(text: str) -> None:
    assert side_of(text, CUTOFF) == "undated"


def test_a_month_that_ends_the_day_before_is_before() -> None:
    assert side_of("2024-6", date(2024, 7, 1)) == "before"
    assert side_of("2024-12", date(2025, 1, 1)) == "before"
    assert side_of("2024-7", date(2024, 7, 1)) == "after"
