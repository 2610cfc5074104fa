"""Make the demo's recordings again, after a change of prompts: python -m tests.record_demo

Serves the synthetic replies of fixtures/*/replies.json over HTTP and records ordinary runs against them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphs.medexqa.cases import load_cases as load_questions
from graphs.medrbench.cases import load_cases
from graphs.medrbench.reading import read_turn
from judge.models.logprobs import PROMPT as PROBE
from judge.prompting import load_prompts
from tests.medrbench.synthetic_judge import SyntheticJudge
from tests.server import ModelServer, Reply, Request

FIXTURES = Path(__file__).parents[1] / "fixtures"
DOCTOR, EXAMINER = "synthetic-doctor", "synthetic-examiner"
#: Written into the recordings in place of the test server's changing port.
URL = "http://127.0.0.1:8000/v1"

#: What the synthetic judge says instead of its own verdicts; of one answer it never finishes to judge.
JUDGED: Mapping[str, Mapping[str, Any]] = {
    "effectiveness": {
        "Again, the high thyroid-stimulating": "repetition",
        "I want to see the blood values": "redundancy",
        "The basic tests come first": "redundancy",
        "The values have not changed": "repetition",
    },
    "factuality": {
        "usual in every thrombotic microangiopathy": "wrong",
        "decides for a disorder of complement": "wrong",
        "the classic picture of consumption": "wrong",
    },
    "outcome": {
        "Subacute bacterial endocarditis": Reply(
            content='{"rationale": "Both name an infection of the mitral valve by', finish_reason="length"
        )
    },
}

#: A second opinion: it asks for more before it takes a reference step as found.
STRICT: Mapping[str, Mapping[str, Any]] = {
    "effectiveness": {
        "Again, the high thyroid-stimulating": "repetition",
        "As the ultrasound shows no nodules": "redundancy",
        "The basic tests come first": "redundancy",
        "The normal CT of the head": "redundancy",
        "The values have not changed": "repetition",
        "Vitiligo and a mother": "citation",
    },
    "factuality": {"usual in every thrombotic microangiopathy": "wrong", "the classic picture of consumption": "wrong"},
    "outcome": {"Hashimoto thyroiditis with overt": "wrong"},
}

#: Name of the recording, and of the model behind "synthetic-" -> the judge.
JUDGES: Mapping[str, SyntheticJudge] = {
    "judge": SyntheticJudge(JUDGED),
    "strict-judge": SyntheticJudge(STRICT, share=0.6),
}

Script = Callable[[Request], Reply]


def main() -> None:
    record("caremedeval", caremedeval(), "demo.recording.jsonl", "--context", "none", "--context", "full")
    record("medexqa", medexqa(), "demo.recording.jsonl")
    diagnosis = ["oracle", "one_turn", "free_turn"]
    settings = [word for setting in diagnosis for word in ("--setting", setting)]
    record("medrbench", medrbench(diagnosis), "demo.recording.jsonl", *settings, "--examiner", f"URL#{EXAMINER}")
    record("medrbench", medrbench(["treatment"]), "treatment.recording.jsonl", "--setting", "treatment")
    for name, judge in JUDGES.items():
        record_judge("medrbench", "demo.recording.jsonl", name, judge, settings)


def record(benchmark: str, script: Script, name: str, *options: str) -> None:
    """One run whose exchanges become fixtures/<benchmark>/<name>."""
    file = FIXTURES / benchmark / name
    file.unlink(missing_ok=True)
    with ModelServer(script, models=[DOCTOR, EXAMINER]) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "medjudge", "run", benchmark, "--model", f"{server.url}#{DOCTOR}",
                   "--data", str(FIXTURES / benchmark), "--connections", "1", "--out", str(Path(folder) / "run"),
                   "--record", str(file), *(option.replace("URL", server.url) for option in options)]  # fmt: skip
        subprocess.run(command, check=True)
        write_sorted(file, server.url)


def record_judge(benchmark: str, doctor: str, name: str, judge: SyntheticJudge, settings: Sequence[str]) -> None:
    """A judge of the run that a recording replays; its exchanges become fixtures/<benchmark>/<name>.recording.jsonl."""
    file = FIXTURES / benchmark / f"{name}.recording.jsonl"
    file.unlink(missing_ok=True)
    with ModelServer(judge, models=[f"synthetic-{name}"]) as server, tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run")
        medjudge = [sys.executable, "-m", "medjudge"]
        played = ["run", benchmark, "--model", f"replay:{FIXTURES / benchmark / doctor}", "--data",
                  str(FIXTURES / benchmark), *settings, "--out", run]  # fmt: skip
        judged = ["judge", run, "--judge", f"{server.url}#synthetic-{name}", "--judge-name", f"synthetic-{name}",
                  "--judge-protocol", "batched", "--connections", "1", "--record", str(file)]  # fmt: skip
        subprocess.run([*medjudge, *played], check=True)
        subprocess.run([*medjudge, *judged], check=True)
        write_sorted(file, server.url)


def write_sorted(file: Path, url: str) -> None:
    """In the order of addresses, so that a new recording differs from the last only where something changed."""
    header, *exchanges = file.read_text(encoding="utf-8").replace(url, URL).splitlines(keepends=True)
    file.write_text(header + "".join(sorted(exchanges)), encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def caremedeval() -> Script:
    """Gives the reply written for the question and context of a request; a later ask gets the next one."""
    folder = FIXTURES / "caremedeval"
    replies = read_json(folder / "replies.json")
    ids = {question["question"]: question["id"] for question in read_json(folder / "original/all/questions.json")}

    def answer(request: Request) -> Reply:
        prompt = request.messages[0]["content"]
        case = next(case for question, case in ids.items() if question in prompt)
        written = replies["full" if "<article>" in prompt else "none"][case]
        return as_reply(written[asked(request) - 1] if isinstance(written, list) else written)

    return answer


def medexqa() -> Script:
    """Gives the reply written for the question of a request; a later ask gets the next one."""
    folder = FIXTURES / "medexqa"
    replies = read_json(folder / "replies.json")
    ids = {case.question: case.id for case in load_questions(folder)}

    def answer(request: Request) -> Reply:
        prompt = request.messages[0]["content"]
        if "logprobs" in request.body:
            return Reply(status=400, error="log-probabilities are not available")
        if prompt == PROBE:
            return Reply(content="A")
        written = replies[next(case for question, case in ids.items() if question in prompt)]
        return as_reply(written[asked(request) - 1] if isinstance(written, list) else written)

    return answer


def medrbench(settings: Sequence[str]) -> Script:
    """Gives the doctor's reply for case, setting and turn, and the examiner's for the requests it is shown."""
    folder = FIXTURES / "medrbench"
    replies = read_json(folder / "replies.json")
    cases = [case for kind in ("diagnosis", "treatment") for case in load_cases(folder, kind)]  # type: ignore[arg-type]
    prompts = load_prompts("medrbench", tuple(f"doctor.{setting}.v1" for setting in settings))
    endings = {s: prompts[f"doctor.{s}.v1"].text.split("{{case}}")[1].replace("{{max_turns}}", "5") for s in settings}

    def answer(request: Request) -> Reply:
        prompt = request.messages[0]["content"]
        if request.body["model"] == EXAMINER:
            case_id = next(case.id for case in cases if case.ancillary_text in prompt)
            return as_reply(examiners_reply(replies, case_id, prompt))
        setting = next(setting for setting, ending in endings.items() if ending in prompt)
        case_id = next(case.id for case in cases if case.history in prompt or case.summary in prompt)
        return as_reply(replies[setting][case_id][asked(request) - 1])

    return answer


def examiners_reply(replies: dict[str, Any], case_id: str, prompt: str) -> Any:
    """The reply to the turn of the doctor whose requests are those in the prompt."""
    for setting, by_case in replies["examiner"].items():
        asking = [requests for written in replies[setting][case_id] if (requests := requests_in(written))]
        for requests, reply in zip(asking, by_case[case_id], strict=False):
            if "\n".join(f"- {request}" for request in requests) in prompt:
                return reply
    raise LookupError(f"no examiner's reply is written for {case_id}: {prompt[-400:]}")


def requests_in(written: Any) -> list[str]:
    text = as_reply(written).content or ""
    requests: list[str] = read_turn({"text": text.rpartition("</think>")[2]}, [], examines=True)["requests"]
    return requests


def asked(request: Request) -> int:
    return sum(message["role"] == "user" for message in request.messages)


def as_reply(written: str | dict[str, Any]) -> Reply:
    fields = {"content": written} if isinstance(written, str) else written
    return Reply(**fields)


if __name__ == "__main__":
    main()
