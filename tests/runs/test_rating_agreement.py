"""How far judges and people agree on one run: by hand, on published labels, and what must not be compared."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Command, Ran
from tests.data import real_data
from tests.explained import BE, SLP, grader, medexqa_run
from tests.server import ModelServer

CASES = [f"{name}-00{n}" for name in (BE, SLP) for n in range(6)]

#: Of five explanations, by two people and a third who rated two of them.
ANN = dict(zip(CASES, ("1", "1", "0.5", "0", "0.5"), strict=False))
BOB = dict(zip(CASES, ("1", "0.5", "0.5", "0", "1"), strict=False))
PERSON = ("1", "1", "0", "0.5", "1", "0", "1", "1", "1", "0", "1", "1")
EVE = {CASES[0]: "1", CASES[1]: "1"}


def labels(cli: Command, run: Path, name: str, given: dict[str, str], kind: str = "explanation") -> None:
    file = run.parent / f"{name}.csv"
    with file.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["case_id", "kind", "item", "label"])
        writer.writerows([case, kind, 0, label] for case, label in given.items())
    ran = cli("import-judgements", run, "--labels", file, "--judge-name", name)
    assert ran.code == 0, ran.err


def agreed(cli: Command, run: Path) -> dict[str, Any]:
    return dict(cli("show", run, "--json").json["agreement"])


def values(comparison: dict[str, Any]) -> dict[str, float | None]:
    return {name: estimate["value"] for name, estimate in comparison["estimates"].items()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return medexqa_run(tmp_path)


def test_two_people_s_ratings_by_hand(cli: Command, run: Path) -> None:
    labels(cli, run, "ann", ANN)
    assert agreed(cli, run) == {"kinds": [], "correlations": []}, "one rater agrees with nobody"
    labels(cli, run, "bob", BOB)
    entry, read = agreed(cli, run)["kinds"]
    assert (entry["items"], read["items"]) == ("all", "read")
    assert (entry["setting"], entry["kind"], entry["raters"], entry["ordinal"]) == (
        "choice", "explanation", ["ann", "bob"], True,
    )  # fmt: skip
    (pair,) = entry["pairs"]
    found = values(pair)
    assert found["raw_agreement"] == pytest.approx(3 / 5)
    # squared distances in steps are 0 1 0 0 1, so 2/5 on average; by chance, with one 0, two 0.5 and two 1 of either,
    # of 25 pairs 2+2 are 0 and 0.5, 4+4 are 0.5 and 1, both at distance 1, and 2+2 are 0 and 1, at distance 4
    expected = (2 + 2 + 4 + 4 + 4 * (2 + 2)) / 25
    assert found["cohen_kappa_quadratic"] == pytest.approx(1 - (2 / 5) / expected)
    # interval alpha: 1 - (n - 1) * sum of the pairs' (a - b)^2 / sum over all pairs of values, n = 10 values
    pooled = [float(label) for given in (ANN, BOB) for label in given.values()]
    observed = sum((float(ANN[case]) - float(BOB[case])) ** 2 for case in ANN) * 2 / 10
    chance = sum((x - y) ** 2 for x in pooled for y in pooled) / (10 * 9)
    assert found["krippendorff_alpha_interval"] == pytest.approx(1 - observed / chance)
    assert pair["estimates"]["raw_agreement"]["n_items"] == 5
    assert pair["confusion"]["counts"] == [[1, 0, 0], [0, 1, 1], [0, 1, 1]]


def test_rank_correlation_by_hand(cli: Command, run: Path) -> None:
    labels(cli, run, "ann", ANN)
    labels(cli, run, "bob", BOB)
    (row,) = agreed(cli, run)["correlations"]
    # ranks ann 4.5 4.5 2.5 1 2.5, bob 4.5 2.5 2.5 1 4.5; both deviate 1.5 1.5 -.5 -2 -.5 in some order
    assert row["spearman"]["value"] == pytest.approx((1.5 * 1.5 + 1.5 * -0.5 + 0.25 + 4 + -0.5 * 1.5) / 9)
    # 10 pairs, 2 tied by each; concordant 1-3 1-4 2-4 3-4 4-5 = 5, discordant 2-5 = 1
    assert row["kendall"]["value"] == pytest.approx((5 - 1) / 8)
    assert (row["metric"], row["raters"], row["spearman"]["n_items"]) == ("explanation_score", ["ann", "bob"], 5)


def test_what_a_rater_did_not_rate_is_missing_and_nothing_else(cli: Command, run: Path) -> None:
    for name, given in (("ann", ANN), ("bob", BOB), ("eve", EVE)):
        labels(cli, run, name, given)
    entry, read = agreed(cli, run)["kinds"]
    assert (entry["items"], read["items"]) == ("all", "read")
    assert entry["n_missing"] == {"ann": 0, "bob": 0, "eve": 3}
    assert [pair["estimates"]["raw_agreement"]["n_items"] for pair in entry["pairs"]] == [5, 2, 2]
    assert [(group["who"], group["raters"]) for group in entry["groups"]] == [("imported", ["ann", "bob", "eve"])]
    shown = " ".join(cli("show", run).out.split())
    assert "choice: agreement on explanation" in shown
    assert "of 5 items without a label by: eve 3" in shown
    assert "all 3 imported" in shown
    assert "Fleiss' kappa" in shown
    assert "kappa (quadratic)" in shown


def test_a_judge_beside_a_person_with_and_without_what_a_rule_decides(cli: Command, run: Path) -> None:
    """Given wrong answers, which every rater gives 0, when agreement is shown, then also without them."""
    with ModelServer(grader, models=["judge-model"]) as server:
        assert cli("judge", run, "--judge", f"{server.url}#judge-model", "--judge-name", "j").code == 0
    # the judge says 1 .5 0* .5* 1 - | 1 1 .5 0* 1 1, where * follows from a rule
    labels(cli, run, "ann", dict(zip(CASES, PERSON, strict=True)))
    every, read = agreed(cli, run)["kinds"]
    assert (every["items"], every["ruled"], read["items"]) == ("all", 3, "read")
    assert every["failed"]["j"] == {"no_answer": 1}
    assert every["n_missing"] == {"j": 1, "ann": 0}
    assert values(every["pairs"][0])["raw_agreement"] == pytest.approx(9 / 11)
    assert values(read["pairs"][0])["raw_agreement"] == pytest.approx(6 / 8)
    assert every["sources"] == {"j": "model", "ann": "imported"}
    shown = " ".join(cli("show", run).out.split())
    assert "only what had to be read" in shown
    assert "3 items are decided by a rule" in shown
    assert "units in which labels by j are missing: no_answer 1" in shown


# -- steps -------------------------------------------------------------------------------------------------------------


def record(case: str, steps: dict[str, str], hits: dict[str, bool]) -> dict[str, Any]:
    return {
        "case_id": case, "model": "m", "judge": "j",
        "steps": [{"step": text, "efficiency": label, "factulity": True} for text, label in steps.items()],
        "gt_steps": [{"step": text, "hit": hit} for text, hit in hits.items()],
    }  # fmt: skip


def steps_labelled(cli: Command, run: Path, name: str, records: list[dict[str, Any]]) -> Ran:
    file = run.parent / f"{name}.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    data = CHECKOUT / "fixtures/medrbench"
    new = [] if (run / "run.sqlite").exists() else ["--benchmark", "medrbench", "--data", data, "--setting", "oracle"]
    ran: Ran = cli("import-judgements", run, "--labels", file, "--judge-name", name, *new)
    assert ran.code == 0, ran.err
    return ran


def test_only_the_same_steps_and_the_same_references_are_compared(cli: Command, tmp_path: Path) -> None:
    """Given two judges, whose second case has another second step and another reference, then these are left out."""
    run = tmp_path / "run"
    one, two = "SYN0000001", "SYN0000002"
    steps_labelled(cli, run, "a", [
        record(one, {"Alpha.": "Reasoning", "Beta.": "Citation"}, {"It is x.": True, "It is y.": False}),
        record(two, {"Gamma.": "Reasoning", "Delta.": "Reasoning"}, {"It is z.": True}),
    ])  # fmt: skip
    steps_labelled(cli, run, "b", [
        record(one, {"Alpha.": "Reasoning", "Beta.": "Reasoning"}, {"It is  x.": True, "It is y.": True}),
        record(two, {"Gamma.": "Reasoning", "Epsilon.": "Citation"}, {"It is z.": True, "It is more.": True}),
    ])  # fmt: skip
    found = {entry["kind"]: entry for entry in agreed(cli, run)["kinds"]}
    assert set(found) == {"effectiveness", "factuality", "match"}
    assert found["effectiveness"]["pairs"][0]["estimates"]["raw_agreement"]["n_items"] == 3
    assert values(found["effectiveness"]["pairs"][0])["raw_agreement"] == pytest.approx(2 / 3)
    assert found["effectiveness"]["other"] == {"a": 1, "b": 1}
    assert values(found["match"]["pairs"][0])["raw_agreement"] == pytest.approx(1 / 2)
    assert found["match"]["other"] == {"a": 1, "b": 2}, "of the second case no reference step is comparable"
    assert found["match"]["n_missing"] == {"a": 0, "b": 0}
    by_metric = {row["metric"]: row["spearman"] for row in agreed(cli, run)["correlations"]}
    assert by_metric["completeness"]["n_items"] == 1
    assert by_metric["efficiency"]["n_items"] == 2
    assert by_metric["efficiency"]["reason"] == "too_few_items"
    assert "is, or may be, something else" in " ".join(cli("show", run).out.split())


@pytest.mark.data
def test_two_published_judges_agree_as_published(cli: Command, tmp_path: Path) -> None:
    """The documented figures of the 400 outputs: raw agreement 90.0 %, Cohen's kappa .71."""
    data, run = real_data("medrbench"), tmp_path / "run"
    file = data / "judged/accuracy_o3-mini_two_judges.jsonl"
    names = list(json.loads(file.read_text(encoding="utf-8").partition("\n")[0])["labels"])
    for name in names:
        new = [] if run.exists() else ["--benchmark", "medrbench", "--data", data, "--setting", "oracle"]
        ran = cli("import-judgements", run, "--labels", file, "--judge-key", name, "--judge-name", name, *new)
        assert ran.code == 0, ran.err
    (entry,) = agreed(cli, run)["kinds"]
    found = values(entry["pairs"][0])
    assert entry["pairs"][0]["estimates"]["raw_agreement"]["n_items"] == 400
    assert found["raw_agreement"] == pytest.approx(0.900, abs=5e-4)
    assert found["cohen_kappa"] == pytest.approx(0.71, abs=5e-3)
