"""A judge for the tests that decides by what stands in the texts, behind the real client and a local HTTP server.

Words in a step say what it decides: ``CITES``, ``REPEATS`` and ``USELESS`` what the step does, ``UNTRUE`` that it is
wrong, ``LOOKUP2`` that two searches must have been shown before. A reference step is found if it stands in the text.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphs.medrbench import BENCHMARK
from judge.benchmark import Case, Transcript, Unit
from judge.chains.tools import JudgeTools, Split
from judge.errors import CallFailed
from judge.evidence import Passage
from judge.judgements import UnitJudgements
from judge.models.address import Address
from judge.models.door import Door
from judge.models.retry import RetryPolicy
from judge.models.structured import Probed, open_judge
from judge.models.verdict import StructuredModel
from judge.outcome import Outcome
from judge.prompting import load_prompts
from judge.references import ReferenceSteps
from judge.settings import Generation, JudgeSpec, ReasoningSource, parse_model
from tests.chains.scripted import Asked
from tests.medrbench.examinations import THYROID, Memory, loaded
from tests.server import ModelServer, Reply, Request

TASKS = tuple(BENCHMARK.judging_tasks)
LABELS = {"CITES": "citation", "REPEATS": "repetition", "USELESS": "redundancy"}

Answer = Mapping[str, Any] | Reply


# --- what the judge says


def effectiveness(step: str) -> str:
    return next((label for word, label in LABELS.items() if word in step), "reasoning")


def facts(step: str, searches: int, *, final: bool) -> dict[str, Any]:
    wanted = re.search(r"LOOKUP(\d)", step)
    if wanted and searches < int(wanted[1]) and not final:
        return {"verdict": "needs_evidence", "queries": [f"{step.split()[0]} {searches + 1}"]}
    return {"verdict": "wrong" if "UNTRUE" in step else "correct", "queries": []}


def decide(schema: str, asked: Asked) -> Answer:
    """The judge's answer to one question."""
    final = schema.startswith("Final")
    evidence = [label for label, _ in asked.pieces("evidence")] if "<<<evidence" in asked.text else []
    match schema:
        case "EffectivenessVerdict":
            return {"rationale": "r", "effectiveness": effectiveness(asked.inside("step"))}
        case "FactualityVerdict" | "FinalFactuality":
            return {"rationale": "r", **facts(asked.inside("step"), len(evidence), final=final)}
        case "OutcomeVerdict" | "FinalOutcome":
            return {"rationale": "r", **outcome(asked, len(evidence), final=final)}
        case "MatchVerdict":
            return {"rationale": "r", "match": asked.inside("reference") in asked.inside("reasoning")}
        case "SplitVerdict":
            return {"rationale": "r", "steps": [part.strip() for part in asked.inside("text").split("||")]}
    return {"verdicts": [one(schema, asked, evidence, number) for number in asked.wanted]}


def one(schema: str, asked: Asked, evidence: Sequence[str], number: int) -> dict[str, Any]:
    """The verdict on one of many items."""
    found: dict[str, Any] = {"index": number, "rationale": "r"}
    if schema == "Matches":
        return found | {"match": dict(asked.pieces("reference"))[str(number)] in asked.inside("reasoning")}
    if schema in ("RequestVerdicts", "CoverVerdicts"):
        return found | exam(schema, asked, number)
    step = dict(asked.pieces("steps"))[str(number)]
    says = facts(step, evidence.count(f"for step {number}"), final=schema.startswith("Final"))
    if schema in ("StepVerdicts", "FinalStepVerdicts"):
        says = {"effectiveness": effectiveness(step), "factuality": says["verdict"], "queries": says["queries"]}
    return found | says


def outcome(asked: Asked, searches: int, *, final: bool) -> dict[str, Any]:
    answer = asked.inside("answer")
    right = answer.rstrip(".").casefold() == asked.inside("reference").rstrip(".").casefold()
    return facts(answer, searches, final=final) if "LOOKUP" in answer else {"verdict": "correct" if right else "wrong"}


def exam(schema: str, asked: Asked, number: int) -> dict[str, Any]:
    """A request meets the first test of the record, and that one only."""
    if schema == "RequestVerdicts":
        return {"in_record": number == 1}
    return {"requests": [1], "asked_for": True} if number == 1 else {"requests": [], "asked_for": False}


# --- what it works with


@dataclass
class Library:
    """Evidence that has one passage on everything, none on what it does not know, and may be out of order."""

    knows: Callable[[str], bool] = lambda query: True
    fails_on: str = "\0"
    searched: list[tuple[str, str, str]] = field(default_factory=list)
    name: str = "corpus:tests"
    version: str = "1"

    async def search(self, query: str, address: Address) -> Sequence[Passage]:
        self.searched.append((address.role, address.step, query))
        if self.fails_on in query:
            raise CallFailed("the library is closed", reason="timeout")
        return (Passage(f"All on {query}.", "handbook.md, line 3"),) if self.knows(query) else ()


