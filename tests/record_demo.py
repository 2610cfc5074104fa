"""Make the demo's recording again, after a change of prompts: python -m tests.record_demo

Serves the synthetic replies of fixtures/caremedeval/replies.json over HTTP and records an ordinary run against them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.server import ModelServer, Reply, Request

FIXTURES = Path(__file__).parents[1] / "fixtures" / "caremedeval"
RECORDING = FIXTURES / "demo.recording.jsonl"
MODEL = "synthetic-doctor"
#: Written into the recording in place of the test server's changing port.
URL = "http://127.0.0.1:8000/v1"


def main() -> None:
    RECORDING.unlink(missing_ok=True)
    with ModelServer(script(), models=[MODEL]) as server, tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "medjudge", "run", "caremedeval", "--model", f"{server.url}#{MODEL}",
                   "--data", str(FIXTURES), "--context", "none", "--context", "full", "--connections", "1",
                   "--out", str(Path(folder) / "run"), "--record", str(RECORDING)]  # fmt: skip
        subprocess.run(command, check=True)
        text = RECORDING.read_text(encoding="utf-8").replace(server.url, URL)
    RECORDING.write_text(text, encoding="utf-8")


def script() -> Callable[[Request], Reply]:
    """Gives the reply written for the question and context of a request; a later ask gets the next one."""
    replies: dict[str, dict[str, Any]] = json.loads((FIXTURES / "replies.json").read_text(encoding="utf-8"))
    questions = json.loads((FIXTURES / "original/all/questions.json").read_text(encoding="utf-8"))
    ids = {question["question"]: question["id"] for question in questions}

    def answer(request: Request) -> Reply:
        prompt = request.messages[0]["content"]
        case = next(case for question, case in ids.items() if question in prompt)
        written = replies["full" if "<article>" in prompt else "none"][case]
        asks = sum(message["role"] == "user" for message in request.messages)
        reply = written[asks - 1] if isinstance(written, list) else written
        return as_reply(reply)

    return answer


def as_reply(written: str | dict[str, Any]) -> Reply:
    fields = {"content": written} if isinstance(written, str) else written
    return Reply(**fields)


if __name__ == "__main__":
    main()
