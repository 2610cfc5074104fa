"""A panel: several judges of a run as one judge more, made from their stored labels; asks no model.

A label of the panel is what its rule makes of the labels of all its judges for the same item with the same text. Where
they do not decide, or one of them gave no label, the panel has none: ``panel_tie`` and ``panel_incomplete``. Factuality
is judged of effective steps only, so it is decided by those judges that found the step effective, where the panel does.
What all judges that gave the panel's label tell of how they reached it, as in which turn a test was asked for, is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from judge.benchmark import Unit
from judge.errors import RunError, SpecError
from judge.explanations import RUBRIC, RULE
from judge.judgements import Judgement, Label, StepCounts, UnitJudgements
from judge.metrics.reasoning import EFFECTIVE
from judge.outcome import Unscored
from judge.runs.comparable import other_texts, references_before, same_reference
from judge.runs.judge_names import check_judge_name
from judge.runs.rating_agreement import ORDINAL, WHOLE
from judge.runs.store import RunStore

#: Source of a judge that is a panel, among its facts.
PANEL = "panel"

PANEL_TIE = "panel_tie"
PANEL_INCOMPLETE = "panel_incomplete"

Rule = Literal["majority", "unanimous", "median"]
"""More than half of the judges; all of them; or the label in the middle, for labels that have an order."""

RULES: tuple[Rule, ...] = get_args(Rule)

#: Facts of a unit that are the panel's where they are the same for all its judges.
_CARRIED = ("source", "splitter", "reference", "searched")

#: Kind -> the kind, and its label, without which it is not asked about at all.
_ONLY_OF: Mapping[str, tuple[str, Label]] = {"factuality": ("effectiveness", EFFECTIVE)}

Members = Mapping[str, UnitJudgements]
"""Judge -> what it said of one unit."""


@dataclass(frozen=True, slots=True)
class Panelled:
    """A panel that was made.

    Attributes:
        units: how many it has judged.
        missing: kind -> reason -> units in which labels are missing for it.
        again: whether it took the place of an earlier panel of the same judges and rule.
    """

    name: str
    units: int
    missing: Mapping[str, Mapping[str, int]]
    again: bool


def make_panel(store: RunStore, name: str, judges: Sequence[str], rule: Rule) -> Panelled:
    """Keep a panel as a judge of the run; made again, it is brought up to date.

    Raises:
        RunError: the run has no judge of a name, another judge has the panel's name, or the judges had other steps or
            another text before them.
        SpecError: fewer than two judges, a panel among them, or a rule that does not fit their labels.
    """
    known = store.judging.judges()
    facts = {"source": PANEL, "rule": rule, "judges": list(judges)}
    _check(store, known, name, judges, facts)
    found = _votes(store, judges, rule)
    again = name in known
    if again:
        for unit in store.judging.judged(name):
            store.judging.take_back(name, unit)
        store.judging.keep_all(name, found)
    else:
        store.judging.add_judge(name, facts, found)
    return Panelled(name, len(found), _counted(found), again)


def _votes(store: RunStore, judges: Sequence[str], rule: Rule) -> list[tuple[Unit, UnitJudgements]]:
    """What a panel says of every unit that any of its judges judged."""
    said = {judge: store.judging.judged(judge) for judge in judges}
    return [
        (stored.unit, _combined(stored.unit, here, judges, rule))
        for stored in store.units(with_transcripts=False)
        if (here := {judge: of[stored.unit.key] for judge, of in said.items() if stored.unit.key in of})
    ]


def outdated_notes(store: RunStore, names: Iterable[str]) -> list[str]:
    """What must be said of those of these judges that are panels and `outdated`."""
    return [outdated_note(name) for name in names if outdated(store, name)]


def outdated_note(name: str) -> str:
    """What must be said of a panel that is `outdated`."""
    return f"{name} was made before its judges said what they say now; make it again with medjudge panel"


def outdated(store: RunStore, name: str) -> bool:
    """Whether a judge is a panel whose judges have said something else since it was made."""
    facts = store.judging.judges()[name]
    if facts.get("source") != PANEL:
        return False
    try:
        found = {unit.key: said for unit, said in _votes(store, facts["judges"], facts["rule"])}
    except RunError:  # they could not be a panel any more
        return True
    return found != store.judging.judged(name)


def _check(
    store: RunStore, known: Mapping[str, Any], name: str, judges: Sequence[str], facts: Mapping[str, Any]
) -> None:
    check_judge_name("--name", name)
    if len(set(judges)) != len(judges) or len(judges) < 2:
        raise SpecError(f"--judges {','.join(judges)}: a panel has at least two judges, each named once")
    for judge in judges:
        if judge not in known:
            raise RunError(f"{store.folder} has no judgements by {judge!r}; there are: {', '.join(known) or 'none'}")
        if known[judge].get("source") == PANEL:
            raise SpecError(f"--judges: {judge!r} is a panel itself; name its judges instead")
    if name in known and known[name] != facts:
        raise RunError(f"{store.folder} has judgements by {name!r} already; give the panel another --name")
    if refused := other_texts({judge: known[judge] for judge in judges}):
        raise RunError(f"{refused[0].judges[0]} and {refused[0].judges[1]} cannot be one panel: {refused[0].why}")


def _counted(found: Sequence[tuple[Unit, UnitJudgements]]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for _, said in found:
        for kind, why in said.missing.items():
            counts.setdefault(kind, Counter())[why.reason] += 1
    return {kind: dict(of_kind.most_common()) for kind, of_kind in counts.items()}


# -- one unit ----------------------------------------------------------------------------------------------------------


def _combined(unit: Unit, here: Members, judges: Sequence[str], rule: Rule) -> UnitJudgements:
    """What the panel says of one unit.

    Args:
        here: what its judges said of it, those that did.
        judges: all of them.
    """
    counts, facts = _counts(unit, here), _facts(unit, here)
    kinds = dict.fromkeys([one.kind for said in here.values() for one in said.judgements]
                          + [kind for said in here.values() for kind in said.missing])  # fmt: skip
    kept: dict[str, dict[int, Judgement]] = {}
    missing: dict[str, Unscored] = {}
    for kind in sorted(kinds, key=lambda kind: kind in _ONLY_OF):
        decided = list(_decided(kind, here, judges, rule, kept))
        kept[kind] = {one.item: one for one in decided if isinstance(one, Judgement)}
        if gone := [one for one in decided if isinstance(one, Unscored)]:
            missing[kind] = _first(gone)
    labels = tuple(one for kind in kinds for one in kept[kind].values())
    return UnitJudgements(labels, counts, missing, facts)


def _first(gone: Sequence[Unscored]) -> Unscored:
    """One reason for a kind: that labels are lacking comes before that judges did not agree."""
    first = next((one for one in gone if one.reason != PANEL_TIE), gone[0])
    more = f"; {len(gone)} labels are missing in all" if len(gone) > 1 else ""
    return Unscored(first.reason, f"{first.detail}{more}")


def _decided(
    kind: str, here: Members, judges: Sequence[str], rule: Rule, kept: Mapping[str, Mapping[int, Judgement]]
) -> Iterator[Judgement | Unscored]:
    """For each item of a kind the panel's label, or why there is none; nothing for items that are not asked about."""
    given = {judge: {one.item: one for one in said.view.of(kind)} for judge, said in here.items()}
    if not any(given.values()):
        yield _nobody(kind, here, judges)
        return
    for item, voters in _ballots(kind, here, judges, kept):
        yield _label(kind, item, {judge: given.get(judge, {}).get(item) for judge in voters}, rule)
    if kind not in _ONLY_OF:  # an item that a judge failed at, and that no other has, was not among them
        items = {item for of_judge in given.values() for item in of_judge}
        for judge, said in here.items():
            if kind in said.missing and items <= given[judge].keys():
                yield Unscored(PANEL_INCOMPLETE, f"{judge}: {said.missing[kind].reason}")