class KeptSplits:
    """Splits in memory."""

    def __init__(self, *splits: Split) -> None:
        self.splits = {split.source: split for split in splits}

    async def find(self, unit: Unit, source: ReasoningSource, prompt: str) -> Split | None:
        return self.splits.get(source)

    async def keep(self, unit: Unit, split: Split) -> None:
        self.splits[split.source] = split


@dataclass
class Bench:
    """Where a unit is judged; keeps what was asked.

    Attributes:
        answer: the judge's answer by the schema's name and the question.
        slow: seconds that an answer may take, at random.
    """

    answer: Callable[[str, Asked], Answer] = decide
    slow: float = 0.0
    evidence: Library | None = None
    reference: Sequence[str] | None = ("a reference step",)
    splits: KeptSplits = field(default_factory=KeptSplits)
    asked: list[tuple[str, Asked]] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    @property
    def steps(self) -> list[str]:
        """Of the addresses, e.g. ``effectiveness%2F0``, with ``/`` as it is, in the order of the calls."""
        return [step.partition("/")[2].replace("%2F", "/") for step in self.memory.steps]

    @property
    def schemas(self) -> list[str]:
        return [schema for schema, _ in self.asked]

    def __call__(self, request: Request) -> Reply:
        schema = request.body["tools"][0]["function"]["name"]
        question = Asked("", request.messages[0]["content"], ())
        self.asked.append((schema, question))
        answer = self.answer(schema, question)
        if isinstance(answer, Reply):
            return answer
        return Reply(content=json.dumps(answer), latency=self.slow * self.chance.random())

    def judge(self, transcript: Transcript, *, case: str = THYROID, **spec: Any) -> UnitJudgements:
        """Judge one unit; further arguments are fields of `JudgeSpec`."""
        with ModelServer(self) as server:
            return asyncio.run(self.judge_at(server, transcript, case=case, **spec))

    async def judge_at(
        self, server: ModelServer, transcript: Transcript, *, case: str = THYROID, **spec: Any
    ) -> UnitJudgements:
        model = parse_model(server.spec)
        door = Door(store=self.memory, retry=RetryPolicy(tries=1))
        async with open_judge(
            model, Generation(), door, connections=8, role="judge:test", benchmark="medrbench", known=Probed("TOOLS")
        ) as judge:
            return await self.judge_with(judge.model, transcript, case=case, **{"model": model, **spec})

    async def judge_with(
        self, judge: StructuredModel, transcript: Transcript, *, case: str = THYROID, **spec: Any
    ) -> UnitJudgements:
        """Judge one unit with any judge."""
        setting = transcript.data["setting"]
        chosen = JudgeSpec(**{**self.spec, **spec})
        prompts = load_prompts("medrbench", BENCHMARK.judge_prompt_names(chosen, [setting]))
        references = self.references(case)
        tools = JudgeTools(chosen, judge, prompts, "nonce", self.evidence, references, self.splits)
        unit = Unit("medrbench", setting, case, 1)
        return await BENCHMARK.judging(tools).judge(case_of(case, setting), unit, transcript)

    @property
    def spec(self) -> dict[str, Any]:
        evidence = self.evidence.name if self.evidence else "none"
        return {"name": "test", "model": parse_model("http://127.0.0.1:1/v1#m"), "only": TASKS, "evidence": evidence}

    def references(self, case: str) -> dict[str, ReferenceSteps]:
        if self.reference is None:
            return {}
        return {case: ReferenceSteps(case, tuple(self.reference), "hash of the reference", "text")}


def case_of(case_id: str, setting: str) -> Case:
    return next(case for case in loaded(setting).cases if case.id == case_id)


def output(text: str | None, *, thinking: str = "", setting: str = "oracle", case: str = THYROID) -> Transcript:
    """A transcript of an answer's whole text."""
    return BENCHMARK.read_prediction(case_of(case, setting).record, text, thinking=thinking, setting=setting)


def answer(*steps: str, final: str = "Hashimoto thyroiditis") -> str:
    """An answer in the demanded form."""
    numbered = "\n".join(f"<step {number}> {step}" for number, step in enumerate(steps, start=1))
    return f"### Chain of Thought:\n{numbered}\n\n### Answer:\n{final}"


def labels(said: UnitJudgements, kind: str) -> dict[int, Any]:
    return dict(said.view.labels(kind))


def scores(said: UnitJudgements, *, setting: str = "oracle", case: str = THYROID) -> dict[str, Outcome]:
    return dict(BENCHMARK.score_judged(case_of(case, setting).record, setting, {}, said))
