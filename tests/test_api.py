"""The Python interface: what the command line does and shows, as objects and tables."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judge
from judge import Run, evaluate, load_run, rejudge
from judge.errors import Refused, RunError, SpecError, Unreachable, UserError
from tests.conftest import CHECKOUT, Command
from tests.exports.runs import KEY, LONE, MEDRBENCH, demo, hostile, judged, unfinished
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.runs.synthetic import DATA, IDS, right
from tests.server import ModelServer, error

RECORDING = f"replay:{DATA / 'demo.recording.jsonl'}"


@pytest.fixture(scope="module")
def demo_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(demo(cli, tmp_path_factory.mktemp("demo") / "run"))


@pytest.fixture(scope="module")
def judged_run(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(judged(cli, tmp_path_factory.mktemp("judged") / "run"))


def means(scores: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """(setting, metric) -> mean of the cases' means over epochs."""
    by_case = scores.groupby(["setting", "metric", "case"])["value"].mean()
    return dict(by_case.groupby(["setting", "metric"]).mean())


def reported(report: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {(setting["setting"], name): pytest.approx(metric["mean"])
            for setting in report["settings"] for name, metric in setting["metrics"].items()}  # fmt: skip


# -- reading ---------------------------------------------------------------------------------------------------------


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys; from judge import Run, evaluate, load_run, rejudge; "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"pandas", "numpy", "pydantic", "openai", "langgraph", "click", "graphs"}


def test_the_package_says_what_it_has_and_has_nothing_else() -> None:
    assert set(judge.__all__) <= set(dir(judge))
    with pytest.raises(AttributeError, match="no_such_thing"):
        judge.no_such_thing  # noqa: B018


def test_scores_are_missing_and_not_zero_where_there_are_none(demo_run: Run) -> None:
    scores = demo_run.scores()
    assert str(scores["value"].dtype) == "Float64"
    emr = scores[(scores["metric"] == "emr") & (scores["setting"] == "none")].set_index("case")
    assert emr.loc[IDS[2], "value"] is pd.NA
    assert emr.loc[IDS[2], "reason"] == "truncated"
    assert emr.loc[IDS[7], "value"] == 1.0
    assert emr.loc[IDS[7], "reason"] is pd.NA
    assert emr["value"].mean() == pytest.approx(2 / 6)
    assert scores["judge"].isna().all()


def test_means_over_the_table_are_those_of_the_report(demo_run: Run) -> None:
    assert means(demo_run.scores()) == reported(demo_run.report())


def test_the_means_of_the_report_are_a_table_with_their_intervals(demo_run: Run) -> None:
    table = demo_run.metrics()
    assert str(table["mean"].dtype) == "Float64"
    shown = table[table["part"] == "mean"].set_index(["setting", "metric"])
    for setting in demo_run.report()["settings"]:
        for name, metric in setting["metrics"].items():
            row = shown.loc[setting["setting"], name]
            assert row["mean"] == metric["mean"]
            assert (row["ci95_low"], row["ci95_high"]) == tuple(metric["interval"])
            assert row["n_scored"] == metric["n_scored"]


def test_a_judge_s_scores_are_those_of_its_report(judged_run: Run) -> None:
    assert list(judged_run.judges) == ["one", "two"]
    for name in judged_run.judges:
        found, expected = means(judged_run.scores(name)), reported(judged_run.report(name))
        assert {key: value for key, value in found.items() if value is not pd.NA} == {
            key: value for key, value in expected.items() if value.expected is not None
        }
        assert {key for key, value in found.items() if value is pd.NA} == {
            key for key, value in expected.items() if value.expected is None
        }


def test_labels_of_one_judge_with_what_is_missing(judged_run: Run) -> None:
    labels = judged_run.judgements("two")
    assert set(labels["judge"]) == {"two"}
    missing = labels[labels["reason"].notna()]
    assert "judge_invalid" in set(missing["reason"])
    assert missing["item"].isna().all()
    assert all(label is None for label in missing["label"])
    accuracy = labels[(labels["kind"] == "accuracy") & labels["item"].notna()]
    assert set(map(type, accuracy["label"])) == {bool}


def test_a_judge_that_the_run_does_not_have(judged_run: Run) -> None:
    for method in (judged_run.scores, judged_run.judgements, judged_run.report):
        with pytest.raises(RunError, match="no judgements by 'three'; there are: one, two"):
            method("three")


def test_units_cases_and_exchanges(demo_run: Run) -> None:
    units, cases, exchanges = demo_run.units(), demo_run.cases(), demo_run.exchanges()
    assert len(units) == 16
    assert units["status"].value_counts()["answered"] == 14
    assert isinstance(units["transcript"][0]["messages"], list)
    assert list(cases["case"]) == [IDS[n] for n in range(1, 9)]
    assert cases["record"][0]["correct"] == ["a", "b", "d", "e"]
    # one call a unit and a re-ask each in "none" 6 and "full" 5
    assert len(exchanges) == 18
    assert set(exchanges["role"]) == {"doctor"}
    assert exchanges["prompt_tokens"].notna().all()
    assert demo_run.spec.settings == ("none", "full")


def test_the_types_of_the_columns_do_not_depend_on_what_is_in_them(demo_run: Run, judged_run: Run) -> None:
    for name in ("scores", "units", "cases", "exchanges"):
        assert dict(getattr(demo_run, name)().dtypes) == dict(getattr(judged_run, name)().dtypes)


def test_texts_are_as_the_model_sent_them(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDJUDGE_API_KEY", KEY)
    run = load_run(hostile(cli, tmp_path / "run"))
    responses = run.exchanges()["response"]
    assert responses.str.len().max() > 1_000_000
    assert responses.str.contains("\\\\ud83d").any()
    assert not responses.str.contains(KEY).any()
    assert LONE not in str(run.units()["transcript"][2])
    assert means(run.scores()) == reported(run.report())
    assert run.scores()["epoch"].value_counts().to_dict() == {1: 45, 2: 45}


def test_a_run_that_is_not_finished_can_be_read(cli: Command, tmp_path: Path) -> None:
    run = load_run(unfinished(cli, tmp_path / "run"))
    emr = run.scores().query("metric == 'emr'")
    assert emr["value"].notna().sum() == 3
    assert (emr["reason"] == "not_run").sum() == 5
    assert sum(transcript is None for transcript in run.units()["transcript"]) == 5


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="is no run"):
        load_run(tmp_path)


# -- running ---------------------------------------------------------------------------------------------------------


def test_evaluate_does_what_the_command_does(demo_run: Run, tmp_path: Path) -> None:
    run = evaluate("caremedeval", RECORDING, DATA, tmp_path / "run", context=["none", "full"])
    assert run.folder == tmp_path / "run"
    ours, theirs = run.report(), demo_run.report()
    assert ours["settings"] == theirs["settings"]
    assert ours["spec"] == theirs["spec"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


async def test_evaluate_works_where_an_event_loop_is_running(tmp_path: Path) -> None:
    run = evaluate("caremedeval", RECORDING, str(DATA), str(tmp_path / "run"), context="none")
    assert run.report()["state"] == "complete"
    assert asyncio.get_running_loop().is_running()


def test_options_reach_the_model(tmp_path: Path) -> None:
    with ModelServer(right) as server:
        run = evaluate(
            "caremedeval", server.spec, DATA, tmp_path / "run", context="none", case=[IDS[2], IDS[3]], epochs=2,
            temperature=0, max_tokens=50, extra_body={"top_p": 0.5}, connections=2, tries=None,
        )  # fmt: skip
        bodies = [call.request.body for call in server.calls]
    assert len(bodies) == 4
    assert all((body["temperature"], body["top_p"]) == (0, 0.5) for body in bodies)
    assert set(run.units()["case"]) == {IDS[2], IDS[3]}
    assert run.scores().query("metric == 'emr'")["value"].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"benchmark": "nothing"}, "there is no benchmark 'nothing'; there are: caremedeval"),
        ({"contexts": ["none"]}, "caremedeval has no option 'contexts'; there are: model, data, out, limit"),
        ({"context": ["half"]}, "'half' is not one of"),
        ({"epochs": 0}, "--epochs"),
        ({"temperature": float("nan")}, "not a finite number"),
        ({"limit": [1, 2]}, "the option 'limit' of caremedeval takes one value"),
        ({"context": None}, "--context is missing"),
        ({"model": None}, "--model is missing"),
        ({"tokenizer": "nowhere.json"}, "nowhere.json"),
        ({"retry": ["errors"]}, "retry goes with resume"),
        ({"help": True}, "no option 'help'"),
        ({"as_json": True}, "no option 'as_json'"),
    ],
)
def test_what_cannot_be_used_is_one_sentence_and_writes_nothing(
    tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    given = {"benchmark": "caremedeval", "model": RECORDING, "data": DATA, "out": tmp_path / "run", "context": "none"}
    with pytest.raises(UserError) as caught:
        evaluate(**(given | options))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_there_is_not_overwritten(demo_run: Run) -> None:
    before = demo_run.report()
    with pytest.raises(RunError, match="holds a run already"):
        evaluate("caremedeval", RECORDING, DATA, demo_run.folder, context="none")
    assert demo_run.report() == before


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unreachable):
        evaluate("caremedeval", "http://127.0.0.1:9/v1#m", DATA, tmp_path / "run", context="none")
    assert not list(tmp_path.iterdir())


