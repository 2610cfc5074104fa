"""Models on the same cases: paired tests by hand and by other libraries, and what is not compared."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from judge.stats import clusters_needed
from judge.stats.distributions import t_cdf
from tests.caremedeval.synthetic import question, write_data
from tests.conftest import CHECKOUT, Command
from tests.explained import caremedeval_run
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.report.runs import HOSTILE_MODEL
from tests.runs.labelled import accuracy, cases, data_of, labelled, steps
from tests.runs.test_sensitivity_judges import judge, outputs
from tests.server import ModelServer, Reply, Request

N = 20


def solved(*numbers: int, n: int = N) -> dict[str, bool]:
    return {case: number in numbers for number, case in enumerate(cases(n))}


def runs_of(tmp_path: Path, **by_model: dict[str, bool]) -> list[Path]:
    """One run a model; labels by the judge x."""
    data = data_of(tmp_path / "data", N)
    for model, labels in by_model.items():
        accuracy(tmp_path / model, data, model, {"x": labels})
    return [tmp_path / model for model in by_model]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Of 20 cases both solve 4, the first alone 9, the second alone 2, neither 5."""
    return runs_of(tmp_path, alpha=solved(*range(13)), beta=solved(*range(4), 13, 14))


def report(cli: Command, *arguments: object) -> dict[str, Any]:
    ran = cli("compare", *arguments, "--json")
    assert ran.code == 0, ran.err
    return dict(ran.json)


def pair(found: dict[str, Any], metric: str = "accuracy") -> dict[str, Any]:
    (row,) = [test for test in found["settings"][0]["tests"] if test["metric"] == metric]
    return dict(row)


def test_wins_differences_and_mcnemar_by_hand(cli: Command, runs: list[Path]) -> None:
    row = pair(report(cli, *runs, "--judge", "x"))
    assert row["models"] == ["alpha", "beta"]
    assert row["means"] == [13 / 20, 6 / 20]
    assert row["difference"] == pytest.approx(7 / 20)
    assert (row["wins"], row["ties"], row["losses"], row["win_rate"]) == (9, 9, 2, pytest.approx((9 + 4.5) / 20))
    exact = 2 * sum(comb(11, k) for k in range(3)) / 2**11
    assert row["mcnemar"]["p_exact"] == pytest.approx(exact)
    assert (row["mcnemar"]["first_only"], row["mcnemar"]["second_only"]) == (9, 2)
    low, high = row["interval"]
    assert 0 < low < 7 / 20 < high
    assert row["p"] < 0.05
    # the least difference found with probability .8: (t(.975) + t(.8)) s / sqrt(n) of the paired differences, with
    # 19 degrees of freedom, and n - 1 in s
    mean = 7 / 20
    variance = (9 * (1 - mean) ** 2 + 2 * (-1 - mean) ** 2 + 9 * mean**2) / (N - 1)
    assert row["detectable"]["difference"] == pytest.approx((2.09302 + 0.86095) * (variance / N) ** 0.5, rel=1e-4)
    assert (row["detectable"]["alpha"], row["detectable"]["power"], row["needed"]) == (0.05, 0.8, None)


def test_cases_that_nobody_asked_for_are_not_unscored(cli: Command, tmp_path: Path) -> None:
    """Given a second model of which the judge labelled 15 of 20 cases, then the headline is of 15, none is unscored."""
    few = {case: label for case, label in solved(*range(4)).items() if int(case[1:]) < 15}
    data = data_of(tmp_path / "data", N)
    accuracy(tmp_path / "alpha", data, "alpha", {"x": solved(*range(13))})
    accuracy(tmp_path / "beta", data, "beta", {"whole": solved(), "x": few})
    found = report(cli, tmp_path / "alpha", tmp_path / "beta", "--judge", "x")
    row = pair(found)
    assert (row["n"], row["n_both_asked"]) == (15, 15)
    assert (row["n_not_asked"], row["n_unscored"]) == ({"alpha": 0, "beta": 5}, {"alpha": 0, "beta": 0})
    assert row["means"] == [pytest.approx(13 / 15), pytest.approx(4 / 15)]
    assert not [one for one in found["settings"][0]["unscored"] if one["metric"] == "accuracy"]
    means = {one["model"]: one for one in found["settings"][0]["means"] if one["metric"] == "accuracy"}
    assert (means["alpha"]["mean"], means["beta"]["mean"]) == (13 / 20, pytest.approx(4 / 15))
    assert (means["alpha"]["n_not_asked"], means["beta"]["n_not_asked"]) == (0, 5)
    shown = " ".join(cli("compare", tmp_path / "alpha", tmp_path / "beta", "--judge", "x").out.split())
    assert "15 15 0 / 0 0 / 5" in shown
    assert "not_judged 5 not asked" in shown


