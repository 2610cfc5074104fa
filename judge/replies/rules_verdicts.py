"""The rules that infer an answer from what a reply says of single options."""

from __future__ import annotations

from judge.replies import vocabulary as words
from judge.replies.reading import Reading, Reply
from judge.replies.tokens import Kind
from judge.replies.verdicts import Verdict, others_are_true


def by_verdicts(reply: Reply) -> Reading | None:
    """Verdicts on single options: the ones called right; all of a finished table called wrong is "none"."""
    verdicts = reply.verdicts
    best = [v for v in verdicts if v.strong and v.true]
    if not reply.multiple and best:
        return reply.choose("per_option", best[-1].keys, ambiguous=best[-1].either)
    if any(v.either for v in verdicts):
        return Reading(None, "ambiguous")
    true = frozenset(key for v in verdicts if v.true for key in v.keys)
    false = denied_keys(reply)
    if reply.multiple and others_are_true(reply.document) and false:
        return reply.choose("per_option", frozenset(reply.options) - false)
    only = next((v for v in reversed(verdicts) if v.only), None)
    if only is not None and reply.multiple:
        return reply.choose("per_option", only.keys if only.true else frozenset(reply.options) - only.keys)
    return _of_table(reply, verdicts, true - _overruled(verdicts), false)


def _overruled(verdicts: list[Verdict]) -> frozenset[str]:
    """Options whose last verdict is false."""
    last: dict[str, bool] = {}
    for verdict in verdicts:
        last |= dict.fromkeys(verdict.keys, verdict.true)
    return frozenset(key for key, true in last.items() if not true)


def denied_keys(reply: Reply) -> frozenset[str]:
    """The options the reply calls wrong or excludes."""
    said = frozenset(key for v in reply.verdicts if not v.true for key in v.keys)
    return said | frozenset(key for claim in reply.claims if claim.denied for key in claim.keys)


def _of_table(reply: Reply, verdicts: list[Verdict], true: frozenset[str], false: frozenset[str]) -> Reading | None:
    judged = true | false
    if not true:
        none = reply.multiple and judged == frozenset(reply.options)
        return reply.choose("per_option", frozenset()) if none else None
    if reply.multiple and _is_cut_table(reply, verdicts, judged):
        return Reading(None, "no_answer")
    return reply.choose("per_option", true)


def _is_cut_table(reply: Reply, verdicts: list[Verdict], judged: frozenset[str]) -> bool:
    """A table of verdicts in the options' order that stops before the last option was cut short."""
    tabular = [v for v in verdicts if v.tabular and len(v.keys) == 1]
    keys = list(dict.fromkeys(key for v in tabular for key in v.keys))
    if len(tabular) < len(verdicts) or all(v.true for v in verdicts):
        return False
    return keys == list(reply.options)[: len(keys)] and len(judged) < len(reply.options)


def by_row_of_marks(reply: Reply) -> Reading | None:
    """ "VFVFF", "V F V F F", "Vrai, Faux, Vrai": one mark for each option, in order."""
    said = [t.norm for t in reply.document.tokens if t.kind not in (Kind.MARK, Kind.BREAK, Kind.NUMBER)]
    marks = list(said[0]) if len(said) == 1 else said
    wrong = words.FALSE_WORDS | words.FALSE_MARKS
    if len(marks) != len(reply.options) or len(marks) < 3 or not reply.multiple:
        return None
    if not all(mark in wrong | words.TRUE_WORDS | words.TRUE_MARKS for mark in marks):
        return None
    return reply.choose(
        "per_option", frozenset(k for k, mark in zip(reply.options, marks, strict=True) if mark not in wrong)
    )


def by_complement(reply: Reply) -> Reading | None:
    """ "La seule proposition fausse est C": all the others are right."""
    claim = next((claim for claim in reversed(reply.claims) if claim.complement), None)
    if claim is None or not reply.multiple:
        return None
    return reply.choose("anchored", frozenset(reply.options) - claim.keys)


def by_elimination(reply: Reply) -> Reading | None:
    """A question with one answer, all of whose other options are called wrong."""
    left = frozenset(reply.options) - denied_keys(reply)
    if reply.multiple or len(left) != 1 or len(reply.options) < 3:
        return None
    return reply.choose("elimination", left)
