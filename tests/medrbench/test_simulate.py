"""A person is the doctor, or follows a model: over a plain pipe, and the session itself."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphs.medrbench.reading import read_turn
from graphs.medrbench.simulate_graph import NOTE_HEAD
from graphs.medrbench.simulate_words import as_turn, is_complete, unsent
from judge.runs.store import open_run
from tests.conftest import CHECKOUT, Command, Ran, invoke
from tests.server import ModelServer, Reply, Request, error, hangs, says

DATA = CHECKOUT / "fixtures" / "medrbench"
RECORDED = f"replay:{DATA / 'demo.recording.jsonl'}"
TTP = "Immune thrombotic thrombocytopenic purpura"
CASE = ("--case", "SYN0000002", "--data", DATA)


def simulate(folder: Path, typed: str, *arguments: object) -> Ran:
    """`medjudge simulate medrbench` in this process, with `typed` on its standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        return invoke("simulate", "medrbench", *arguments, "--out", folder)


def piped(folder: Path, typed: str, *arguments: object) -> Ran:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "medjudge", "simulate", "medrbench", *map(str, arguments), "--out", str(folder)],
        cwd=CHECKOUT, input=typed.encode("utf-8", errors="surrogateescape"), capture_output=True, timeout=120,
        check=False,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def session(folder: Path) -> Path:
    (found,) = (folder / "sessions").iterdir()
    return found


