"""A made-up judge behind a server: what it says depends only on the texts between the fences of a request.

It compares words, so it is no judge of anything; tests may set single verdicts of it by what the judged text contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from judge.prompting import Prompt, load_prompts
from tests.chains.scripted import Asked
from tests.conftest import CHECKOUT
from tests.server import Reply, Request

#: Of the words of a reference step, how many must be in a text for a match.
SHARE = 0.4

_WORD = re.compile(r"[^\W\d_]{4,}|\d+(?:[.,]\d+)*")
_WANTED = re.compile(r": (\d+(?:, \d+)*)\. ")
_DIAGNOSES = ("hashimoto", "thrombotic thrombocytopenic purpura", "endocarditis", "insulin", "parathyroid")

#: What it says for each of its verdicts.
_REASONS: Mapping[Any, str] = {
    "citation": "It restates the record and concludes nothing.",
    "repetition": "An earlier step has said this.",
    "reasoning": "It draws something new and useful from the findings.",
    "redundancy": "It is new but does not help.",
    "correct": "It agrees with what is known.",
    "wrong": "It does not agree with what is known.",
    "needs_evidence": "It has to be looked up.",
    True: "Enough of its words are there.",
    False: "Too few of its words are there.",
}

Item = Mapping[str, Any]


@dataclass
class SyntheticJudge:
    """Answers every question of the MedR-Bench judging.

    Attributes:
        verdicts: question, e.g. ``effectiveness`` -> part of the judged text -> what to say instead of its own verdict;
            a `Reply` is given as it is.
    """

    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    share: float = SHARE

    def __call__(self, request: Request) -> Reply:
        if "cloudless sky" in request.prompt:  # the question by which the mode is found
            return _says({"rationale": "It is blue.", "verdict": "blue"})
        asked = Asked("", request.messages[0]["content"], ())
        answer = _ANSWERS[question_of(asked.text)](self, asked)
        return answer if isinstance(answer, Reply) else _says(answer)

    def own(self, question: str, text: str, verdict: Any) -> Any:
        """The verdict that a test has set for a text, or else the judge's own."""
        return next((said for part, said in self.verdicts.get(question, {}).items() if part in text), verdict)

    def effectiveness(self, text: str, before: str) -> str:
        again = len(words(text) & words(before)) >= 0.9 * len(words(text)) if before else False
        return str(self.own("effectiveness", text, "repetition" if again else "reasoning"))

    def factuality(self, text: str) -> Any:
        return self.own("factuality", text, "correct")

    def match(self, text: str, reasoning: str) -> Any:
        return self.own("match", text, len(words(text) & words(reasoning)) >= self.share * len(words(text)))

    def outcome(self, answer: str, reference: str) -> Any:
        named = [name for name in _DIAGNOSES if name in reference.casefold()]
        return self.own("outcome", answer, "correct" if any(name in answer.casefold() for name in named) else "wrong")


def _says(answer: Item) -> Reply:
    return Reply(content=json.dumps(answer, ensure_ascii=False))


@cache
def words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


@cache
def _templates() -> Mapping[str, Prompt]:
    names = tuple(path.stem for path in sorted((CHECKOUT / "prompts/medrbench").glob("*.md")))
    return load_prompts("medrbench", names)


@cache
def _ends() -> Mapping[str, tuple[str, str]]:
    """Name of a prompt -> how every request made from it begins and ends."""
    parts = {name: re.split(r"\{\{\w+\}\}", prompt.text) for name, prompt in _templates().items()}
    return {name: (pieces[0], pieces[-1].rstrip()) for name, pieces in parts.items() if len(pieces) > 1}


def question_of(text: str) -> str:
    """Name of the prompt that a request was made from, without its version."""
    whole = text.rstrip()
    found = [name for name, (start, end) in _ends().items() if whole.startswith(start) and whole.endswith(end)]
    return max(found, key=len).rpartition(".v")[0]


def _wanted(asked: Asked) -> list[int]:
    *_, last = _WANTED.finditer(asked.text)
    return [int(number) for number in last[1].split(", ")]


def _items(asked: Asked, name: str) -> dict[int, str]:
    return {int(label): text for label, text in asked.pieces(name)}


def _effectiveness(judge: SyntheticJudge, asked: Asked) -> Any:
    step = asked.inside("step")
    label = judge.effectiveness(step, asked.inside("previous"))
    return (
        label if isinstance(label, Reply) else {"rationale": _REASONS.get(label, "It is so."), "effectiveness": label}
    )


def _factuality(judge: SyntheticJudge, asked: Asked) -> Any:
    said = judge.factuality(asked.inside("step"))
    return said if isinstance(said, Reply) else _fact(said)


