"""What remains of a unit when it has been played, or read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medexqa.choosing import decide
from graphs.medexqa.explained import NOT_SUPPLIED
from graphs.medexqa.options import AnswerBy
from judge.benchmark import ANSWERED, Transcript

FLAGS: Mapping[str, str] = {
    "malformed": "first reply does not begin with the letter alone on a line",
    "re_asked": "asked once more because no answer could be read",
    "explained_when_asked": "answered without an explanation, which a second turn asked for",
    "no_explanation": "answered, but no explanation could be had",
    "not_supplied": "the prediction has an answer and brings no explanation; whether one was asked for is not known",
    "by_logits": "with --answer-by auto: the answer is the likeliest letter by the model's logits",
    "by_logprobs": "with --answer-by auto: the answer is the likeliest letter by the server's log-probabilities",
    "by_text": "with --answer-by auto: the answer is what the reply says, for want of scores",
    "scores_and_text_differ": "the likeliest letter is not the one that the reply names",
    "prompt_cut_suspected": "the server counted far fewer prompt tokens than were sent",
}


def transcript_of(end: Mapping[str, Any], by: AnswerBy, *, cut: bool = False) -> Transcript:
    """The final state as a transcript.

    It is answered if an option was named in any way. Where that is not the way that counts, the metric that counts it
    is unscored, and the other keeps its score.
    """
    text, scores = end["text"], end["scores"]
    named = text["answer"] is not None or bool(scores and scores["best"])
    if end["status"]:
        status, detail = end["status"], end["detail"]
    else:
        status, detail = (ANSWERED, "") if named else (text["reason"], text["detail"])
    answered = status == ANSWERED
    decided = decide(by, text, scores)
    data: dict[str, Any] = {
        "messages": end["messages"],
        "replies": end["replies"],
        "answer": decided.letter if answered else None,
        "how": decided.how if answered else None,
        "unanswered": {"reason": decided.reason, "detail": decided.detail},
        "text_answer": text,
        "scores": scores,
        "explanation": end["explanation"],
    }
    flags = flags_of(data, by, cut=cut) if answered else _flags_of_asking(data, cut)
    return Transcript(status, detail, tuple(flags), data)


def flags_of(data: Mapping[str, Any], by: AnswerBy, *, cut: bool = False) -> list[str]:
    """The flags of an answered unit."""
    text, scores = data["text_answer"]["answer"], data["scores"]
    best = scores["best"] if scores else None
    marks = {
        f"by_{data['how']}": by == "auto",
        "scores_and_text_differ": None not in (text, best) and text != best,
        NOT_SUPPLIED: data["explanation"]["reason"] == NOT_SUPPLIED,
        "no_explanation": not data["explanation"]["text"] and data["explanation"]["reason"] != NOT_SUPPLIED,
    }
    return [*_flags_of_asking(data, cut), *(flag for flag, holds in marks.items() if holds)]


def _flags_of_asking(data: Mapping[str, Any], cut: bool) -> list[str]:
    kinds = [reply["kind"] for reply in data["replies"]]
    marks = {
        "malformed": bool(kinds) and not data["replies"][0].get("well_formed", False),
        "re_asked": kinds.count("answer") > 1,
        "explained_when_asked": "explanation" in kinds,
        "prompt_cut_suspected": cut,
    }
    return [flag for flag, holds in marks.items() if holds]
