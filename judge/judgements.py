"""What a judge, a model or a person, says of one unit: labels of single things, as plain data.

Which kinds there are and what their labels mean is the matter of the chains and metrics that write and read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from judge.outcome import Unscored

Label = str | bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """One label.

    Attributes:
        kind: the question that was answered, e.g. ``"effectiveness"``, ``"factuality"``, ``"match"``, ``"accuracy"``.
        item: index, from 0, of the step or reference step that was judged; 0 for kinds that judge a whole answer.
        text: what was judged, may be empty where it is known from elsewhere.
        label: the answer.
        rationale: the judge's reason, may be empty.
        path: JSON objects that tell how the label was reached, e.g. searches and what they found, in order.
    """

    kind: str
    item: int
    text: str
    label: Label
    rationale: str = ""
    path: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def __post_init__(self) -> None:
        if not self.kind:
            raise ValueError("a judgement needs a kind")
        if self.item < 0:
            raise ValueError(f"items are counted from 0, got {self.item}")

    def to_row(self) -> dict[str, Any]:
        """All fields in JSON types."""
        return {
            "kind": self.kind,
            "item": self.item,
            "text": self.text,
            "label": self.label,
            "rationale": self.rationale,
            "path": [dict(entry) for entry in self.path],
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Judgement:
        """The inverse of `to_row`.

        Raises:
            ValueError: a field is missing, unknown or of another type.
        """
        if set(row) != set(_TYPES):
            raise ValueError(f"a judgement has the fields {', '.join(_TYPES)}, found {', '.join(map(str, row))}")
        for name, types in _TYPES.items():
            if type(row[name]) not in types:  # exactly: True is an int, and no item
                raise ValueError(f"the field {name!r} of a judgement cannot be {row[name]!r}")
        if not all(isinstance(entry, dict) for entry in row["path"]):
            raise ValueError("the field 'path' of a judgement holds objects only")
        return cls(**{**row, "path": tuple(dict(entry) for entry in row["path"])})


#: Kinds of judgement that are about steps, of an output or of a reference.
STEP_KINDS = frozenset({"effectiveness", "factuality", "match"})

_TYPES: Mapping[str, tuple[type, ...]] = {
    "kind": (str,),
    "item": (int,),
    "text": (str,),
    "label": (str, bool),
    "rationale": (str,),
    "path": (list, tuple),
}


@dataclass(frozen=True, slots=True)
class Judgements:
    """One judge's view of one unit; ValueError if it judges an item twice under one kind."""

    items: tuple[Judgement, ...] = ()

    def __post_init__(self) -> None:
        seen: set[tuple[str, int]] = set()
        for judgement in self.items:
            key = judgement.kind, judgement.item
            if key in seen:
                raise ValueError(f"item {judgement.item} is judged twice for {judgement.kind}")
            seen.add(key)

    def of(self, kind: str) -> list[Judgement]:
        """The judgements of one kind in the order of their items; empty if there are none."""
        return sorted((found for found in self.items if found.kind == kind), key=lambda found: found.item)

    def labels(self, kind: str) -> dict[int, Label]:
        """Item -> label for one kind, in the order of the items."""
        return {found.item: found.label for found in self.of(kind)}

    def to_rows(self) -> list[dict[str, Any]]:
        """Every judgement in JSON types."""
        return [judgement.to_row() for judgement in self.items]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Judgements:
        """The inverse of `to_rows`; ValueError as in `Judgement.from_row`."""
        return cls(tuple(Judgement.from_row(row) for row in rows))


class StepCounts(NamedTuple):
    """How many steps, of the output and of the reference, a judge had before it; None where it did not judge them."""

    steps: int | None
    reference_steps: int | None


@dataclass(frozen=True, slots=True)
class UnitJudgements:
    """What one judge said of one unit, and what it could not say.

    Attributes:
        counts: how many steps it had before it; None where it did not judge steps.
        missing: kind -> why labels of this kind, some or all, are not there; their metrics are unscored with that
            reason. A kind that the judge was not asked about is neither here nor among the judgements.
        facts: what else is to be known, in JSON types: which splitter made the steps, the hash of the reference, …
    """

    judgements: tuple[Judgement, ...] = field(default=(), repr=False)
    counts: StepCounts | None = None
    missing: Mapping[str, Unscored] = field(default_factory=dict, hash=False)
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def view(self) -> Judgements:
        """The judgements as metrics take them."""
        return Judgements(self.judgements)


@dataclass(frozen=True, slots=True)
class CaseLabels:
    """What one judge said of one output for one case, with what a file of labels tells about both.

    Attributes:
        model: whose output was judged; empty if the file does not say.
        judge: who judged; empty if the file does not say.
        stored: the judge's own values of metrics by our names, as far as the file has them.
        steps: texts of the judged steps; empty if there are none or the file does not give them all.
        reference_steps: texts of the reference steps, likewise.
        whole: whether all steps were before the judge, so that where there is no label there was no step; else, as in
            a file of single labels, a kind without labels was not judged.
    """

    case_id: str
    model: str
    judge: str
    judgements: tuple[Judgement, ...] = field(repr=False)
    stored: Mapping[str, float] = field(default_factory=dict, hash=False)
    steps: tuple[str, ...] = field(default=(), repr=False)
    reference_steps: tuple[str, ...] = field(default=(), repr=False)
    whole: bool = False

    @property
    def counts(self) -> StepCounts | None:
        """How many steps were judged; None where the judge did not judge steps at all."""
        if not self.whole and not any(found.kind in STEP_KINDS for found in self.judgements):
            return None
        return StepCounts(
            self._count(self.steps, "effectiveness"),
            self._count(self.reference_steps, "match"),
        )

    def _count(self, texts: tuple[str, ...], kind: str) -> int | None:
        items = max((found.item + 1 for found in self.judgements if found.kind == kind), default=0)
        return max(len(texts), items) if self.whole or items else None

    @property
    def view(self) -> Judgements:
        """The judgements as metrics take them."""
        return Judgements(self.judgements)


@dataclass(frozen=True, slots=True)
class Labels:
    """One judge's labels from a file or folder.

    Attributes:
        records: in the file's order, at most one a case.
        judges: every judge that the file names, in the order of appearance, whoever was asked for.
        models: every model that the file names, likewise.
        sha256: of the file; for a folder over the names and hashes of its files.
    """

    records: tuple[CaseLabels, ...] = field(repr=False)
    judges: tuple[str, ...]
    models: tuple[str, ...]
    sha256: str
