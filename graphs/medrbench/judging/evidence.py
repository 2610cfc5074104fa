"""Looking things up for a judge, and telling how it went."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

from graphs.medrbench.judging.state import Context, Failed, Row, attempt
from judge.chains.searches import Found
from judge.evidence import Passage
from judge.models.address import Address

#: Most searches for one step, or for one answer (MedR-Bench, arXiv 2503.04691, Methods).
MAX_SEARCHES = 3

EVIDENCE_FAILED = "evidence_failed"

#: The judge wants more evidence than it may have; its last question leaves no room for that.
UNDECIDED = Failed("judge_undecided", "the judge asked for evidence where it had to decide")


async def look_up(
    context: Context, kind: str, item: int, queries: Sequence[str], searches: Sequence[Row]
) -> list[Row] | Failed:
    """The searches for one item, with those for these queries; what exceeds `MAX_SEARCHES` is not looked up.

    A search that fails is never the same as one that finds nothing: without it there is no verdict.
    """
    first = len(searches) + 1
    wanted = queries[: MAX_SEARCHES - len(searches)]
    found = await asyncio.gather(
        *(
            _search(context, f"search/{kind}/{item}/{n}/{_mark(query)}", query)
            for n, query in enumerate(wanted, start=first)
        )
    )
    rows = list(searches)
    for one in found:
        if isinstance(one, Failed):
            return one
        rows.append(one)
    return rows


def _mark(query: str) -> str:
    """Part of the address: a judge that is asked again may want to look up something else."""
    return hashlib.sha256(query.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]


async def _search(context: Context, step: str, query: str) -> Row | Failed:
    evidence, unit = context.tools.evidence, context.unit
    assert evidence is not None, "nothing is looked up where nothing may be"
    address = Address(unit.benchmark, unit.setting, unit.case, unit.epoch, context.tools.spec.role, step)
    passages = await attempt(context, lambda: evidence.search(query, address))
    if isinstance(passages, Failed):
        return Failed(EVIDENCE_FAILED, f"the search for {query!r} failed ({passages.reason}): {passages.detail}")
    return {"query": query, "found": [{"source": one.source, "text": one.text} for one in passages]}


def shown(searches: Sequence[Row]) -> list[Found]:
    """What was found, as it is shown to a judge."""
    return [
        Found(search["query"], tuple(Passage(one["text"], one["source"]) for one in search["found"]))
        for search in searches
    ]


def may_search(context: Context, searches: Sequence[Row]) -> bool:
    """Whether more can be looked up for an item after these searches."""
    return context.may_search and len(searches) < MAX_SEARCHES