def _ballots(
    kind: str, here: Members, judges: Sequence[str], kept: Mapping[str, Mapping[int, Judgement]]
) -> list[tuple[int, Sequence[str]]]:
    """Which items are decided, and by whom: what follows from another label by those who gave that label."""
    first, label = _ONLY_OF.get(kind, ("", ""))
    if not any(said.view.of(first) for said in here.values()):
        return [(item, judges) for item in sorted({one.item for said in here.values() for one in said.view.of(kind)})]
    own = {judge: said.view.labels(first) for judge, said in here.items()}
    return [
        (item, [judge for judge in judges if own.get(judge, {}).get(item) == label])
        for item, one in kept[first].items()
        if one.label == label
    ]


def _nobody(kind: str, here: Members, judges: Sequence[str]) -> Unscored:
    """Why nobody gave a label: the reason of all, if it is one."""
    whys = [said.missing[kind] for said in here.values() if kind in said.missing]
    if len(whys) == len(judges) and len({why.reason for why in whys}) == 1:
        return whys[0]
    named = ", ".join(f"{judge}: {said.missing[kind].reason}" for judge, said in here.items() if kind in said.missing)
    return Unscored(PANEL_INCOMPLETE, named)


def _label(kind: str, item: int, given: Mapping[str, Judgement | None], rule: Rule) -> Judgement | Unscored:
    labels = {judge: one for judge, one in given.items() if one is not None}
    if lacking := [judge for judge in given if judge not in labels]:
        return Unscored(PANEL_INCOMPLETE, f"item {item + 1} has no label by {', '.join(lacking)}")
    texts = {" ".join(one.text.split()) for one in labels.values()}
    if kind not in WHOLE and (len(texts) > 1 or texts == {""}):
        known = "other texts" if len(texts) > 1 else "no text beside the labels"
        return Unscored(PANEL_INCOMPLETE, f"item {item + 1}: the judges have {known}, so it may not be the same")
    label = _vote(kind, [one.label for one in labels.values()], rule)
    said = ", ".join(f"{judge}: {one.label}" for judge, one in labels.items())
    if label is None:
        return Unscored(PANEL_TIE, f"item {item + 1}: {said}")
    text = next((one.text for one in labels.values() if one.text), "")
    return Judgement(kind, item, text, label, said, _path(labels, label))


