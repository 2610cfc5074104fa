"""Runs judged by a model, through the command line and a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench.judging.evaluate import ReasoningJudging
from judge.judgements import UnitJudgements
from tests.conftest import CHECKOUT, Command, Ran
from tests.medrbench.synthetic_judge import SyntheticJudge, question_of
from tests.server import ModelServer, Reply, Request, error

DATA = CHECKOUT / "fixtures/medrbench"
CASES = ("SYN0000001", "SYN0000002", "SYN0000003")

#: Three outputs whose steps a test can name.
OUTPUTS = {
    CASES[0]: "### Reasoning:\n<step 1> Alpha.\n<step 2> Beta.\n<step 3> Gamma.\n<step 4> Delta.\n### Answer:\nGout",
    CASES[1]: "### Reasoning:\n<step 1> Epsilon.\n<step 2> Zeta.\n### Answer:\nPurpura",
    CASES[2]: "### Reasoning:\n<step 1> Eta.\n### Answer:\nEndocarditis",
}


@pytest.fixture
def run(cli: Command, tmp_path: Path) -> Path:
    """A run of the three outputs."""
    file = tmp_path / "outputs.json"
    file.write_text(json.dumps(OUTPUTS), encoding="utf-8")
    ran = cli("import", "medrbench", "--setting", "oracle", "--predictions", file, "--data", DATA,
              "--out", tmp_path / "run")  # fmt: skip
    assert ran.code == 0, ran.err
    return tmp_path / "run"


@pytest.fixture
def judge() -> SyntheticJudge:
    return SyntheticJudge()


@pytest.fixture
def server(judge: SyntheticJudge) -> Iterator[ModelServer]:
    with ModelServer(judge, models=["judge-model", "test-model"]) as server:
        yield server


def judged(cli: Command, server: ModelServer, run: Path, *more: Any) -> Ran:
    return cli("judge", run, "--judge", f"{server.url}#judge-model", "--json", *more)


def metrics(report: dict[str, Any], setting: int = 0) -> dict[str, dict[str, Any]]:
    return dict(report["settings"][setting]["metrics"])


def means(report: dict[str, Any]) -> dict[str, float | None]:
    return {name: metric["mean"] for name, metric in metrics(report).items()}


@pytest.mark.parametrize("protocol", ["per-step", "batched"])
def test_metrics_of_three_cases_by_hand(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path, protocol: str
) -> None:
    references = {case: references_of(run, case) for case in CASES}
    judge.verdicts = {
        "effectiveness": {"Alpha": "citation", "Beta": "reasoning", "Gamma": "reasoning", "Delta": "redundancy",
                          "Epsilon": "reasoning", "Zeta": "repetition", "Eta": "Citation."},
        "factuality": {"Beta": "correct", "Gamma": "wrong", "Epsilon": "CORRECT"},
        "outcome": {"Gout": "wrong", "Purpura": "correct", "Endocarditis": "correct"},
        # of each case the first reference step is found, of the second case the last one as well
        "match": {text: number == 0 or (case == CASES[1] and number == len(texts) - 1)
                  for case, texts in references.items() for number, text in enumerate(texts)},
    }  # fmt: skip
    report = judged(cli, server, run, "--judge-protocol", protocol).json
    found = means(report)
    assert found["accuracy"] == pytest.approx((0 + 1 + 1) / 3)
    assert found["efficiency"] == pytest.approx((2 / 4 + 1 / 2 + 0 / 1) / 3)
    # of the third case no step is effective, which counts 0 by convention
    assert found["factuality"] == pytest.approx((1 / 2 + 1 / 1 + 0) / 3)
    sizes = [len(references[case]) for case in CASES]
    assert found["completeness"] == pytest.approx((1 / sizes[0] + 2 / sizes[1] + 1 / sizes[2]) / 3)
    assert metrics(report)["factuality"]["n_empty"] == 1
    assert f"protocol:{protocol}" in metrics(report)["accuracy"]["signature"]


def references_of(run: Path, case: str) -> tuple[str, ...]:
    from judge.runs.store import benchmark_of, open_run

    store = open_run(run, write=False)
    try:
        return benchmark_of(store).references(list(store.cases().values())).cases[case].steps  # type: ignore[attr-defined,no-any-return]
    finally:
        store.close()


def test_judging_asks_nothing_twice_and_another_judge_changes_nothing(
    cli: Command, server: ModelServer, run: Path
) -> None:
    first = judged(cli, server, run, "--judge-name", "one")
    assert first.code == 0, first.err
    asked = server.chat_count
    again = judged(cli, server, run, "--judge-name", "one")
    assert (server.chat_count, means(again.json)) == (asked, means(first.json))
    other = judged(cli, server, run, "--judge-name", "two", "--judge-protocol", "batched")
    assert server.chat_count > asked
    assert other.json["judges"] == ["one", "two"]
    assert means(cli("score", run, "--judge", "one", "--json").json) == means(first.json)


def test_the_protocol_and_what_it_costs_stand_in_the_report(cli: Command, server: ModelServer, run: Path) -> None:
    judges = {name: judged(cli, server, run, "--judge-protocol", name, "--judge-name", name).json["judge"]
              for name in ("per-step", "batched")}  # fmt: skip
    for name, judge in judges.items():
        assert judge["protocol"] == judge["spec"]["protocol"] == name
        assert judge["mode"] == "TOOLS"
        assert judge["units"] == 3
    # one probe each; a call for the answer of each unit, and in batches one for all labels and one for all matches
    assert judges["batched"]["cost"]["calls"] == 1 + 3 * 3
    steps, effective = 7, 7
    references = sum(len(references_of(run, case)) for case in CASES)
    assert judges["per-step"]["cost"]["calls"] == 1 + 3 + steps + effective + references
    assert judges["per-step"]["cost"]["prompt_tokens"] > 3 * judges["batched"]["cost"]["prompt_tokens"]
    printed = cli("score", run, "--judge", "batched").out
    assert "judged by batched" in printed
    assert "batched (batched): 3.3 calls" in printed


def test_only_what_is_wanted_is_judged(cli: Command, server: ModelServer, run: Path) -> None:
    report = judged(cli, server, run, "--only", "accuracy").json
    assert means(report)["accuracy"] is not None
    assert metrics(report)["efficiency"]["unscored"] == {"not_judged": 3}
    assert {question_of(call.request.text) for call in server.calls[1:]} == {"outcome.diagnosis"}


def test_a_judge_that_is_cut_off_leaves_that_item_unscored_until_it_is_asked_again(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    judge.verdicts = {"outcome": {"Purpura": Reply(content='{"rationale": "It', finish_reason="length")}}
    ran = judged(cli, server, run, "--only", "accuracy")
    accuracy = metrics(ran.json)["accuracy"]
    assert (ran.code, accuracy["n_scored"], accuracy["unscored"]) == (0, 2, {"judge_truncated": 1})
    assert accuracy["bounds"][0] < accuracy["bounds"][1]
    judge.verdicts = {}
    asked = server.chat_count
    again = judged(cli, server, run, "--only", "accuracy", "--retry", "judge_truncated")
    assert metrics(again.json)["accuracy"]["n_scored"] == 3
    assert server.chat_count == asked + 1
    unknown = judged(cli, server, run, "--only", "accuracy", "--retry", "judge_truncated")
    assert (unknown.code, "there are: none" in unknown.sentence) == (2, True)


def test_an_endpoint_that_fails_is_an_error_that_can_be_asked_again(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    server.script = lambda request: error(500, "no") if "Purpura" in request.text else judge(request)
    ran = judged(cli, server, run, "--only", "accuracy", "--tries", "1")
    assert (ran.code, metrics(ran.json)["accuracy"]["unscored"]) == (1, {"judge_server_error": 1})
    assert "--retry errors" in ran.err
    server.script = judge
    again = judged(cli, server, run, "--only", "accuracy", "--retry", "errors")
    assert (again.code, metrics(again.json)["accuracy"]["n_scored"]) == (0, 3)


def test_a_judge_that_is_gone_midway_is_continued_without_paying_twice(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    server.script = lambda request: error(401, "no") if len(server.calls) > 12 else judge(request)
    ran = judged(cli, server, run, "--connections", "1")
    assert ran.code == 1
    assert "Continue with the same options" in ran.err
    answered = {call.sha256 for call in server.calls if call.request.n <= 12}
    server.script = judge
    server.reset()
    whole = judged(cli, server, run)
    assert whole.code == 0, whole.err
    assert not answered & {call.sha256 for call in server.calls}


def test_a_judge_that_never_answers_leaves_nothing_behind(cli: Command, server: ModelServer, run: Path) -> None:
    server.script = error(401, "no")
    ran = judged(cli, server, run)
    assert ran.code == 2
    assert cli("score", run, "--json").json["judges"] == []
    ran = cli("judge", run, "--judge", "http://127.0.0.1:9/v1#nobody")
    assert (ran.code, cli("score", run, "--json").json["judges"]) == (2, [])


def test_a_judge_keeps_its_settings(cli: Command, server: ModelServer, run: Path) -> None:
    assert judged(cli, server, run, "--judge-name", "j").code == 0
    ran = judged(cli, server, run, "--judge-name", "j", "--judge-protocol", "batched", "--only", "accuracy")
    assert ran.code == 2
    assert "protocol is 'per-step' in the run, 'batched' here" in ran.sentence
    assert "give another --judge-name" in ran.sentence


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "poetry"], "there are: accuracy, reasoning, exams"),
        (["--only", ","], "--only names nothing"),
        (["--evidence", "library"], "is no evidence"),
        (["--evidence", "corpus:/nowhere"], "/nowhere"),
        (["--reference", "/nowhere.json"], "/nowhere.json"),
        (["--judge", "human"], "import-judgements"),
        (["--judge-extra-body", "[]"], "--judge-extra-body"),
        (["--judge-prompts", "/nowhere"], "/nowhere"),
        (["--retry", "judge_truncated"], "no label of judge-model is missing"),
    ],
)
def test_what_cannot_be_used_is_said_and_nothing_is_asked(
    cli: Command, server: ModelServer, run: Path, options: list[str], said: str
) -> None:
    ran = judged(cli, server, run, *options)
    assert (ran.code, said in ran.sentence, server.chat_count) == (2, True, 0)


def test_a_judge_of_its_own_outputs_is_said(
    cli: Command, judge: SyntheticJudge, server: ModelServer, tmp_path: Path
) -> None:
    server.script = lambda r: judge(r) if server.calls[1:] else Reply(content=OUTPUTS[CASES[0]])
    ran = cli("run", "medrbench", "--model", server.spec, "--data", DATA, "--setting", "oracle", "--limit", 1,
              "--judge", server.spec, "--out", tmp_path / "run", "--json")  # fmt: skip
    assert any("outputs of its own model" in warning for warning in ran.json["warnings"])


def test_a_run_with_a_judge_is_judged_when_it_is_continued(cli: Command, judge: SyntheticJudge, tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        if request.body["model"] != "doctor":
            return judge(request)
        return error(401, "no") if len(server.calls) > 1 else Reply(content=OUTPUTS[CASES[0]])

    with ModelServer(script, models=["doctor", "judge-model"]) as server:
        ran = cli("run", "medrbench", "--model", f"{server.url}#doctor", "--data", DATA, "--setting", "oracle",
                  "--judge", f"{server.url}#judge-model", "--judge-protocol", "batched", "--out", tmp_path / "run",
                  "--connections", 1, "--json")  # fmt: skip
        assert (ran.code, ran.json["judge"]) == (1, None)
        server.script = lambda r: Reply(content=OUTPUTS[CASES[0]]) if r.body["model"] == "doctor" else judge(r)
        again = cli("run", "medrbench", "--resume", tmp_path / "run", "--json")
        assert again.code == 0, again.err
        assert again.json["judge"]["protocol"] == "batched"
        assert metrics(again.json)["efficiency"]["n_scored"] == 3


def test_options_of_a_judge_need_a_judge(cli: Command, server: ModelServer, tmp_path: Path) -> None:
    ran = cli("run", "medrbench", "--model", server.spec, "--data", DATA, "--setting", "oracle",
              "--judge-protocol", "batched", "--out", tmp_path / "run")  # fmt: skip
    assert (ran.code, "--judge-protocol goes with --judge" in ran.sentence) == (2, True)
    ran = cli("run", "medrbench", "--model", server.spec, "--data", DATA, "--setting", "oracle",
              "--judge", "http://127.0.0.1:9/v1#nobody", "--out", tmp_path / "run")  # fmt: skip
    assert (ran.code, server.chat_count, (tmp_path / "run").exists()) == (2, 0, False)


def test_a_recorded_judge_is_replayed(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "judge.jsonl"
    judge.verdicts = {"outcome": {"Gout": Reply(content="", finish_reason="length")}}
    live = judged(cli, server, run, "--record", file)
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["models"] == {
        "judge:judge-model": f"{server.url}#judge-model"
    }
    copy_without_judges(run, tmp_path / "copy")
    server.close()
    replayed = cli("judge", tmp_path / "copy", "--judge", f"replay:{file}", "--json")
    assert replayed.code == 0, replayed.err
    assert metrics(replayed.json) == metrics(live.json)
    other = tmp_path / "outputs.json"
    cli("import", "medrbench", "--setting", "oracle", "--predictions", other, "--data", DATA, "--out", tmp_path / "new")
    strange = cli("judge", tmp_path / "new", "--judge", f"replay:{file}")
    assert (strange.code, "the recording of another run" in strange.sentence) == (2, True)


def copy_without_judges(run: Path, copy: Path) -> None:
    import shutil
    import sqlite3

    shutil.copytree(run, copy)
    with sqlite3.connect(copy / "run.sqlite") as db:
        for table in ("judges", "judged", "judgements", "exchanges", "scores"):
            db.execute(f"DELETE FROM {table}")


def test_evidence_that_was_looked_up_is_shown_with_its_source(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path, tmp_path: Path
) -> None:
    guide = tmp_path / "guide"
    guide.mkdir()
    (guide / "gout.txt").write_text("Uric acid crystals in the joint fluid prove gout.\n", encoding="utf-8")
    told: set[str] = set()

    def script(request: Request) -> Reply:
        if "Beta" in request.text and "Uric acid crystals" in request.text:
            told.add(question_of(request.text))
        return judge(request)

    server.script = script
    judge.verdicts = {"factuality": {"Beta": ("needs_evidence", ["uric acid crystals"])},
                      "factuality.final": {"Beta": "wrong"}}  # fmt: skip
    ran = judged(cli, server, run, "--evidence", f"corpus:{guide}", "--only", "reasoning")
    assert ran.code == 0, ran.err
    assert told >= {"factuality"}
    assert "evidence:corpus@" in metrics(ran.json)["factuality"]["signature"]
    shown = cli("show", run, CASES[0]).out
    assert "uric acid crystals" in shown
    assert "gout.txt" in shown


def test_a_fault_in_one_unit_leaves_it_open_and_the_others_judged(
    cli: Command, server: ModelServer, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_one = ReasoningJudging.judge

    async def judge(self: Any, case: Any, unit: Any, transcript: Any) -> UnitJudgements:
        if unit.case == CASES[1]:
            raise TypeError("a fault of ours")
        return await judge_one(self, case, unit, transcript)

    monkeypatch.setattr(ReasoningJudging, "judge", judge)
    ran = judged(cli, server, run, "--only", "accuracy")
    assert (ran.code, len(ran.json["judge_faults"])) == (1, 1)
    assert metrics(ran.json)["accuracy"]["unscored"] == {"not_judged": 1}
    assert "has judged 2 of 3 units so far" in "".join(ran.json["warnings"])
    monkeypatch.undo()
    assert metrics(judged(cli, server, run, "--only", "accuracy").json)["accuracy"]["n_scored"] == 3


def test_asking_again_leaves_every_other_label_as_it_is(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    judge.verdicts = {"effectiveness": {"Beta": Reply(content="It is hard to say.")},
                      "outcome": {"Gout": "correct"}}  # fmt: skip
    first = judged(cli, server, run)
    assert metrics(first.json)["efficiency"]["unscored"] == {"judge_invalid": 1}
    judge.verdicts = {"outcome": {"Gout": "wrong"}}  # it would say something else now, but is not asked
    server.reset()
    again = judged(cli, server, run, "--retry", "judge_invalid")
    assert metrics(again.json)["efficiency"]["n_scored"] == 3
    assert means(again.json)["accuracy"] == means(first.json)["accuracy"]
    assert [question_of_or_none(call.request) for call in server.calls] == ["effectiveness", "factuality.final"]


def test_labels_stay_where_asking_again_comes_to_nothing(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    judge.verdicts = {"effectiveness": {"Beta": Reply(content="It is hard to say.")}}
    first = judged(cli, server, run)
    server.script = error(401, "no")
    assert judged(cli, server, run, "--retry", "judge_invalid").code == 1
    kept = cli("score", run, "--judge", "judge-model", "--json")
    assert means(kept.json) == means(first.json)
    judge.verdicts, server.script = {}, judge
    assert metrics(judged(cli, server, run, "--retry", "judge_invalid").json)["efficiency"]["n_scored"] == 3


def test_a_split_that_failed_is_asked_again(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    server.script = lambda r: Reply(content="No.") if question_of_or_none(r) == "split.reasoning" else judge(r)
    options = ("--step-splitter", "judge", "--only", "reasoning", "--judge-protocol", "batched")
    first = judged(cli, server, run, *options)
    assert metrics(first.json)["efficiency"]["unscored"] == {"judge_invalid": 3}
    server.script = judge
    again = judged(cli, server, run, *options, "--retry", "judge_invalid")
    assert metrics(again.json)["efficiency"]["n_scored"] == 3
    assert again.json["judge"]["cost"]["split_calls"] > 0
    assert set(again.json["judge"]["splitters"]) == {f"{server.url}#judge-model"}


def question_of_or_none(request: Request) -> str:
    return "" if "cloudless sky" in request.prompt else question_of(str(request.messages[0]["content"]))


def test_a_judge_that_could_not_be_probed_is_probed_again(
    cli: Command, judge: SyntheticJudge, server: ModelServer, run: Path
) -> None:
    server.script = Reply(content="I would rather talk.")
    assert judged(cli, server, run, "--only", "accuracy").code == 2
    server.script = judge
    ran = judged(cli, server, run, "--only", "accuracy", "--judge-max-tokens", "4000")
    assert (ran.code, metrics(ran.json)["accuracy"]["n_scored"]) == (0, 3), ran.err


def test_judges_of_answers_and_of_thinking_are_not_set_side_by_side(
    cli: Command, server: ModelServer, run: Path
) -> None:
    judged(cli, server, run, "--judge-name", "a")
    judged(cli, server, run, "--judge-name", "t", "--reasoning-source", "thinking", "--judge-protocol", "batched")
    both = cli("score", run, "--judge", "a", "--judge", "t", "--json").json
    assert {one["metric"] for one in both["not_comparable"]} == {"efficiency", "factuality", "completeness"}
    assert any("differ in protocol as well (a: per-step, t: batched)" in note for note in both["notes"])


def test_another_name_for_the_same_evidence_is_the_same_judge(
    cli: Command, server: ModelServer, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide/a.txt").write_text("Gout is painful.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    relative = judged(cli, server, run, "--only", "reasoning", "--evidence", "corpus:guide")
    absolute = judged(cli, server, run, "--only", "reasoning", "--evidence", f"corpus:{tmp_path / 'guide'}")
    assert (relative.code, absolute.code) == (0, 0), absolute.err
    (tmp_path / "guide/a.txt").write_text("Gout is not painful.", encoding="utf-8")
    changed = judged(cli, server, run, "--only", "reasoning", "--evidence", "corpus:guide")
    assert (changed.code, "evidence_version is" in changed.sentence) == (2, True)


@pytest.mark.parametrize("name", ["", " ", " a", "a\u202eb", "x" * 81])
def test_a_name_of_a_judge_can_be_read(cli: Command, server: ModelServer, run: Path, name: str) -> None:
    ran = judged(cli, server, run, "--judge-name", name)
    assert (ran.code, "--judge-name" in ran.sentence, server.chat_count) == (2, True, 0)