def test_cases_asked_without_a_score_are_compared_as_unscored(cli: Command, tmp_path: Path) -> None:
    """Given a second model that named no diagnosis in one of three cases, then that case is unscored, not left out."""
    whole = outputs(cli, tmp_path / "whole", "whole", "Gout")
    file = tmp_path / "part.json"
    texts = json.loads(whole.with_suffix(".json").read_text(encoding="utf-8"))
    file.write_text(json.dumps(texts | {next(iter(texts)): ""}), encoding="utf-8")
    ran = cli("import", "medrbench", "--setting", "oracle", "--predictions", file, "--data",
              CHECKOUT / "fixtures/medrbench", "--model-name", "part", "--out", tmp_path / "part")  # fmt: skip
    assert ran.code == 0, ran.err
    found = report(cli, whole, tmp_path / "part")
    row = pair(found, "exact")
    assert (row["n"], row["n_both_asked"]) == (2, 3)
    assert (row["n_not_asked"], row["n_unscored"]) == ({"whole": 0, "part": 0}, {"whole": 0, "part": 1})
    (gone,) = [one for one in found["settings"][0]["unscored"] if one["metric"] == "exact"]
    assert (gone["counts"], gone["n_cases"]) == ({"whole": 0, "part": 1}, 3)
    assert gone["compared"]["difference"] == pytest.approx(-1 / 3)