def test_what_ends_a_run_early_is_raised_and_what_was_answered_stays(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with ModelServer(lambda request: right(request) if request.n <= 3 else error(401, "no")) as server:
        with pytest.raises(Refused) as caught:
            evaluate("caremedeval", server.spec, DATA, out, context="none", connections=1)
        assert any(str(out) in note for note in caught.value.__notes__)
        assert load_run(out).report()["statuses"] == {"pending": 5, "answered": 3}
        server.script = right
        asked = server.chat_count
        run = evaluate("caremedeval", resume=out)
    assert run.report()["statuses"] == {"answered": 8}
    assert server.chat_count - asked == 5
    with pytest.raises(SpecError, match="only one of them"):
        evaluate("caremedeval", resume=out, out=tmp_path / "other")


def test_rejudge_adds_a_judge_and_asks_nothing_twice(judged_run: Run) -> None:
    with ModelServer(SyntheticJudge(), models=["judge-model"]) as server:
        spec = f"{server.url}#judge-model"
        run = rejudge(judged_run.folder, spec, judge_name="three", judge_protocol="batched", only=["accuracy"])
        asked = server.chat_count
        again = rejudge(judged_run.folder, spec, judge_name="three", judge_protocol="batched", only="accuracy")
        with pytest.raises(RunError, match="other settings"):
            rejudge(judged_run.folder, spec, judge_name="three", judge_protocol="per-step", only="accuracy")
    assert server.chat_count == asked > 0
    assert list(again.judges) == ["one", "two", "three"]
    assert set(run.judgements("three")["kind"]) == {"accuracy"}


async def test_a_run_is_judged_when_it_is_done_in_a_notebook_too(tmp_path: Path) -> None:
    with ModelServer(SyntheticJudge(), models=["judge-model"]) as server:
        run = evaluate(
            "medrbench", f"replay:{MEDRBENCH / 'demo.recording.jsonl'}", MEDRBENCH, tmp_path / "run",
            setting="oracle", judge=f"{server.url}#judge-model", judge_name="j", judge_protocol="batched",
        )  # fmt: skip
    assert list(run.judges) == ["j"]
    assert run.scores("j").query("metric == 'efficiency'")["value"].notna().all()


def test_a_judge_that_refuses(judged_run: Run) -> None:
    with ModelServer(error(401, "no"), models=["judge-model"]) as server, pytest.raises(Refused):
        rejudge(judged_run.folder, f"{server.url}#judge-model", judge_name="refusing")
    assert "refusing" not in judged_run.judges


@pytest.mark.parametrize("where", ["script", "notebook"])
def test_an_interrupted_run_is_said_to_be_unfinished(tmp_path: Path, where: str) -> None:
    """Ctrl-C, at the third call, in a process of its own; a notebook's loop is running already."""
    code = f"""
import asyncio, os, signal, sys, time
sys.path.insert(0, {str(CHECKOUT)!r})
from judge import evaluate
from judge.errors import Interrupted
from tests.runs.synthetic import DATA, right
from tests.server import ModelServer

def script(request):
    if request.n == 3:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)  # else all could be answered before the signal arrives
    return right(request)

def work():
    with ModelServer(script) as server:
        evaluate("caremedeval", server.spec, DATA, {str(tmp_path / "run")!r}, context="none", connections=1)

async def cell():
    work()

try:
    work() if {where!r} == "script" else asyncio.new_event_loop().run_until_complete(cell())
except Interrupted as end:
    print(end)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert "is not finished; what was answered before is stored there" in done.stdout, done.stderr
    statuses = load_run(tmp_path / "run").report()["statuses"]
    assert statuses["answered"] >= 2
    assert statuses["pending"] >= 1
