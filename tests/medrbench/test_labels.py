"""Labels from elsewhere: the published files give their stored values again, and no fault passes."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench.labels import read_labels
from judge.errors import DataError
from judge.judgements import CaseLabels, Judgement
from judge.metrics.reasoning import EFFECTIVENESS, REASONING, empty_denominators, read_effectiveness, score_reasoning
from judge.outcome import Outcome, Scored, Unscored
from tests.data import real_data

FULL: dict[str, Any] = {
    "case_id": "PMC1",
    "model": "doctor-1",
    "judge": "judge-1",
    "steps": [
        {"step": "He is a beekeeper.", "efficiency": "Citation", "factulity": None, "judgment_path": []},
        {
            "step": "Itching suggests yeast.",
            "efficiency": "Reasoning",
            "factulity": True,
            "judgment_path": [
                {"judgment": "Search", "keywords_to_search": "itching", "info": "Yeast itches."},
                {"judgment": "Correct", "keywords_to_search": "None"},
            ],
        },
    ],
    "gt_steps": [{"step": "Yeast grew.", "hit": False}],
    "efficiency": 0.5,
    "factulity": 1.0,
    "recall": 0,
}

ACCURACY: dict[str, Any] = {
    "case_id": "PMC1",
    "model": "doctor-1",
    "prediction": "Otomycosis.",
    "ground_truth": "Otomycosis.",
    "labels": {"one": True, "two": False},
}


def record(*path: str | int, to: Any = None, drop: bool = False, **changes: Any) -> dict[str, Any]:
    """`FULL` with changes; what `path` leads to is set to `to`, or dropped."""
    changed = {**copy.deepcopy(FULL), **changes}
    if path:
        inner: Any = changed
        for name in path[:-1]:
            inner = inner[name]
        if drop:
            del inner[path[-1]]
        else:
            inner[path[-1]] = to
    return changed


def lines(folder: Path, *records: Any, name: str = "labels.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(found) + "\n" for found in records), encoding="utf-8")
    return file


def table(folder: Path, text: str) -> Path:
    file = folder / "labels.csv"
    file.write_bytes(text.encode("utf-8"))
    return file


def error(path: Path, **choice: str) -> str:
    """What reading the file fails with, without the path, which comes first."""
    with pytest.raises(DataError) as caught:
        read_labels(path, **choice)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    return said.removeprefix(f"{path}").removeprefix(": ")


def scores(labels: CaseLabels, empty: Any = "0") -> dict[str, Outcome]:
    steps, reference = len(labels.steps), len(labels.reference_steps)
    return score_reasoning(labels.view, steps=steps, reference_steps=reference, empty=empty)


# --- the published files ------------------------------------------------------------------------------------------

REASONING_FILES = {
    "reasoning_deepseek-r1_qwen2.5-7b_957.jsonl": (957, "deepseek-r1", "qwen2.5-7b", 3, 0),
    "reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl": (34, "gemini2-ft", "gpt-4o+websearch", 3, 3),
    "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl": (35, "gemini2-ft", "qwen2.5-7b", 3, 3),
}


@pytest.mark.data
@pytest.mark.parametrize("name", REASONING_FILES)
def test_every_published_record_gives_its_stored_values_exactly(name: str) -> None:
    count, model, judge, empties, without_steps = REASONING_FILES[name]
    labels = read_labels(real_data("medrbench") / "judged" / name)
    assert (len(labels.records), labels.models, labels.judges) == (count, (model,), (judge,))

    empty: Counter[str] = Counter()
    for found in labels.records:
        assert found.stored.keys() == {metric.name for metric in REASONING}
        assert scores(found) == {metric: Scored(value) for metric, value in found.stored.items()}, found.case_id
        effectiveness = [read_effectiveness(str(judged.label)) for judged in found.view.of("effectiveness")]
        empty.update(empty_denominators(effectiveness, [bool(judged.label) for judged in found.view.of("match")]))
        unscored = [m for m, outcome in scores(found, "unscored").items() if isinstance(outcome, Unscored)]
        assert unscored == list(empty_denominators(effectiveness, [True] * len(found.reference_steps)))

    # a text without steps has no effective steps either, so factuality counts every record with an empty denominator
    assert empty == Counter({"factuality": empties} | ({"efficiency": without_steps} if without_steps else {}))


@pytest.mark.data
def test_nine_of_the_published_records_have_an_empty_denominator() -> None:
    found = [r for name in REASONING_FILES for r in read_labels(real_data("medrbench") / "judged" / name).records]
    empty = [r for r in found if any(isinstance(outcome, Unscored) for outcome in scores(r, "unscored").values())]
    assert (len(empty), len(found)) == (9, 1026)
    assert sum(len(r.reference_steps) > 10 for r in found) == 13


@pytest.mark.data
def test_the_evidence_path_of_every_published_verdict_is_kept() -> None:
    name = "reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl"
    found = read_labels(real_data("medrbench") / "judged" / name).records
    factuality = [judged for labels in found for judged in labels.view.of("factuality")]
    # 163 steps took one search, one took two and one took four; the verdict is the last entry
    assert Counter(len(judged.path) - 1 for judged in factuality) == {1: 163, 2: 1, 4: 1}
    assert all((judged.path[-1]["judgment"] == "Correct") is judged.label for judged in factuality)
    assert all(judged.path[0]["info"] for judged in factuality)


@pytest.mark.data
def test_two_published_judges_of_accuracy_agree_on_nine_cases_in_ten() -> None:
    file = real_data("medrbench") / "judged" / "accuracy_o3-mini_two_judges.jsonl"
    gpt, gemma = (read_labels(file, judge=name) for name in ("gpt", "gemma-9b"))
    assert gpt.judges == gemma.judges == ("gpt", "gemma-9b")
    assert gpt.models == ("o3-mini",)
    pairs = [(one.view.labels("accuracy")[0], two.view.labels("accuracy")[0])
             for one, two in zip(gpt.records, gemma.records, strict=True) if one.case_id == two.case_id]  # fmt: skip
    assert len(pairs) == 400
    assert sum(one is two for one, two in pairs) == 360  # 90.0 %
    assert (sum(one is True for one, _ in pairs), sum(two is True for _, two in pairs)) == (310, 314)
    with pytest.raises(DataError, match="holds labels by 2 judges, name one of them: gpt, gemma-9b"):
        read_labels(file)


# --- the published layout -----------------------------------------------------------------------------------------


def test_a_record_is_read_whole(tmp_path: Path) -> None:
    labels = read_labels(lines(tmp_path, FULL))
    assert (labels.judges, labels.models) == (("judge-1",), ("doctor-1",))
    (found,) = labels.records
    assert (found.case_id, found.model, found.judge) == ("PMC1", "doctor-1", "judge-1")
    assert found.steps == ("He is a beekeeper.", "Itching suggests yeast.")
    assert found.reference_steps == ("Yeast grew.",)
    assert found.stored == {"efficiency": 0.5, "factuality": 1.0, "completeness": 0.0}
    searched = FULL["steps"][1]
    assert found.judgements == (
        Judgement("effectiveness", 0, "He is a beekeeper.", "citation"),
        Judgement("effectiveness", 1, searched["step"], "reasoning"),
        Judgement("factuality", 1, searched["step"], True, path=tuple(searched["judgment_path"])),
        Judgement("match", 0, "Yeast grew.", False),
    )
    assert scores(found) == {metric: Scored(value) for metric, value in found.stored.items()}


def test_the_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    one, two = lines(tmp_path, FULL), lines(tmp_path, FULL, name="again.jsonl")
    assert read_labels(one).sha256 == read_labels(two).sha256
    assert read_labels(one).sha256 != read_labels(lines(tmp_path, record("judge", to="judge-2"))).sha256


@pytest.mark.parametrize("written", ["reasoning", "REASONING", "Reasoning.", " Reasoning "])
def test_labels_in_another_case_or_with_a_full_stop_are_taken(tmp_path: Path, written: str) -> None:
    (found,) = read_labels(lines(tmp_path, record("steps", 1, "efficiency", to=written))).records
    assert found.view.labels("effectiveness")[1] == "reasoning"


@pytest.mark.parametrize(
    ("written", "label"),
    [(False, False), ("false", False), ("False.", False), ("Wrong", False), ("Incorrect", False), ("Correct", True)],
)
def test_a_verdict_as_text_is_what_it_says(tmp_path: Path, written: Any, label: bool) -> None:
    (found,) = read_labels(lines(tmp_path, record("steps", 1, "factulity", to=written))).records
    assert found.view.labels("factuality") == {1: label}


def test_the_right_spelling_is_taken_too(tmp_path: Path) -> None:
    text = json.dumps(FULL).replace("factulity", "factuality").replace("recall", "completeness")
    file = tmp_path / "labels.jsonl"
    file.write_text(text, encoding="utf-8")
    assert read_labels(file).records == read_labels(lines(tmp_path, FULL, name="other.jsonl")).records


def test_an_effective_step_without_a_verdict_is_a_missing_label(tmp_path: Path) -> None:
    (found,) = read_labels(lines(tmp_path, record("steps", 1, "factulity"))).records
    scored = scores(found)
    assert scored["efficiency"] == Scored(0.5)
    assert isinstance(scored["factuality"], Unscored)
    assert scored["factuality"].reason == "missing_label"


def test_stored_values_and_evidence_may_be_absent(tmp_path: Path) -> None:
    changed = record("steps", 1, "judgment_path", drop=True, efficiency=None)
    del changed["factulity"], changed["recall"]
    (found,) = read_labels(lines(tmp_path, changed)).records
    assert found.stored == {}
    assert found.view.of("factuality")[0].path == ()


def test_further_fields_blank_lines_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    text = "\ufeff" + json.dumps(FULL | {"note": "x\u2028y"}, ensure_ascii=False) + "\r\n\r\n\n"
    file.write_bytes(text.encode("utf-8"))
    assert read_labels(file).records == read_labels(lines(tmp_path, FULL, name="other.jsonl")).records


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (record("judge", drop=True), "the field 'judge' is missing"),
        (record("model", drop=True), "the field 'model' is missing"),
        (record("judge", to=" "), "the field 'judge' is empty"),
        (record("model", to=3), "the field 'model' must be a text, found a number"),
        (record("steps", drop=True), "the field 'steps' is missing, and so is 'labels'"),
        (record("steps", to={}), "the field 'steps' must be a list, found an object"),
        (record("steps", 1, to="x"), "'steps[1]' must be an object, found a text"),
        (record("steps", 1, "step", drop=True), "the field 'steps[1].step' is missing"),
        (record("steps", 1, "step", to=None), "the field 'steps[1].step' must be a text, found null"),
        (record("steps", 1, "step", to="\ud800"), "the field 'steps[1].step' holds half a surrogate pair"),
        (record("steps", 1, "efficiency", drop=True), "the field 'steps[1].efficiency' is missing"),
        (record("steps", 1, "efficiency", to=None), "the field 'steps[1].efficiency' must be a text, found null"),
        (record("steps", 1, "efficiency", to=1), "the field 'steps[1].efficiency' must be a text, found a number"),
        (record("steps", 1, "efficiency", to="Useful"),
         "the field 'steps[1].efficiency' holds an unknown label: 'Useful' is none of citation, repetition, "
         "reasoning, redundancy"),
        (record("steps", 1, "factulity", drop=True), "the field 'steps[1].factulity' is missing"),
        (record("steps", 1, "factuality", to=True),
         "the fields 'steps[1].factulity' and 'factuality' are one and the same; keep one"),
        (record("steps", 1, "factulity", to="Partially correct"),
         "the field 'steps[1].factulity' holds an unknown label: 'Partially correct' is neither true nor false"),
        (record("steps", 1, "factulity", to=1),
         "the field 'steps[1].factulity' must be true or false, found a number"),
        (record("steps", 1, "judgment_path", to=None), "the field 'steps[1].judgment_path' must be a list, found null"),
        (record("steps", 1, "judgment_path", to=["x"]), "'steps[1].judgment_path[0]' must be an object, found a text"),
        (record("steps", 1, "judgment_path", to=[{"info": "\udfff"}]), "'steps[1].judgment_path' holds half"),
        (record("gt_steps", drop=True), "the field 'gt_steps' is missing"),
        (record("gt_steps", 0, "step", drop=True), "the field 'gt_steps[0].step' is missing"),
        (record("gt_steps", 0, "hit", drop=True), "the field 'gt_steps[0].hit' is missing"),
        (record("gt_steps", 0, "hit", to=None), "the field 'gt_steps[0].hit' must be true or false, found null"),
        (record("gt_steps", 0, "hit", to=[]), "the field 'gt_steps[0].hit' must be true or false, found a list"),
        (record("gt_steps", 0, "hit", to="eyes"), "the field 'gt_steps[0].hit' holds an unknown label: 'eyes'"),
        (record("efficiency", to="0.5"), "the field 'efficiency' must be a finite number, found a text"),
        (record("recall", to=True), "the field 'recall' must be a finite number, found true or false"),
        (record("completeness", to=1.0), "the fields 'recall' and 'completeness' are one and the same; keep one"),
        (record("labels", to={"one": True}), "the record holds 'steps' and 'labels'"),
    ],
)  # fmt: skip
def test_a_fault_names_line_case_and_field(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    file = lines(tmp_path, record(case_id="PMC0"), changed)
    assert error(file).startswith("line 2: case PMC1: ")
    assert said in error(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1: not usable JSON"),
        ("\n\n[1]", "line 3: a record is an object, found a list"),
        ('{"case_id": 5}', "line 1: case (no id): the field 'case_id' must be a text, found a number"),
        ('{"steps": []}', "line 1: case (no id): the field 'case_id' is missing"),
        ('{"case_id": " "}', "' ' cannot be an id"),
        ('{"case_id": "a\\nb"}', "'a\\nb' cannot be an id"),
        ('{"case_id": "PMC1", "case_id": "PMC2"}', "line 1: case PMC2: the field 'case_id' is given twice"),
        ('{"case_id": "PMC1", "steps": [{"step": "a", "step": "b"}]}', "the field 'steps[0].step' is given twice"),
        ('{"case_id": "PMC1", "labels": {"one": true, "one": false}}', "the field 'model' is missing"),
        (json.dumps(ACCURACY).replace('"two"', '"one"'), "the field 'labels.one' is given twice"),
        (json.dumps(FULL).replace('"recall": 0', '"recall": NaN'), "line 1: not usable JSON (NaN is no JSON value)"),
        (json.dumps(FULL).replace('"recall": 0', '"recall": 1e999'), "the field 'recall' must be a finite number"),
        ("[" * 100_000, "line 1: not usable JSON"),
        ("", "holds no labels"),
    ],
)
def test_faults_of_json_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(text, encoding="utf-8")
    assert said in error(file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "cannot be read (No such file or directory)" in error(tmp_path / "none.jsonl")
    file = tmp_path / "latin.jsonl"
    file.write_bytes(b'{"case_id": "\xe9"}')
    assert "not UTF-8 text at byte 13" in error(file)


def test_one_judge_labels_a_case_once(tmp_path: Path) -> None:
    file = lines(tmp_path, FULL, record(case_id="PMC2"), FULL)
    assert error(file) == "line 3: case PMC1: labelled by judge judge-1 already, line 1; keep one of them"


def test_of_two_models_one_must_be_named(tmp_path: Path) -> None:
    file = lines(tmp_path, FULL, record(model="doctor-2"))
    assert "the outputs are of doctor-1 and doctor-2, name one of these models" in error(file)
    chosen = read_labels(file, model="doctor-2")
    assert [found.model for found in chosen.records] == ["doctor-2"]
    assert chosen.models == ("doctor-1", "doctor-2")
    assert error(file, model="x") == "has no labels with model 'x'; the models that it names are: doctor-1, doctor-2"


def test_of_two_judges_one_must_be_named(tmp_path: Path) -> None:
    file = lines(tmp_path, FULL, record("gt_steps", 0, "hit", to=True, judge="judge-2"))
    assert error(file) == "holds labels by 2 judges, name one of them: judge-1, judge-2"
    (found,) = read_labels(file, judge="judge-2").records
    assert found.view.labels("match") == {0: True}
    assert read_labels(file, judge="judge-1").judges == ("judge-1", "judge-2")
    assert error(file, judge="x") == "has no labels with judge 'x'; the judges that it names are: judge-1, judge-2"


def test_judge_and_model_are_chosen_together(tmp_path: Path) -> None:
    file = lines(tmp_path, FULL, record(judge="judge-2", model="doctor-2"))
    assert "has no labels with model 'doctor-2'" in error(file, judge="judge-1", model="doctor-2")


# --- accuracy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("judge", "label"), [("one", True), ("two", False)])
def test_accuracy_of_one_of_several_judges(tmp_path: Path, judge: str, label: bool) -> None:
    (found,) = read_labels(lines(tmp_path, ACCURACY), judge).records
    assert found == CaseLabels("PMC1", "doctor-1", judge, (Judgement("accuracy", 0, "Otomycosis.", label),))


def test_a_judge_without_a_verdict_has_no_judgement(tmp_path: Path) -> None:
    changed = ACCURACY | {"labels": {"one": None, "two": "Incorrect"}}
    del changed["prediction"]
    file = lines(tmp_path, changed)
    assert read_labels(file, "one").records == (CaseLabels("PMC1", "doctor-1", "one", ()),)
    assert read_labels(file, "two").records[0].view.labels("accuracy") == {0: False}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"labels": {}}, "the field 'labels' names no judge"),
        ({"labels": True}, "the field 'labels' must be an object, found true or false"),
        ({"labels": {"one": 0}}, "the field 'labels.one' must be true or false, found a number"),
        ({"labels": {"one": "maybe"}}, "the field 'labels.one' holds an unknown label: 'maybe' is neither"),
        ({"labels": {"": True}}, "'' in the field 'labels' cannot be the name of a judge"),
        ({"model": ""}, "the field 'model' is empty"),
        ({"prediction": None}, "the field 'prediction' must be a text, found null"),
    ],
)
def test_a_fault_of_an_accuracy_record_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    assert error(lines(tmp_path, ACCURACY | changes)).startswith("line 1: case PMC1: ")
    assert said in error(lines(tmp_path, ACCURACY | changes))


# --- a folder -----------------------------------------------------------------------------------------------------


def folder_of(folder: Path, records: dict[str, Any]) -> Path:
    folder.mkdir()
    for name, found in records.items():
        (folder / name).write_text(json.dumps(found, indent=2), encoding="utf-8")
    return folder


def test_a_folder_holds_a_file_a_case(tmp_path: Path) -> None:
    second = record("case_id", drop=True)
    folder = folder_of(tmp_path / "labels", {"PMC2.json": second, "PMC1.json": FULL, "notes.txt": "x"})
    labels = read_labels(folder)
    expected = read_labels(lines(tmp_path, FULL, record(case_id="PMC2")))
    assert labels.records == expected.records
    assert (labels.judges, labels.models) == (expected.judges, expected.models)
    copied = folder_of(tmp_path / "copy", {"PMC1.json": FULL, "PMC2.json": second})
    assert read_labels(copied).sha256 == labels.sha256
    (copied / "PMC2.json").unlink()
    assert read_labels(copied).sha256 != labels.sha256


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("PMC2.json", FULL, "PMC2.json: case PMC1: the file is named otherwise than the case; name it <case id>.json"),
        ("PMC1.json", [FULL], "PMC1.json: a record is an object, found a list"),
        ("PMC1.json", record("judge", drop=True), "PMC1.json: case PMC1: the field 'judge' is missing"),
        ("notes.txt", "x", "holds no labels"),
    ],
)
def test_a_fault_in_a_folder_names_the_file(tmp_path: Path, name: str, content: Any, said: str) -> None:
    assert said in error(folder_of(tmp_path / "labels", {name: content}))


def test_broken_json_in_a_folder_names_the_file(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "labels", {})
    (folder / "PMC1.json").write_text('{\n"case_id": ', encoding="utf-8")
    assert "PMC1.json: not usable JSON (Expecting value: line 2" in error(folder)


# --- CSV ----------------------------------------------------------------------------------------------------------

HEADER = "case_id,kind,item,label,text,rationale\n"


def test_a_person_s_labels_as_csv(tmp_path: Path) -> None:
    file = table(
        tmp_path,
        "\ufeffcase_id,kind,item,label,text,rationale\r\n"
        'PMC1,match,0,yes,Yeast grew.,"found,\nin step 2"\r\n'
        "PMC1,effectiveness,1,REASONING,Itching suggests yeast.,\r\n"
        "PMC1,effectiveness,0,citation,He is a beekeeper.,\r\n"
        ",,,,,\r\n"
        "PMC1,factuality,1,FALSE,,It does not.\r\n"
        "PMC2,accuracy,,correct,,\r\n",
    )
    labels = read_labels(file)
    assert (labels.judges, labels.models) == ((), ())
    steps = ("He is a beekeeper.", "Itching suggests yeast.")
    assert labels.records == (
        CaseLabels(
            "PMC1", "", "",
            (
                Judgement("effectiveness", 0, steps[0], "citation"),
                Judgement("effectiveness", 1, steps[1], "reasoning"),
                Judgement("factuality", 1, "", False, "It does not."),
                Judgement("match", 0, "Yeast grew.", True, "found,\nin step 2"),
            ),
            {}, steps, ("Yeast grew.",),
        ),
        CaseLabels("PMC2", "", "", (Judgement("accuracy", 0, "", True),)),
    )  # fmt: skip


def test_text_and_rationale_are_optional_and_columns_may_come_in_any_order(tmp_path: Path) -> None:
    (found,) = read_labels(table(tmp_path, "label,item,Kind,case_id\nreasoning,0,Effectiveness,PMC1\n")).records
    assert found.judgements == (Judgement("effectiveness", 0, "", "reasoning"),)
    assert found.steps == ()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("PMC1,efect,0,true,,", "line 2, column kind: case PMC1: 'efect' is none of effectiveness, factuality, match"),
        ("PMC1,match,,true,,",
         "line 2, column item: case PMC1: the index of a step is expected, counted from 0, found ''"),
        ("PMC1,match,-1,true,,", "line 2, column item: case PMC1: the index of a step is expected"),
        ("PMC1,match,1.0,true,,", "line 2, column item: case PMC1: the index of a step is expected"),
        ("PMC1,match,²,true,,", "line 2, column item: case PMC1: the index of a step is expected"),
        ("PMC1,accuracy,1,true,,", "line 2, column item: case PMC1: accuracy is of the whole answer, item 0"),
        ("PMC1,match,0,,,", "line 2, column label: case PMC1: it is empty; write true or false"),
        ("PMC1,effectiveness,0, ,,", "line 2, column label: case PMC1: it is empty; write citation, repetition"),
        ("PMC1,match,0,not correct,,", "line 2, column label: case PMC1: an unknown label for match: 'not correct'"),
        ("PMC1,effectiveness,0,true,,", "line 2, column label: case PMC1: an unknown label for effectiveness: 'true'"),
        (" ,match,0,true,,", "line 2, column case_id: case (no id): ' ' cannot be an id"),
        ("PMC1,match,0,true,,\nPMC1,match,0,true,,",
         "line 3, column item: case PMC1: match of item 0 is labelled at line 2"),
        ("PMC1,match,1,true,,\nPMC1,match,2,true,,",
         "line 2, column item: case PMC1: match is labelled here for item 1 but not for 0; label all, from 0"),
        ('PMC1,match,0,true,"a\nb",\nPMC1,match,2,true,,',
         "line 4, column item: case PMC1: match is labelled here for item 2"),
        ("PMC1,effectiveness,0,reasoning,,\nPMC1,factuality,1,true,,",
         "line 3, column item: case PMC1: factuality is labelled for item 1, whose effectiveness is not"),
        ("PMC1,match,0,true", "line 2: 4 cells under 6 columns; quote texts that hold commas"),
        ("PMC1,match,0,true,a,b,c", "line 2: 7 cells under 6 columns"),
        ('PMC1,match,0,true,"a', "line 2: not usable CSV (unexpected end of data)"),
        ('\nPMC1,match,0,true,"a"b,', "line 3: not usable CSV"),
        ("", "holds no labels"),
    ],
)  # fmt: skip
def test_a_fault_in_csv_names_line_and_column(tmp_path: Path, rows: str, said: str) -> None:
    assert said in error(table(tmp_path, HEADER + rows))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: there is no column case_id; the first line must name the columns case_id, kind, item, label"),
        ("PMC1,match,0,true\n", "line 1: there is no column case_id"),
        ("case_id,kind,item\n", "line 1: there is no column label"),
        ("case_id;kind;item;label\n", "line 1: there is no column case_id"),
        ("case_id,kind,item,label,rational\n", "line 1: the column rational is not known"),
        ("case_id,kind,item,label,label\n", "line 1: the column label is there twice"),
        ("case_id,kind,item,label,\n", "line 1: the column (without name) is not known"),
    ],
)
def test_a_header_that_is_not_one_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in error(table(tmp_path, text))


def test_a_csv_names_no_judge_to_choose(tmp_path: Path) -> None:
    file = table(tmp_path, HEADER + "PMC1,match,0,true,,\n")
    assert error(file, judge="x") == "has no labels with judge 'x'; the judges that it names are: none"


def test_effectiveness_labels_are_the_four_of_the_recipe(tmp_path: Path) -> None:
    rows = "".join(f"PMC1,effectiveness,{item},{label},,\n" for item, label in enumerate(EFFECTIVENESS))
    (found,) = read_labels(table(tmp_path, HEADER + rows)).records
    assert tuple(found.view.labels("effectiveness").values()) == EFFECTIVENESS
