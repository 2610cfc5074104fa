"""Outputs made elsewhere: the whole text of a doctor's answer in the settings oracle and treatment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medrbench.policy import CONCLUDED, PARSE_FAILED
from graphs.medrbench.reading import read_turn
from judge.benchmark import Transcript
from judge.errors import DataError
from judge.replies import separate_thinking
from judge.replies.steps import split_steps


def transcript_of_output(record: Mapping[str, Any], output: Any, thinking: str, setting: str) -> Transcript:
    """A transcript of one turn.

    Raises:
        DataError: not a text, or a setting whose dialogue a single text cannot hold.
    """
    if setting not in ("oracle", "treatment"):
        raise DataError(f"outputs can be imported for --setting oracle or treatment, not {setting!r}")
    if output is None:
        return _ended("empty", "the file has no output here", setting, [])
    if not isinstance(output, str):
        raise DataError(f"the output for {record['id']} is {type(output).__name__}; give the text of the answer")
    separated = separate_thinking(output)
    turn = {
        "kind": "turn",
        "asks": 1,
        "text": separated.answer,
        "thinking": "\n\n".join(part for part in (thinking, separated.thinking) if part),
        "finish_reason": "",
        "unscored": None,
    }
    read = read_turn(turn, [], examines=False)
    if separated.unclosed:
        return _ended("truncated_reasoning", "the thinking was never closed", setting, [read])
    if not separated.answer.strip():
        return _ended("empty", "the output is empty", setting, [read])
    if not read["answer"]:
        return _ended(PARSE_FAILED, "no answer could be read", setting, [read])
    return _ended(CONCLUDED, "", setting, [read])


def _ended(status: str, detail: str, setting: str, turns: list[dict[str, Any]]) -> Transcript:
    answer = turns[-1]["answer"] if turns and status == CONCLUDED else None
    data: dict[str, Any] = {
        "setting": setting,
        "messages": [],
        "turns": turns,
        "answer": answer,
        "first_looping_turn": None,
        "steps": split_steps(turns[-1]["text"]) if turns else [],
    }
    return Transcript(status, detail, (), data)