@pytest.fixture(scope="module")
def exams(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of ten questions in five articles: one all right, one right in three articles, one without a question."""
    folder = tmp_path_factory.mktemp("exams")
    articles = [f"article_{number}" for number in range(1, 6)]
    questions = [question(n, id_article=articles[(n - 1) // 2]) for n in range(1, 11)]
    data = write_data(folder / "data", questions, articles=articles)
    few = {f"id{n}": ["a", "c"] if n < 7 else ["b"] for n in range(1, 11)}
    answers = {"all": {key: ["a", "c"] for key in few}, "few": few, "gap": {n: few[n] for n in few if n != "id10"}}
    for name, given in answers.items():
        file = folder / f"{name}.json"
        file.write_text(json.dumps(given), encoding="utf-8")
        ran = cli("import", "caremedeval", "--predictions", file, "--data", data, "--setting", "none", "--out",
                  folder / name, "--model-name", name)  # fmt: skip
        assert ran.code == 0, ran.err
    return {name: folder / name for name in answers}


def test_a_case_that_is_not_in_a_file_of_predictions_was_not_asked(cli: Command, exams: dict[str, Path]) -> None:
    row = pair(report(cli, exams["all"], exams["gap"], "--metric", "emr"), "emr")
    assert (row["n"], row["n_both_asked"], row["n_not_asked"]) == (9, 9, {"all": 0, "gap": 1})
    assert row["n_unscored"] == {"all": 0, "gap": 0}


@dataclass(frozen=True)
class Compared:
    """What a comparison says of two models that differ in the questions of two articles of five."""

    report: dict[str, Any]
    shown: str
    page: str


@pytest.fixture(scope="module")
def compared(cli: Command, exams: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Compared:
    page = tmp_path_factory.mktemp("page") / "page.html"
    wanted = (exams["all"], exams["few"], "--metric", "emr", "--detect", ".1")
    ran = cli("compare", *wanted, "--html", page)
    assert ran.code == 0, ran.err
    return Compared(report(cli, *wanted), " ".join(ran.out.split()), page.read_text(encoding="utf-8"))


def test_mcnemars_test_is_not_made_of_cases_in_clusters(compared: Compared) -> None:
    found = pair(compared.report, "emr")["mcnemar"]
    assert (found["first_only"], found["second_only"]) == (4, 0)
    assert (found["p_exact"], found["reason"]) == (None, "clustered")
    assert "not made (4 : 0)" in compared.shown
    assert "McNemar's test is not made: 10 cases come in 5 clusters" in compared.shown


def test_few_clusters_are_warned_of_beside_the_numbers(compared: Compared) -> None:
    told = "nly 5 clusters of cases: with fewer than 10, intervals and tests tell little"
    assert told in compared.shown
    assert told in compared.page
    assert "only 5 clusters" in pair(compared.report, "emr")["note"]


def test_the_cases_that_a_difference_takes_are_told_in_clusters_of_the_same_size(compared: Compared) -> None:
    row = pair(compared.report, "emr")
    # five articles with differences 0, 0, 0, 1 and 1: sd sqrt(.3)
    assert row["detectable"]["sd"] == pytest.approx(0.3**0.5)
    assert row["needed"]["n_clusters"] == clusters_needed(0.1, 0.3**0.5)
    assert row["needed"]["n_cases"] == 2 * row["needed"]["n_clusters"]
    assert (compared.report["detect"], row["needed"]["difference"]) == (0.1, 0.1)
    assert "(alpha 0.05, power 0.8)" in compared.shown
    assert f"{row['needed']['n_cases']} in {row['needed']['n_clusters']} clusters" in compared.shown


@pytest.mark.parametrize("difference", ["0", "-1", "nan", "inf"])
def test_a_difference_that_none_can_find_is_refused(cli: Command, exams: dict[str, Path], difference: str) -> None:
    ran = cli("compare", exams["all"], exams["few"], "--detect", difference)
    assert ran.code == 2
    assert "--detect" in ran.err
    assert "Traceback" not in ran.err


def test_the_page_holds_a_figure_of_differences_methods_and_a_manifest(compared: Compared) -> None:
    page = compared.page
    assert '<h1 dir="auto">CareMedEval: all against few</h1>' in page
    assert ">Comparison</h2>" in page
    assert "Sensitivity" not in page
    assert "difference of means; share, 0 to 1)" in page
    for part in ("For the paper", "McNemar&#39;s test was not made", "to find a difference of 0.1", "data, SHA-256",
                 "Bloom 1995", "software of this report"):  # fmt: skip
        assert part in page
    for absent in ("<script", "exact test is given beside it", "Kendall"):
        assert absent not in page


def test_the_methods_and_manifest_of_a_comparison_are_in_its_json(cli: Command, runs: list[Path]) -> None:
    found = report(cli, *runs, "--judge", "x")
    text = " ".join(found["methods"])
    for part in (
        "Outputs of alpha and beta were compared on cases of MedR-Bench",
        "The labels by x (40 units) were made elsewhere. They are from the files",
        "(20 cases in 20 clusters)",
        "5,000 draws of whole clusters with replacement (seed 20251201)",
        "Holm 1979, Scand. J. Stat. 6(2):65-70): 1 test in oracle",
        "McNemar's exact test is given beside it, uncorrected",
    ):
        assert part in text
    for absent in ("not made where cases come in clusters", "to find a difference", "prediction-powered", "kappa"):
        assert absent not in text
    manifest = found["manifest"]
    assert manifest["what is compared"]["data, SHA-256"] in text
    assert manifest["what is compared"]["seed"] == found["seed"]
    assert manifest["run of beta"]["model as asked"] == "imported:beta"
    assert manifest["signatures"]["oracle, Accuracy (judged)"].startswith("accuracy|")
    assert manifest["software of this report"]["numpy"]
    assert [key for key in manifest["judge x"] if key.startswith("file ")] == [
        "file alpha-x.jsonl, SHA-256",
        "file beta-x.jsonl, SHA-256",
    ]


def test_p_values_are_corrected_for_all_metrics_of_a_setting(cli: Command, tmp_path: Path) -> None:
    data, runs = data_of(tmp_path / "data", N), [tmp_path / "a", tmp_path / "b"]
    for run, model, good in zip(runs, ("a", "b"), (18, 6), strict=True):
        labelled(run, data, "x", [
            steps(case, model, {"S.": "Reasoning" if n < good else "Citation"}, {"R.": (n * 7) % 20 < good - 3})
            for n, case in enumerate(cases(N))
        ])  # fmt: skip
    found = report(cli, *runs, "--judge", "x")["settings"][0]
    tests = sorted((test["p"], test["p_holm"]) for test in found["tests"])
    assert found["n_tests"] == len(tests) == 3
    expected, largest = [], 0.0
    for place, (p, _) in enumerate(tests):
        largest = max(largest, min(1.0, (3 - place) * p))
        expected.append(pytest.approx(largest))
    assert [adjusted for _, adjusted in tests] == expected
    alone = report(cli, *runs, "--judge", "x", "--metric", "efficiency")["settings"][0]
    assert [(test["metric"], test["p_holm"]) for test in alone["tests"]] == [("efficiency", alone["tests"][0]["p"])]


def test_three_models_are_compared_in_pairs(cli: Command, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, a=solved(*range(13)), b=solved(*range(9)), c=solved(*range(5)))
    rows = [test for test in report(cli, *runs, "--judge", "x")["settings"][0]["tests"] if test["metric"] == "accuracy"]
    assert [(row["models"], row["wins"]) for row in rows] == [(["a", "b"], 4), (["a", "c"], 8), (["b", "c"], 4)]
    assert all(row["p_holm"] >= row["p"] for row in rows)


def test_tests_that_so_few_draws_cannot_show_to_be_clear_are_told(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given three models of which none is above the one before in any draw."""
    runs = runs_of(tmp_path, a=solved(*range(18)), b=solved(*range(9)), c=solved())
    assert report(cli, *runs, "--judge", "x")["settings"][0]["n_unresolved"] == 0
    monkeypatch.setattr("judge.runs.comparing.RESAMPLES", 200)
    (found,) = report(cli, *runs, "--judge", "x")["settings"]
    tail = (1 + 0) / (1 + 200)
    least = 2 * t_cdf(NormalDist().inv_cdf(tail) * (19 / 20) ** 0.5, 19)
    assert [(row["p"], row["p_holm"]) for row in found["tests"]] == [
        (pytest.approx(least), pytest.approx(3 * least))
    ] * 3
    assert found["n_unresolved"] == 3
    assert "3 tests of this setting, of which 3 may be clear" in " ".join(
        cli("compare", *runs, "--judge", "x").out.split()
    )


def test_the_mean_of_each_model_is_that_of_score(cli: Command, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, a=solved(*range(13)), b=solved(*range(9)))
    found = report(cli, *runs, "--judge", "x")["settings"][0]["means"]
    own = cli("score", runs[0], "--judge", "x", "--json").json["settings"][0]["metrics"]["accuracy"]
    (row,) = [one for one in found if (one["model"], one["metric"]) == ("a", "accuracy")]
    assert {name: row[name] for name in own if name != "maximum"} == {n: v for n, v in own.items() if n != "maximum"}


def test_a_case_counts_once_by_the_mean_of_its_epochs(cli: Command, tmp_path: Path) -> None:
    """Given a model that is right on one of three cases in the first epoch only, then it gains 1/2 of 1 case of 3."""
    data = CHECKOUT / "fixtures/medrbench"
    (case, *_), texts = read_cases(data)
    answer, asked = texts[case]["generate_case"]["diagnosis_results"], []

    def script(request: Request) -> Reply:
        asked.append(request.text)
        first = asked.count(request.text) == 1 and texts[case]["generate_case"]["case_summary"][:80] in request.text
        right = first and request.body["model"] == "test-model"
        return Reply(content=f"### Answer:\n{answer if right else 'Gout'}")

    runs = [tmp_path / "some", tmp_path / "none"]
    with ModelServer(script, models=["test-model", "other-model"]) as server:
        for run, model in zip(runs, ("test-model", "other-model"), strict=True):
            ran = cli("run", "medrbench", "--model", f"{server.url}#{model}", "--data", data, "--setting", "oracle",
                      "--out", run, "--epochs", "2")  # fmt: skip
            assert ran.code == 0, ran.err
    row = pair(report(cli, *runs), "exact")
    assert (row["n"], row["difference"]) == (3, pytest.approx(0.5 / 3))


def read_cases(data: Path) -> tuple[list[str], dict[str, Any]]:
    texts = json.loads((data / "diagnosis_3_cases_with_rare_disease_1.json").read_text(encoding="utf-8"))
    return list(texts), texts


def test_runs_that_are_not_of_the_same_cases_or_settings_are_refused(
    cli: Command, runs: list[Path], tmp_path: Path
) -> None:
    other = data_of(tmp_path / "other", N + 1)
    accuracy(tmp_path / "gamma", other, "gamma", {"x": solved(n=N + 1)})
    assert "made from other data files" in cli("compare", runs[0], tmp_path / "gamma", "--judge", "x").sentence
    assert cli("compare", runs[0], tmp_path / "gamma", "--judge", "x", "--force").code == 0
    assert "name at least two" in cli("compare", runs[0]).sentence
    assert "has no judgements by 'nobody'" in cli("compare", *runs, "--judge", "nobody").sentence
    wrong = cli("compare", *runs, "--judge", "x", "--metric", "speed").sentence
    assert "there is no such metric in these runs; there are: exact, accuracy" in wrong
    unjudged = cli("compare", *runs).sentence
    assert unjudged.endswith("no metric is in all of them; judged metrics are compared with --judge NAME only")
    assert "--judge NAME only" in cli("compare", *runs, "--metric", "accuracy").sentence


def test_numbers_with_other_signatures_are_not_compared_unless_forced(cli: Command, tmp_path: Path) -> None:
    """Given outputs of two models, judged under one name by other protocols, then the judge is not the same."""
    runs = [outputs(cli, tmp_path / model, model, "Gout") for model in ("a", "b")]
    with ModelServer(SyntheticJudge(), models=["judge-model"]) as server:
        for run, protocol in zip(runs, ("per-step", "batched"), strict=True):
            judge(cli, server, run, "j", "--judge-protocol", protocol)
    said = cli("compare", *runs, "--judge", "j").sentence
    assert "j is not the same judge in" in said
    assert "(other protocol)" in said
    forced = report(cli, *runs, "--judge", "j", "--force")
    assert pair(forced)["n"] == 3
    plain = report(cli, *runs)
    assert [test["metric"] for test in plain["settings"][0]["tests"]] == ["exact"]


def test_a_metric_that_one_run_lacks_is_named(cli: Command, tmp_path: Path) -> None:
    """Given explanations that are measured in one of two runs, then it is said, whichever run comes first."""
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    measured, other = (caremedeval_run(tmp_path / name) for name in ("with", "without"))
    ran = cli("score", measured, "--explanations", "lexical")
    assert ran.code == 0, ran.err
    for runs in ((measured, other), (other, measured)):
        found = report(cli, *runs)
        (note,) = [note for note in found["notes"] if "there is no such metric" in note]
        lacking = next(one["model"] for one in found["models"] if one["folder"] == str(other))
        assert note.startswith(f"none: not compared, since there is no such metric for {lacking}: ")
        assert "bleu" in note
        assert "emr" not in note
        metrics = {test["metric"] for test in found["settings"][0]["tests"]}
        assert "emr" in metrics
        assert "bleu" not in metrics
        said = cli("compare", *runs, "--metric", "bleu").sentence
        assert f"--metric bleu: there is no such metric in {other}, so it cannot be compared" in said
        assert str(measured) not in said
        assert not any("no such metric" in note for note in report(cli, *runs, "--metric", "emr")["notes"])


def test_a_model_that_wins_all_cases_has_an_exact_p(cli: Command, tmp_path: Path) -> None:
    """Given 20 wins of 20, no draw differs; the exact p is 2 / 2 ** 20, and it counts among the tests."""
    runs = runs_of(tmp_path, alpha=solved(*range(N)), beta=solved())
    found = report(cli, *runs, "--judge", "x")
    row = pair(found)
    assert (row["interval"], row["interval_reason"], row["p"]) == (None, "no_variation", pytest.approx(2 / 2**20))
    assert row["p"] == row["mcnemar"]["p_exact"]
    assert found["settings"][0]["n_tests"] == 1
    assert row["p_holm"] == row["p"]
    text = " ".join(found["methods"])
    assert "p is of the exact sign test over clusters" in text
    assert "draws of whole clusters" not in text


def test_why_there_is_no_interval_is_said_in_its_place(cli: Command, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, alpha=solved(*range(N)), beta=solved())
    out = cli("compare", *runs, "--judge", "x").out
    assert "- (no variation)" in out


def test_what_else_differs_between_the_runs_is_said(cli: Command, tmp_path: Path) -> None:
    runs = [tmp_path / "cold", tmp_path / "warm"]
    with ModelServer(Reply(content="### Answer:\nGout")) as server:
        for run, temperature in zip(runs, ("0", "1"), strict=True):
            ran = cli("run", "medrbench", "--model", server.spec, "--data", CHECKOUT / "fixtures/medrbench",
                      "--setting", "oracle", "--out", run, "--temperature", temperature)  # fmt: skip
            assert ran.code == 0, ran.err
    found = report(cli, *runs)
    names = [one["model"] for one in found["models"]]
    assert [name.rpartition(" ")[2] for name in names] == ["(cold)", "(warm)"]
    assert found["notes"] == [f"generation.temperature is 0.0 for {names[0]}, 1.0 for {names[1]}"]


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_is_cut_whatever_the_width(
    cli: Command, runs: list[Path], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    out = cli("compare", *runs, "--judge", "x").out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    for cell in ("+0.350", "9 / 9 / 2", "0.065 (9 : 2)", "detectable"):
        assert cell in out


def test_the_page_holds_the_tables_and_text_of_others_cannot_act_in_it(cli: Command, tmp_path: Path) -> None:
    data = data_of(tmp_path / "data", N)
    accuracy(tmp_path / "a", data, HOSTILE_MODEL, {"x": solved(*range(13))})
    accuracy(tmp_path / "b", data, "<b>bold", {"x": solved(*range(4), 13, 14)})
    ran = cli("compare", tmp_path / "a", tmp_path / "b", "--judge", "x", "--html", tmp_path / "page.html")
    assert ran.code == 0, ran.err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "+0.350" in text
    assert "&lt;b&gt;bold" in text
    for active in ("<script", "<b>"):
        assert active not in text