def saved(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((session(folder) / "session.json").read_text(encoding="utf-8"))
    return document


def transcript(folder: Path) -> dict[str, Any]:
    store = open_run(session(folder) / "run", write=False)
    try:
        (unit,) = store.units()
    finally:
        store.close()
    assert unit.transcript is not None
    return {"status": unit.status, "flags": unit.flags, **unit.transcript.data}


def figure(out: str, title: str) -> str:
    """The value of a metric in the closing table."""
    found = re.search(rf"^{re.escape(title)}\s{{2,}}(\S+)", out, re.MULTILINE)
    assert found, out
    return found.group(1)


# -- a person over a pipe ----------------------------------------------------------------------------------------------


def test_a_person_asks_concludes_and_gets_a_model_s_scores(tmp_path: Path, cli: Command) -> None:
    ran = piped(tmp_path, f"CBC\nADAMTS13 activity\n\ndiagnosis: {TTP}\n", *CASE)
    assert (ran.code, ran.err) == (0, "")
    assert "hemoglobin 7.4 g/dL" in ran.out
    assert figure(ran.out, "Exact answer") == "1"
    assert figure(ran.out, "Exam precision (names)") == "1"
    # 12 laboratory entries share one of two tests, CT is the other: 3 of 12 halves, since the inhibitor comes along
    assert figure(ran.out, "Exam recall (names)") == "0.125"
    ended = transcript(tmp_path)
    assert ended["status"] == "concluded"
    assert [turn["by"] for turn in ended["turns"]] == ["person", "person"]
    shown = cli("show", session(tmp_path) / "run", "--json").json
    assert shown["model"] == "human"
    assert shown["units"][0]["scores"]["exact"] == 1
    assert any("a person was the doctor" in warning for warning in shown["warnings"])
    assert cli("score", session(tmp_path) / "run").code == 0


def test_concluding_at_once_shows_the_reference_only_then(tmp_path: Path) -> None:
    ran = piped(tmp_path, "DIAGNOSIS: gout\n", *CASE)
    before, _, after = ran.out.partition("> DIAGNOSIS")
    assert "purpura" not in before.casefold()
    assert TTP in after
    assert "asked_nothing" in transcript(tmp_path)["flags"]


def test_a_loop_in_other_words_is_seen(tmp_path: Path) -> None:
    ran = piped(tmp_path, "complete blood count\n\nfull blood count\n\ndiagnosis: anemia\n", *CASE)
    assert figure(ran.out, "Looped") == "1"
    assert figure(ran.out, "Repeat rate") == "0.500"
    assert transcript(tmp_path)["first_looping_turn"] == 2


@pytest.mark.parametrize(("policy", "status"), [("record", "concluded"), ("stop", "loop_stopped")])
def test_the_loop_policy_holds_for_a_person(tmp_path: Path, policy: str, status: str) -> None:
    ran = simulate(tmp_path, "CBC\n\nfull blood count\n\ndiagnosis: anemia\n", *CASE, "--on-loop", policy)
    assert transcript(tmp_path)["status"] == status
    assert "asked before" not in ran.out


def test_a_nudge_reaches_the_person(tmp_path: Path) -> None:
    ran = simulate(tmp_path, "CBC\n\nfull blood count\n\n", *CASE, "--on-loop", "nudge")
    assert "All of this was asked before" in ran.out


def test_the_last_turn_is_announced_and_ends_the_examination(tmp_path: Path) -> None:
    ran = simulate(tmp_path, "CBC\n\nLDH\n\n", *CASE, "--max-turns", "2")
    assert "Turn 2 of 2" in ran.out
    assert "This is the last turn" in ran.out
    assert figure(ran.out, "Exact answer") == "unscored"
    assert transcript(tmp_path)["status"] == "max_turns"


def test_one_round_then_a_conclusion(tmp_path: Path) -> None:
    ran = simulate(tmp_path, f"CBC\n\ndiagnosis: {TTP}\n", *CASE, "--setting", "one_turn")
    assert "one round of examinations" in ran.out
    assert "conclude now" in ran.out
    assert transcript(tmp_path)["status"] == "concluded"


def test_after_the_last_turn_a_conclusion_can_be_asked_for(tmp_path: Path) -> None:
    typed = f"CBC\n\nLDH\n\ndiagnosis: {TTP}\n"
    ran = simulate(tmp_path, typed, *CASE, "--max-turns", "2", "--final-turn", "ask")
    assert "After the last turn" in ran.out
    assert figure(ran.out, "Exact answer") == "1"


def test_undo_takes_back_the_last_turn(tmp_path: Path) -> None:
    typed = "CBC\n\ntroponin\n\n/undo\n/exams\nhaptoglobin\n\ndiagnosis: x\n"
    ran = piped(tmp_path, typed, *CASE)
    assert ran.out.count("=== Turn 2 of 5") == 2
    requests = [turn["requests"] for turn in transcript(tmp_path)["turns"]]
    assert requests == [["CBC"], ["haptoglobin"], []]
    assert saved(tmp_path)["undone"] == 1


def test_undo_again_and_again_ends_at_the_beginning(tmp_path: Path) -> None:
    ran = simulate(tmp_path, "CBC\n\nLDH\n\n/undo\n/undo\n/undo\n/exams\ntroponin\n/undo\n\ndiagnosis: x\n", *CASE)
    assert "There is no turn to take back." in ran.out
    assert "Nothing has been asked yet." in ran.out
    assert "The lines not yet sent are dropped." in ran.out
    assert len(transcript(tmp_path)["turns"]) == 1


def test_save_and_resume_by_id(tmp_path: Path) -> None:
    ran = piped(tmp_path, "CBC\n\n/save\n", *CASE)
    assert ran.code == 0
    name = session(tmp_path).name
    assert f"Continue with: medjudge simulate medrbench --out {tmp_path} --resume {name}" in ran.out
    again = piped(tmp_path, f"/undo\nLDH\n\ndiagnosis: {TTP}\n", "--resume", name)
    assert again.code == 0
    assert [turn["requests"] for turn in transcript(tmp_path)["turns"]] == [["LDH"], []]
    ended = piped(tmp_path, "", "--resume", session(tmp_path))
    assert ended.code == 0
    assert TTP in ended.out


def test_a_run_left_half_written_is_written_again(tmp_path: Path) -> None:
    simulate(tmp_path, "diagnosis: x\n", *CASE)
    store = open_run(session(tmp_path) / "run", write=True)
    store.reopen(["concluded"])
    store.close()
    assert simulate(tmp_path, "", "--resume", session(tmp_path).name).code == 0
    assert transcript(tmp_path)["answer"] == "x"


def test_the_end_of_input_saves_even_what_was_not_sent(tmp_path: Path) -> None:
    ran = piped(tmp_path, "CBC\n\ntroponin", *CASE)
    assert ran.code == 0
    assert "Continue with:" in ran.out
    assert saved(tmp_path)["draft"] == ["troponin"]
    again = piped(tmp_path, "\n", "--resume", session(tmp_path).name)
    assert "Not yet sent" in again.out
    assert "Troponin T: 46 ng/L" in again.out


@pytest.mark.parametrize("typed", ["", "\n\n\n", "/quit\n", "/help\n/case\n/exams\n/nothing\n"])
def test_leaving_at_once_is_no_error(tmp_path: Path, typed: str) -> None:
    ran = simulate(tmp_path, typed, *CASE)
    assert (ran.code, ran.err) == (0, "")
    assert saved(tmp_path)["inputs"] == []


def test_hints_on_the_form_come_only_when_asked(tmp_path: Path) -> None:
    assert "Additional Information" not in simulate(tmp_path, "CBC\n\n", *CASE).out
    assert "### Additional Information Required:" in simulate(tmp_path, "/help\n", *CASE).out


def test_three_sections_are_taken_as_they_are(tmp_path: Path) -> None:
    typed = (
        "### Chain of Thought:\n<step 1> Few platelets.\n\n### Additional Information Required:\n- CBC\n\n"
        "### Conclusion:\nperhaps ITP\n\n"
        f"### Additional Information Required:\nNot required.\n\n### Conclusion:\n{TTP}\n/send\n"
    )
    assert figure(simulate(tmp_path, typed, *CASE).out, "Exact answer") == "1"
    first, second = transcript(tmp_path)["turns"]
    assert (first["requests"], first["answer"], first["reasoning"]) == (
        ["CBC"],
        "perhaps ITP",
        "<step 1> Few platelets.",
    )
    assert second["answer"] == TTP


def test_hostile_input_is_text(tmp_path: Path) -> None:
    typed = "[bold]red[/bold]\n\x1b[2Jclear {{case}} \x07\n\n[link=file:x]\n\n\udcff\udcfe\n\ndiagnosis: [/bold]{x}\n"
    ran = piped(tmp_path, typed, *CASE)
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert "[bold]red[/bold]: not available" in ran.out
    assert "\\x1b[2Jclear {{case}}" in ran.out
    assert transcript(tmp_path)["answer"] == "[/bold]{x}"


def test_very_long_lines_are_read(tmp_path: Path) -> None:
    ran = piped(tmp_path, f"{'x' * 100_000}\n\n{'CBC ' * 25_000}\n\ndiagnosis: {'y' * 300_000}\n", *CASE)
    assert ran.code == 0, ran.err
    assert "(100,000 characters)" in ran.out
    assert "the rest is dropped" in ran.out


def test_what_cannot_be_read_is_not_a_turn(tmp_path: Path) -> None:
    ran = simulate(tmp_path, "none\n\ndiagnosis:\n/exams\n", *CASE)
    assert ran.out.count("No examination and no diagnosis could be read in this") == 2
    assert "Turn 2" not in ran.out


def test_requests_before_a_diagnosis_are_said_to_be_unasked(tmp_path: Path) -> None:
    assert "Not asked any more: CBC" in simulate(tmp_path, "CBC\ndiagnosis: anemia\n", *CASE).out


# -- what the user gets wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--case", "SYN9", "--data", DATA), "has no case of that id"),
        (("--data", DATA), "--case is missing"),
        (("--case", "SYN0000002"), "--data is missing"),
        ((*CASE, "--max-turns", "0"), "at least one"),
        ((*CASE, "--doctor", RECORDED), "--doctor goes with --step"),
        ((*CASE, "--step"), "--step goes with --doctor"),
        ((*CASE, "--examiner", "nonsense"), "no model name"),
        ((*CASE, "--doctor", "human", "--step"), "leave out --doctor"),
        ((*CASE, "--doctor", "http://127.0.0.1:1/v1#m", "--step"), "cannot be reached"),
        ((*CASE, "--examiner", "human"), "name a model"),
        (("--resume", "none"), "no session of that id"),
    ],
)
def test_it_is_said_in_one_sentence_and_no_session_is_begun(
    tmp_path: Path, arguments: tuple[object, ...], words: str
) -> None:
    ran = simulate(tmp_path, "", *arguments)
    assert ran.code == 2
    assert words in ran.sentence
    assert not list(tmp_path.iterdir())


