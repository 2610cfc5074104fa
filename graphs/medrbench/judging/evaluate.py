"""Judging MedR-Bench: one run of the graph per unit."""

from __future__ import annotations

from typing import Any

from graphs.medrbench.judging.graph import RECURSION_LIMIT, build_graph
from graphs.medrbench.judging.results import unit_judgements
from graphs.medrbench.judging.state import Context, State
from judge.benchmark import Case, Transcript, Unit
from judge.chains.tools import JudgeTools
from judge.errors import Interrupted
from judge.judgements import UnitJudgements


class ReasoningJudging:
    """A `judge.chains.tools.Judging`."""

    def __init__(self, tools: JudgeTools) -> None:
        self._tools = tools
        self._graph = build_graph()

    async def judge(self, case: Case, unit: Unit, transcript: Transcript) -> UnitJudgements:
        context = Context(self._tools, unit)
        start: State = {
            "setting": unit.setting,
            "record": dict(case.record),
            "status": transcript.status,
            "detail": transcript.detail,
            "data": dict(transcript.data),
        }
        config: Any = {"recursion_limit": RECURSION_LIMIT}
        end = await self._graph.ainvoke(start, context=context, config=config)
        if context.faults:
            raise _first(context.faults)
        return unit_judgements(end["result"])


def _first(faults: list[Exception]) -> Exception:
    """The cause rather than what followed from it: once an endpoint is given up, everything else is interrupted."""
    return next((fault for fault in faults if not isinstance(fault, Interrupted)), faults[0])