def _final_factuality(judge: SyntheticJudge, asked: Asked) -> Any:
    said = judge.own("factuality.final", asked.inside("step"), judge.factuality(asked.inside("step")))
    return said if isinstance(said, Reply) else _fact(said)


def _fact(said: Any) -> dict[str, Any]:
    """A verdict alone, or with queries."""
    verdict, queries = said if isinstance(said, tuple) else (said, [])
    return {"rationale": _REASONS.get(verdict, "It is so."), "verdict": verdict, "queries": queries}


def _labels(judge: SyntheticJudge, asked: Asked) -> Any:
    steps = _items(asked, "steps")
    verdicts = []
    for number in _wanted(asked):
        before = "\n".join(text for other, text in steps.items() if other < number)
        fact = _fact(judge.factuality(steps[number]))
        label = judge.effectiveness(steps[number], before)
        verdicts.append(
            {
                "index": number,
                "rationale": f"{_REASONS.get(label, 'It is so.')} {fact['rationale']}",
                "effectiveness": label,
                "factuality": fact["verdict"],
                "queries": fact["queries"],
            }
        )
    return {"verdicts": verdicts}


def _facts(judge: SyntheticJudge, asked: Asked) -> Any:
    steps = _items(asked, "steps")
    return {"verdicts": [{"index": number, **_fact(judge.factuality(steps[number]))} for number in _wanted(asked)]}


def _match(judge: SyntheticJudge, asked: Asked) -> Any:
    said = judge.match(asked.inside("reference"), asked.inside("reasoning"))
    return said if isinstance(said, Reply) else {"rationale": _REASONS.get(said, "It is so."), "match": said}


def _matches(judge: SyntheticJudge, asked: Asked) -> Any:
    reference, reasoning = _items(asked, "reference"), asked.inside("reasoning")
    found = {number: judge.match(reference[number], reasoning) for number in _wanted(asked)}
    return {"verdicts": [{"index": n, "rationale": _REASONS.get(m, "It is so."), "match": m} for n, m in found.items()]}


def _outcome(judge: SyntheticJudge, asked: Asked) -> Any:
    said = judge.outcome(asked.inside("answer") or asked.inside("plan"), asked.inside("reference"))
    return said if isinstance(said, Reply) else _fact(said)


def _meets(request: str, test: str) -> bool:
    return request.casefold() in test.casefold() or len(words(request) & words(test)) > len(words(request)) / 2


def _request(judge: SyntheticJudge, asked: Asked) -> Any:
    return _in_record(asked.inside("request"), asked)


def _in_record(request: str, asked: Asked) -> dict[str, Any]:
    done = any(_meets(request, test) for test in _items(asked, "tests").values())
    return {"rationale": "By its name.", "in_record": done}


def _requests(judge: SyntheticJudge, asked: Asked) -> Any:
    requests = _items(asked, "requests")
    return {"verdicts": [{"index": n, **_in_record(requests[n], asked)} for n in _wanted(asked)]}


def _test(judge: SyntheticJudge, asked: Asked) -> Any:
    return _asked_for(asked.inside("test"), asked)


def _asked_for(test: str, asked: Asked) -> dict[str, Any]:
    found = [number for number, request in _items(asked, "requests").items() if _meets(request, test)]
    return {"rationale": "By its name.", "requests": found, "asked_for": bool(found)}


def _tests(judge: SyntheticJudge, asked: Asked) -> Any:
    tests = _items(asked, "tests")
    return {"verdicts": [{"index": n, **_asked_for(tests[n], asked)} for n in _wanted(asked)]}


def _split(judge: SyntheticJudge, asked: Asked) -> Any:
    steps = [line.strip() for line in asked.inside("text").splitlines() if line.strip()]
    return {"rationale": "A line, a step.", "steps": steps[:10]}


_ANSWERS: Mapping[str, Callable[[SyntheticJudge, Asked], Any]] = {
    "effectiveness": _effectiveness,
    "factuality": _factuality,
    "factuality.final": _final_factuality,
    "factuality.batch": _facts,
    "factuality.batch.final": _facts,
    "labels.batch": _labels,
    "labels.batch.search": _labels,
    "match": _match,
    "match.batch": _matches,
    "outcome.diagnosis": _outcome,
    "outcome.treatment": _outcome,
    "outcome.treatment.final": _outcome,
    "exam_request": _request,
    "exam_requests.batch": _requests,
    "exam_test": _test,
    "exam_tests.batch": _tests,
    "split.reasoning": _split,
}