def _path(labels: Mapping[str, Judgement], label: Label) -> tuple[Mapping[str, Any], ...]:
    """Who said what; that a rule decided, which is the same for all judges; and what all that gave this label tell."""
    ruled = [entry for one in labels.values() for entry in one.path if RULE in entry or RUBRIC in entry][:1]
    first, *others = (one.path for one in labels.values() if one.label == label)
    shared = [entry for entry in first if entry not in ruled and all(entry in path for path in others)]
    return ({"labels": {judge: one.label for judge, one in labels.items()}}, *ruled, *shared)


def _vote(kind: str, labels: Sequence[Label], rule: Rule) -> Label | None:
    """The label that a rule makes of several; None where it makes none.

    Raises:
        SpecError: there is no middle of labels without an order.
    """
    if rule == "median":
        return _middle(kind, labels)
    label, count = Counter(labels).most_common(1)[0]
    decided = count == len(labels) if rule == "unanimous" else 2 * count > len(labels)
    return label if decided else None


def _middle(kind: str, labels: Sequence[Label]) -> Label | None:
    if kind not in ORDINAL and not all(isinstance(label, bool) for label in labels):
        raise SpecError(f"--rule median: the labels of {kind} have no order; use majority or unanimous")
    ordered = sorted(labels, key=float)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else None


# -- what was before the judges ----------------------------------------------------------------------------------------


def _counts(unit: Unit, here: Members) -> StepCounts | None:
    """How many steps there were, by the judges that judged steps.

    Raises:
        RunError: they do not agree on it.
    """
    known = [(judge, said.counts) for judge, said in here.items() if said.counts is not None]
    if not known:
        return None
    found: list[int | None] = []
    for place, noun in enumerate(("steps", "reference steps")):
        of_judge = {judge: counts[place] for judge, counts in known if counts[place] is not None}
        if len(set(of_judge.values())) > 1:
            told = ", ".join(f"{judge} {count}" for judge, count in of_judge.items())
            raise RunError(
                f"these judges cannot be one panel: in {unit.key} they had other numbers of {noun} before them ({told})"
            )
        found.append(next(iter(of_judge.values()), None))
    return StepCounts(*found)


def _facts(unit: Unit, here: Members) -> dict[str, Any]:
    """The facts that are the same for all judges.

    Raises:
        RunError: they had other reference steps before them.
    """
    references = references_before(here)
    for first, other in pairwise(references):
        if not same_reference(references[first], references[other]):
            raise RunError(
                f"these judges cannot be one panel: in {unit.key} {first} and {other} had other reference steps before "
                "them"
            )
    known = [said.facts for said in here.values()]
    return {
        name: known[0][name]
        for name in _CARRIED
        if all(name in facts for facts in known) and all(facts[name] == known[0][name] for facts in known)
    }
