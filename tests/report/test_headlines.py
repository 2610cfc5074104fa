"""Which metric says how good the answers are, and on which cases the means at the top of a report are."""

from __future__ import annotations

from typing import Any

import pytest

from judge.benchmark import Unit
from judge.outcome import Outcome, Scored, Unscored
from judge.report.casedata import Column
from judge.report.headlines import deciding, headlines, leading
from judge.runs.store import StoredUnit

EXACT, EFFICIENCY = Column("", "exact", "Exact answer"), Column("j", "efficiency", "Efficiency")
BY_J, BY_K = Column("j", "accuracy", "Accuracy"), Column("k", "accuracy", "Accuracy")

NONE = Unscored("steps_only")


def scores(**values: list[Outcome]) -> dict[str, dict[str, dict[str, Outcome]]]:
    """Of ``exact`` and ``JUDGE_METRIC`` -> outcome of each unit."""
    found: dict[str, dict[str, dict[str, Outcome]]] = {"": {}, "j": {}, "k": {}}
    for name, outcomes in values.items():
        judge, _, metric = name.rpartition("_")
        for place, outcome in enumerate(outcomes):
            found[judge].setdefault(str(place), {})[metric] = outcome
    return found


def test_judged_accuracy_decides_where_any_unit_has_it() -> None:
    of = scores(exact=[Scored(1), Scored(0)], j_accuracy=[Scored(1), NONE], k_accuracy=[NONE, NONE])
    assert deciding([EXACT, BY_J, BY_K], of) == [BY_J]


def test_without_it_the_benchmark_s_headline_decides() -> None:
    of = scores(exact=[Scored(1), NONE], j_efficiency=[Scored(0.5), NONE])
    assert deciding([EXACT, EFFICIENCY], of) == [EXACT]


@pytest.mark.parametrize("exact", [[NONE, NONE], [Scored(0.5), Scored(0)]], ids=["no value", "a share"])
def test_nothing_decides_where_the_headline_has_no_value_or_is_no_question_of_right_or_wrong(
    exact: list[Outcome],
) -> None:
    of = scores(exact=exact, j_efficiency=[Scored(0.0), Scored(0.5)])
    assert deciding([EXACT, EFFICIENCY], of) == []


def test_the_first_score_that_there_is_stands_beside_units_where_nothing_decides() -> None:
    of = scores(exact=[NONE, NONE], j_efficiency=[Scored(0.0), Scored(0.5)])
    assert leading([EXACT, EFFICIENCY], [], of) == [EFFICIENCY]
    assert leading([EXACT, EFFICIENCY], [EXACT], of) == [EXACT]


# -- on which cases --------------------------------------------------------------------------------------------------


def setting(**scored: int) -> dict[str, Any]:
    """A setting with accuracy by each of the judges: judge -> cases scored."""
    blocks = [{"tables": {"summaries": [], "metrics": []}}]
    for judge, n in scored.items():
        row = {"metric": "accuracy", "judge": judge, "n_scored": n, "n_cases": n}
        blocks.append({"tables": {"summaries": [], "metrics": [row]}})
    return {"setting": "oracle", "blocks": blocks}


def shown(j: dict[str, float], k: dict[str, float], *people: str) -> list[dict[str, Any]]:
    """The tiles of two judges: case -> score."""
    units = [StoredUnit(Unit("b", "oracle", case, 1), "concluded", "", (), None) for case in "abc"]
    of: dict[str, dict[str, dict[str, Outcome]]] = {
        name: {
            unit.unit.key: {"accuracy": Scored(values[unit.unit.case]) if unit.unit.case in values else NONE}
            for unit in units
        }
        for name, values in (("j", j), ("k", k))
    }
    return headlines([setting(j=len(j), k=len(k))], [BY_J, BY_K], units, of, people)


def test_means_on_the_same_cases_need_no_word() -> None:
    tiles = shown({"a": 1, "b": 0}, {"a": 0, "b": 0})
    assert [(tile["n_cases"], tile["others"], tile["common"]) for tile in tiles] == [(2, "", None), (2, "", None)]


def test_means_on_other_cases_say_so_and_have_one_over_those_in_common() -> None:
    first, other = shown({"a": 1, "b": 0, "c": 0}, {"a": 1, "b": 1})
    assert (first["others"], first["common"]) == ("", {"n_cases": 2, "mean": 0.5})
    assert (other["others"], other["common"]) == ("oracle by j", {"n_cases": 2, "mean": 1.0})


def test_people_who_labelled_few_cases_do_not_narrow_what_judges_are_compared_on() -> None:
    first, person = shown({"a": 1, "b": 0, "c": 0}, {"a": 1}, "k")
    assert (first["others"], first["common"]) == ("", None)
    assert (person["others"], person["common"]) == ("oracle by j", None)


def test_as_many_cases_are_not_the_same_cases() -> None:
    tiles = shown({"a": 1, "b": 0}, {"c": 1, "b": 0})
    assert [tile["others"] for tile in tiles] == ["", "oracle by j"]
    assert tiles[0]["common"] == {"n_cases": 1, "mean": 0}


def test_without_a_case_in_common_there_is_no_mean_over_them() -> None:
    assert shown({"a": 1}, {"b": 1})[1]["common"] == {"n_cases": 0, "mean": None}


def test_a_mean_without_cases_is_on_no_other_ones() -> None:
    assert [tile["common"] for tile in shown({"a": 1}, {})] == [None, None]
