"""The labels of steps: label → (verify ⇄ search). A branch for each step in protocol ``per-step``, else one for all.

Facts are asked about for effective steps only, and what is looked up for one step is shown for no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.medrbench.judging.evidence import UNDECIDED, look_up, may_search, shown
from graphs.medrbench.judging.state import Context, Failed, Gathered, Labelling, Row, attempt, missing
from judge.chains.effectiveness import judge_effectiveness
from judge.chains.factuality import FactualityVerdict, judge_factuality
from judge.chains.labelling import label_all, verify_all
from judge.chains.searches import NEEDS_EVIDENCE
from judge.judgements import Judgement
from judge.metrics.reasoning import EFFECTIVE

EFFECTIVENESS, FACTUALITY = "effectiveness", "factuality"

LEFT_OUT = Failed("judge_incomplete", "the judge left it out, also when asked again")

Verdicts = Mapping[int, FactualityVerdict]


def build_labelling() -> CompiledStateGraph[Labelling, Context, Labelling, Gathered]:
    """The compiled branch."""
    graph = StateGraph(Labelling, context_schema=Context, output_schema=Gathered)
    graph.add_node("label", label)
    graph.add_node("verify", verify)
    graph.add_node("search", search)
    graph.add_edge(START, "label")
    graph.add_conditional_edges("label", following, ["verify", "search", END])
    graph.add_conditional_edges("verify", following, ["verify", "search", END])
    graph.add_conditional_edges("search", following, ["verify", END])
    return graph.compile()


def following(state: Labelling) -> Literal["verify", "search", "__end__"]:
    """Look up what is to be looked up, then ask about what is open."""
    if state["queries"]:
        return "search"
    return "verify" if state["open"] else "__end__"


# Labels ---------------------------------------------------------------------------------------------------------


async def label(state: Labelling, runtime: Runtime[Context]) -> Labelling:
    """What each step does; in one call for all of them also whether it is true, as far as that can be told."""
    ask = _label_all if runtime.context.tools.spec.protocol == "batched" else _label_one
    return await ask(state, runtime.context)


async def _label_one(state: Labelling, context: Context) -> Labelling:
    (item,) = state["items"]
    verdict = await attempt(context, lambda: judge_effectiveness(context.asker, state["case"], state["steps"], item))
    if isinstance(verdict, Failed):
        return {**_opened([]), "missing": _unlabelled(item, verdict)}
    row = _row(state, EFFECTIVENESS, item, verdict.effectiveness, verdict.rationale)
    return {**_opened([item] if verdict.effectiveness == EFFECTIVE else []), "judgements": [row]}


async def _label_all(state: Labelling, context: Context) -> Labelling:
    verdicts = await attempt(
        context,
        lambda: label_all(context.asker, state["case"], state["steps"], may_search=context.may_search),
    )
    if isinstance(verdicts, Failed):
        return {**_opened([]), "missing": [row for item in state["items"] for row in _unlabelled(item, verdicts)]}
    left_out = [row for item in state["items"] if item not in verdicts for row in _unlabelled(item, LEFT_OUT)]
    rows = [_row(state, EFFECTIVENESS, item, one.effectiveness, one.rationale) for item, one in verdicts.items()]
    facts = {
        item: FactualityVerdict(rationale=one.rationale, verdict=one.factuality, queries=one.queries)
        for item, one in verdicts.items()
        if one.effectiveness == EFFECTIVE
    }
    start: Labelling = {**state, **_opened([])}
    decided = _decide(start, context, sorted(facts), facts)
    decided["judgements"] = [*rows, *decided["judgements"]]
    decided["missing"] = [*left_out, *decided["missing"]]
    return {**decided, "searches": {}}


def _opened(items: list[int]) -> Labelling:
    return {"open": items, "queries": {}, "searches": {}, "round": 0}


def _unlabelled(item: int, failed: Failed) -> list[Row]:
    """A step of which it is not known whether it is effective may be one whose facts count."""
    return [missing(EFFECTIVENESS, failed, item), missing(FACTUALITY, failed, item)]


# Facts ----------------------------------------------------------------------------------------------------------


async def verify(state: Labelling, runtime: Runtime[Context]) -> Labelling:
    """Ask whether open steps are true: those for which more can be looked up, and the others when only they are left.

    Both cannot be in one call, since the judge is told whether it may ask for evidence.
    """
    context = runtime.context
    free = [item for item in state["open"] if may_search(context, state["searches"].get(item, ()))]
    asked = free or state["open"]
    ask = _verify_all if context.tools.spec.protocol == "batched" else _verify_one
    verdicts = await attempt(context, lambda: ask(state, context, asked, more=bool(free)))
    if isinstance(verdicts, Failed):
        return {
            "open": [item for item in state["open"] if item not in asked],
            "round": state["round"] + 1,
            "missing": [missing(FACTUALITY, verdicts, item) for item in asked],
        }
    return _decide(state, context, asked, verdicts)


async def _verify_one(state: Labelling, context: Context, asked: Sequence[int], *, more: bool) -> Verdicts:
    (item,) = asked
    found = shown(state["searches"].get(item, ()))
    text, number = state["steps"][item], state["round"]
    return {
        item: await judge_factuality(
            context.asker, state["case"], text, item, round=number, found=found, may_search=more
        )
    }


async def _verify_all(state: Labelling, context: Context, asked: Sequence[int], *, more: bool) -> Verdicts:
    steps = {item: state["steps"][item] for item in asked}
    found = {item: shown(state["searches"].get(item, ())) for item in asked}
    return await verify_all(context.asker, state["case"], steps, round=state["round"], found=found, may_search=more)


def _decide(state: Labelling, context: Context, asked: Sequence[int], verdicts: Verdicts) -> Labelling:
    """What is decided now, and what has to be looked up before the rest can be."""
    rows: list[Row] = []
    gone: list[Row] = []
    queries: dict[int, list[str]] = {}
    for item in asked:
        verdict, searches = verdicts.get(item), state["searches"].get(item, [])
        if verdict is None:
            gone.append(missing(FACTUALITY, LEFT_OUT, item))
        elif verdict.verdict != NEEDS_EVIDENCE:
            correct = verdict.verdict == "correct"
            rows.append(_row(state, FACTUALITY, item, correct, verdict.rationale, searches))
        elif verdict.queries and may_search(context, searches):
            queries[item] = verdict.queries
        else:
            gone.append(missing(FACTUALITY, UNDECIDED, item))
    waiting = [item for item in state["open"] if item not in asked]
    return {
        "open": sorted([*waiting, *queries]),
        "queries": queries,
        "round": state["round"] + 1,
        "judgements": rows,
        "missing": gone,
    }


async def search(state: Labelling, runtime: Runtime[Context]) -> Labelling:
    """Look up what was asked for; a step whose search fails gets no label."""
    context, queries = runtime.context, state["queries"]
    found = await asyncio.gather(
        *(look_up(context, FACTUALITY, item, queries[item], state["searches"].get(item, ())) for item in queries)
    )
    searches = dict(state["searches"])
    gone: list[Row] = []
    for item, one in zip(queries, found, strict=True):
        if isinstance(one, Failed):
            gone.append(missing(FACTUALITY, one, item))
        else:
            searches[item] = one
    failed = {row["item"] for row in gone}
    still = [item for item in state["open"] if item not in failed]
    return {"open": still, "queries": {}, "searches": searches, "missing": gone}


def _row(state: Labelling, kind: str, item: int, label: str | bool, rationale: str, path: Sequence[Row] = ()) -> Row:
    return Judgement(kind, item, state["steps"][item], label, rationale, tuple(path)).to_row()
