"""Playing MedExQA: one run of the machine per unit, and what remains of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medexqa.cases import CaseSet
from graphs.medexqa.graph import build_graph
from graphs.medexqa.options import AnswerBy, answer_by, shots_of
from graphs.medexqa.state import Context, State
from graphs.medexqa.transcripts import transcript_of
from judge.benchmark import Case, Transcript, Unit
from judge.errors import SpecError
from judge.models.chat import ChatModel
from judge.models.choices import ChoosingModel
from judge.models.tokens import Tokenizer, looks_cut
from judge.prompting import Prompts


class ExamPlayer:
    """A `judge.benchmark.Player`."""

    def __init__(self, cases: CaseSet, options: Mapping[str, Any], prompts: Prompts, tokenizer: Tokenizer) -> None:
        self._prompts = prompts
        self._tokenizer = tokenizer
        self._by = answer_by(options)
        self._examples = {
            specialty.name: cases.examples(specialty.name, shots_of(options)) for specialty in cases.specialties
        }
        self._graph = build_graph()

    async def play(self, case: Case, unit: Unit, models: Mapping[str, ChatModel]) -> Transcript:
        examples = self._examples[str(case.record["specialty"])]
        doctor = models["doctor"]
        context = Context(unit, doctor, self._prompts, weighing(doctor, self._by), examples)
        start: State = {"case": dict(case.record)}
        end = await self._graph.ainvoke(start, context=context)
        asked = [str(message["content"]) for message in end["messages"][: 2 * len(examples) + 1]]
        counted = end["replies"][0]["prompt_tokens"] if end["replies"] else None
        return transcript_of(end, self._by, cut=looks_cut(asked, counted, self._tokenizer))


def weighing(doctor: ChatModel, by: AnswerBy) -> ChoosingModel | None:
    """The doctor as one that gives scores of the letters, if they are wanted and it does.

    Raises:
        SpecError: they are to be the answer, and this doctor cannot give them.
    """
    if by == "text":
        return None
    way = doctor.chooses_by if isinstance(doctor, ChoosingModel) else None
    if by not in ("auto", way):
        kinds = {"logits": "a model in this process (hf:…)", "logprobs": "a server that can return log-probabilities"}
        raise SpecError(f"--answer-by {by} needs {kinds[by]}; give --answer-by auto, or another --model")
    return doctor if isinstance(doctor, ChoosingModel) else None
