"""What people's labels make of judged means, beside these: taken from the sensitivity report, computed nowhere else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.runs.annotating import PERSON
from judge.runs.comparable import AGAINST_REFERENCE
from judge.runs.paneling import PANEL
from judge.stats import REASONS

METHOD = "prediction-powered"

#: Setting, metric and judge of a mean.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Labelled:
    """What is known of people's labels.

    Attributes:
        people: names of the judges of a report that are people.
        rows: as `judge.sensitivity.people.corrected` makes them.
    """

    people: tuple[str, ...] = ()
    rows: Sequence[Mapping[str, Any]] = ()


def people_facts(
    labelled: Labelled, known: Mapping[str, Mapping[str, Any]], shown: Collection[str]
) -> dict[str, Any] | None:
    """Who the people are and what is made of their labels, as sentences; None where there is nobody.

    Args:
        known: judge -> what the run knows of it, for all its judges.
        shown: the judges of the report.
    """
    left_out = [name for name, facts in known.items() if facts.get("source") == PERSON and name not in shown]
    unknown = [name for name in shown if _maybe_a_person(known[name]) and name not in labelled.people]
    judged = [name for name in shown if name not in labelled.people and name not in unknown]
    sentences = []
    if labelled.people and (judged or unknown):
        sentences += _about(labelled)
    if left_out:
        sentences.append(
            f"The run has labels by {_named(left_out)} as well, who {_are(left_out)} not among the judges of this "
            "report, so that they correct no mean here."
        )
    if unknown and judged:
        sentences.append(
            f"Whether labels by {_named(unknown)} are people's is not known; if so, say it with --people, and they "
            "correct the means of the other judges."
        )
    return {"names": list(labelled.people), "sentences": sentences} if sentences else None


def _about(labelled: Labelled) -> list[str]:
    """What a corrected mean is, and what its notes say."""
    people = _named(labelled.people)
    if not any(_found(row)["value"] is not None for row in labelled.rows):
        return [f"The labels by {people} correct no judged mean here; the tables say why."]
    notes = dict.fromkeys(note for row in labelled.rows if (note := _found(row)["note"]))
    return [
        f"A mean “corrected by people” estimates what {people} would have said of all units that the judge scored: its "
        "mean, moved by its error on those that were labelled by people too (prediction-powered inference, PPI++). It "
        "takes these for a random part of all; where several people labelled one, their mean counts.",
        *(f"{note[:1].upper()}{note[1:]}." for note in notes),
    ]


def correction_of(key: Key, labelled: Labelled, values: Mapping[Key, int]) -> dict[str, Any] | None:
    """The corrected mean that stands beside a judged one; None where there is none to correct, or nobody to do so.

    ``value`` and ``interval`` are None where it cannot be had, and ``why`` says why. ``n_labelled`` is the number of
    units that both the judge and a person labelled, ``n_labelled_clusters`` that of their clusters.

    Args:
        values: setting, metric and judge -> units with a value.
    """
    setting, metric, judge = key
    if not labelled.people or judge in labelled.people or not judge or not values[key]:
        return None
    row = next((row for row in labelled.rows if _key(row) == key), None)
    if row is None:
        given = any(values.get((setting, metric, person)) for person in labelled.people)
        return {**_NOTHING, "why": _why_none(metric, judge) if given else "no labels by people"}
    found = _found(row)
    return {
        "method": METHOD,
        "people": list(row["people"]),
        "value": found["value"],
        "interval": list(found["interval"]) if found["interval"] else None,
        "n_labelled": found["n_labelled"],
        "n_labelled_clusters": found["n_labelled_clusters"],
        "why": REASONS[found["reason"] or found["interval_reason"]]
        if found["reason"] or found["interval_reason"]
        else "",
    }


_NOTHING: Mapping[str, Any] = {
    "method": METHOD, "people": [], "value": None, "interval": None, "n_labelled": 0, "n_labelled_clusters": 0,
}  # fmt: skip


def _why_none(metric: str, judge: str) -> str:
    if metric in AGAINST_REFERENCE:
        return f"people had other reference steps than {judge}"
    return f"people labelled none of the units that {judge} scored"


def _key(row: Mapping[str, Any]) -> Key:
    return row["setting"], row["metric"], row["judge"]


def _found(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = row["prediction_powered"]
    return found


def _maybe_a_person(facts: Mapping[str, Any]) -> bool:
    """Whether labels were made elsewhere, by nobody knows whom."""
    return "spec" not in facts and facts.get("source") not in (PANEL, PERSON)


def _named(names: Iterable[str]) -> str:
    return ", ".join(names)


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