def test_only_benchmarks_with_a_chair_are_listed(cli: Command) -> None:
    assert "caremedeval" not in cli("simulate", "--help").out
    assert cli("simulate", "caremedeval").code == 2


def test_a_session_is_not_continued_with_other_settings(tmp_path: Path) -> None:
    simulate(tmp_path, "", *CASE)
    ran = simulate(tmp_path, "", "--resume", session(tmp_path).name, "--max-turns", "3")
    assert ran.code == 2
    assert "max-turns is 5 in the session, 3 here" in ran.sentence


def test_an_unknown_case_ends_a_process_with_2(tmp_path: Path) -> None:
    assert piped(tmp_path, "CBC\n", "--case", "SYN9", "--data", DATA).code == 2


@pytest.mark.parametrize("content", ["", "[]", '{"medjudge_session": 9}', '{"medjudge_session": 1, "head": {}}'])
def test_a_broken_session_is_refused_in_one_sentence(tmp_path: Path, content: str) -> None:
    folder = tmp_path / "sessions" / "broken"
    folder.mkdir(parents=True)
    (folder / "session.json").write_text(content, encoding="utf-8")
    ran = simulate(tmp_path, "", "--resume", "broken")
    assert ran.code == 2
    assert "is no saved session" in ran.sentence


# -- leaving by force --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_ctrl_c_and_kill_lose_nothing_that_was_sent(tmp_path: Path, ending: signal.Signals, code: int) -> None:
    command = [sys.executable, "-u", "-m", "medjudge", "simulate", "medrbench", *map(str, CASE), "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        os.write(process.stdin.fileno(), b"CBC\n\n")
        out = b""
        while b"Turn 2 of 5" not in out:
            out += os.read(process.stdout.fileno(), 65536)
        process.send_signal(ending)
        assert process.wait(20) == code
    assert [given["kind"] for given in saved(tmp_path)["inputs"]] == ["turn"]
    again = simulate(tmp_path, "diagnosis: x\n", "--resume", session(tmp_path).name)
    assert again.code == 0
    assert len(transcript(tmp_path)["turns"]) == 2


# -- beside a model ----------------------------------------------------------------------------------------------------

ASKS = "### Chain of Thought:\n<step 1> Look.\n\n### Additional Information Required:\n- {}\n\n### Conclusion:\nopen"
ENDS = f"### Chain of Thought:\n<step 1> Sure.\n\n### Additional Information Required:\nNone.\n\n### Conclusion:\n{TTP}"
EXAMS = ("CBC", "LDH", "haptoglobin", "bilirubin", "creatinine")


def doctor(request: Request) -> Reply:
    """Asks for one exam after the other, and concludes as soon as a person's note says so."""
    if "conclude" in request.text.partition(NOTE_HEAD)[2]:
        return says(ENDS)
    return says(ASKS.format(EXAMS[sum(message["role"] == "assistant" for message in request.messages)]))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(doctor) as running:
        yield running


def step(folder: Path, typed: str, spec: str, *more: object) -> Ran:
    return simulate(folder, typed, *CASE, "--doctor", spec, "--step", *more)


def test_enter_goes_on_and_the_run_is_the_model_s(tmp_path: Path, server: ModelServer, cli: Command) -> None:
    ran = step(tmp_path, "\n\n\n\n\n", server.spec)
    assert ran.code == 0, ran.err
    assert transcript(tmp_path)["status"] == "max_turns"
    assert server.chat_count == 5
    shown = cli("show", session(tmp_path) / "run", "--json").json
    assert shown["model"] == server.spec
    assert sum(row["calls"] for row in shown["tokens"]) == 5


def test_a_note_stands_in_the_doctor_s_next_message_marked_as_the_person_s(
    tmp_path: Path, server: ModelServer, cli: Command
) -> None:
    ran = step(tmp_path, "\nplease conclude now\n\n", server.spec)
    assert figure(ran.out, "Exact answer") == "1"
    last = server.calls[-1].request.text
    assert last.endswith(f"{NOTE_HEAD}\nplease conclude now")
    assert "LDH: " in last
    assert [turn.get("note") for turn in transcript(tmp_path)["turns"]] == [None, "please conclude now", None]
    shown = cli("show", session(tmp_path) / "run", "--json").json
    assert shown["model"] == "human"
    assert any("told the doctor: please conclude now" in warning for warning in shown["warnings"])


def test_the_person_takes_over_and_hands_back(tmp_path: Path, server: ModelServer) -> None:
    typed = "\n/take\ntroponin\n\nperipheral smear\n\n/back\n\n"
    step(tmp_path, typed, server.spec)
    inputs = [given["kind"] for given in saved(tmp_path)["inputs"]]
    assert inputs == ["go_on", "take_over", "turn", "hand_back", "go_on"]
    contents = [message["content"] for message in server.calls[-1].request.messages if message["role"] == "assistant"]
    assert [read_turn({"text": text}, [], examines=True)["requests"] for text in contents] == [
        ["CBC"], ["troponin"], ["peripheral smear"], ["bilirubin"],
    ]  # fmt: skip


def test_a_model_s_turn_left_after_all_stands(tmp_path: Path, server: ModelServer) -> None:
    ran = step(tmp_path, "/take\ntroponin\n/back\n\n", server.spec)
    assert "The model's turn stands." in ran.out
    assert [given["kind"] for given in saved(tmp_path)["inputs"]] == ["go_on"]


def test_nothing_is_asked_twice_by_resuming_or_undoing(tmp_path: Path, server: ModelServer) -> None:
    step(tmp_path, "\n\n", server.spec)
    assert server.chat_count == 3
    again = simulate(tmp_path, "/undo\n/undo\n\n\n", "--resume", session(tmp_path).name)
    assert again.code == 0, again.err
    assert server.chat_count == 3
    simulate(tmp_path, "/undo\nconclude\n\n", "--resume", session(tmp_path).name)
    assert server.chat_count == 4
    assert transcript(tmp_path)["answer"] == TTP


def test_a_note_that_nobody_would_read_is_refused(tmp_path: Path) -> None:
    with ModelServer(says(ENDS)) as server:
        ran = step(tmp_path, "are you sure?\n/take\nCBC\n\n", server.spec)
    assert "nobody would read a note" in ran.out
    first = saved(tmp_path)["inputs"][0]
    assert (first["kind"], "CBC" in first["text"]) == ("take_over", True)


def test_what_a_model_says_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with ModelServer(says("\x1b[2J[bold]\x1b]0;title\x07" + ENDS)) as server:
        ran = step(tmp_path, "", server.spec)
    assert "\x1b" not in ran.out
    assert "\\x1b[2J[bold]" in ran.out


def test_a_model_that_fails_leaves_the_session_where_it_was(tmp_path: Path) -> None:
    replies = [says(ASKS.format("CBC")), error(400, "no such thing"), says(ENDS)]
    with ModelServer(replies) as server:
        ran = step(tmp_path, "\n", server.spec)
        assert ran.code == 1
        assert "Continue with:" in ran.out
        assert saved(tmp_path)["inputs"] == []
        again = simulate(tmp_path, "\n\n", "--resume", session(tmp_path).name)
        assert again.code == 0, again.err
    assert transcript(tmp_path)["status"] == "concluded"


def test_ctrl_c_while_a_model_is_asked_saves(tmp_path: Path) -> None:
    with ModelServer([says(ASKS.format("CBC")), hangs(), says(ENDS)]) as server:
        command = [sys.executable, "-m", "medjudge", "simulate", "medrbench", *map(str, CASE), "--out", str(tmp_path),
                   "--doctor", server.spec, "--step"]  # fmt: skip
        with subprocess.Popen(command, cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin
            process.stdin.write(b"\n")
            process.stdin.flush()
            server.wait_for_calls(2, timeout=30)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=20)
        assert process.returncode == 130
        assert b"Continue with:" in out
        again = simulate(tmp_path, "\n", "--resume", session(tmp_path).name)
        assert again.code == 0, again.err
        assert server.chat_count == 3
    assert transcript(tmp_path)["status"] == "concluded"


def test_an_examiner_that_fails_keeps_what_was_typed(tmp_path: Path) -> None:
    with ModelServer([error(400, "no"), says("- CBC: fine")]) as server:
        ran = simulate(tmp_path, "CBC\n\n", *CASE, "--examiner", server.spec)
        assert ran.code == 1
        assert saved(tmp_path)["draft"] == ["CBC"]
        again = simulate(tmp_path, "\n", "--resume", session(tmp_path).name)
    assert "CBC: fine" in again.out


def test_a_recording_can_be_followed(tmp_path: Path) -> None:
    ran = step(tmp_path, "\n" * 4, RECORDED, "--examiner", RECORDED)
    assert ran.code == 0, ran.err
    assert figure(ran.out, "Looped") == "1"
    assert len(transcript(tmp_path)["turns"]) == 4


def test_steering_a_recording_says_what_it_does_not_hold(tmp_path: Path) -> None:
    ran = step(tmp_path, "think again\n", RECORDED, "--examiner", RECORDED)
    assert ran.code == 2
    assert "what changed" in ran.err
    assert saved(tmp_path)["inputs"] == []


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "complete"),
    [
        (["CBC"], False),
        (["CBC", ""], True),
        (["diagnosis: gout"], True),
        (["Conclude: gout"], True),
        (["diagnostic imaging"], False),
        (["### Additional Information Required:", "CBC", ""], False),
        (["### Additional Information Required:", "CBC", "", "### Conclusion:", "x"], False),
        (["### Additional Information Required:", "CBC", "", "### Conclusion:", "x", ""], True),
    ],
)
def test_when_a_turn_is_complete(lines: list[str], complete: bool) -> None:
    assert is_complete(lines) is complete


@pytest.mark.parametrize(
    ("lines", "requests", "answer"),
    [
        (["CBC", "- LDH", "2. ferritin", ""], ["CBC", "LDH", "ferritin"], None),
        (["CBC", "### Conclusion: flu", ""], ["CBC"], None),
        (["reason: pale", "CBC", ""], ["CBC"], None),
        (["diagnosis: iron deficiency"], [], "iron deficiency"),
        (["CBC", "diagnosis: iron deficiency"], [], "iron deficiency"),
    ],
)
def test_lines_are_read_as_they_were_meant(lines: list[str], requests: list[str], answer: str | None) -> None:
    turn = read_turn({"text": as_turn(lines)}, [], examines=True)
    assert turn["requests"][: len(requests)] == requests
    assert turn["answer"] == answer


def test_reasons_become_steps() -> None:
    assert "<step 1> pale\n<step 2> tired" in as_turn(["reason: pale", "because: tired", "diagnosis: anemia"])
    assert unsent(["CBC", "diagnosis: anemia"]) == ["CBC"]
