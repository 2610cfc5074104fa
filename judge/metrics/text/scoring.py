"""Scoring texts against their references with all metrics of this family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from judge.metrics.signature import Metric
from judge.metrics.text.meteor import open_meteor
from judge.metrics.text.overlap import Bleu, RougeL
from judge.metrics.text.values import NOTHING, Item, NotComputed, TextMetric, TextSettings
from judge.metrics.text.words import is_blank, normalised
from judge.outcome import Outcome, Unscored

TextMetricName = Literal["bleu", "rouge_l", "meteor", "bertscore"]

#: In report order.
TEXT_METRICS: tuple[TextMetricName, ...] = get_args(TextMetricName)

NO_TEXT = "no_text"
NO_REFERENCE = "no_reference"


def _open_bertscore(language: str, settings: TextSettings) -> TextMetric | NotComputed:
    from judge.metrics.text.bertscore import open_bertscore  # brings numpy

    return open_bertscore(language, settings)


_OPEN: Mapping[str, Callable[[str, TextSettings], TextMetric | NotComputed]] = {
    "bleu": lambda language, settings: Bleu(language),
    "rouge_l": lambda language, settings: RougeL(settings.references),
    "meteor": open_meteor,
    "bertscore": _open_bertscore,
}


@dataclass(frozen=True, slots=True)
class TextScores:
    """What texts got.

    Attributes:
        metrics: name -> the metric with its signature, for those that were computed; ``bleu_corpus`` comes with
            ``bleu``.
        values: metric -> item -> outcome. Of a blank candidate it is 0 with the flag `Scored.empty`; of one that is
            None ``no_text``; of one that has no reference but blank ones ``no_reference``.
        corpus: ``bleu_corpus`` -> BLEU of all items together that have a text and a reference, blank texts included.
        not_computed: metric -> why there is no such number.
        empty: items with a blank candidate.
        cut, cut_references: metric -> items of which the candidate, or a reference, was longer than what is read.
        blank_references: how many references were blank; they are left out.
    """

    metrics: Mapping[str, Metric]
    values: Mapping[str, Mapping[str, Outcome]]
    corpus: Mapping[str, Outcome]
    not_computed: Mapping[str, NotComputed]
    empty: tuple[str, ...]
    cut: Mapping[str, tuple[str, ...]]
    cut_references: Mapping[str, tuple[str, ...]]
    blank_references: int


def text_metrics(
    language: str, names: Iterable[TextMetricName] = TEXT_METRICS, settings: TextSettings | None = None
) -> dict[str, Metric | NotComputed]:
    """The metrics as they would be computed here, signed with the resources that are there.

    Raises:
        as `score_texts`.
    """
    found: dict[str, Metric | NotComputed] = {}
    for name, metric in _opened(language, names, settings or TextSettings()).items():
        found[name] = metric if isinstance(metric, NotComputed) else metric.metric
        if isinstance(metric, Bleu):
            found["bleu_corpus"] = metric.corpus_metric
    return found


def score_texts(
    candidates: Mapping[str, str | None],
    references: Mapping[str, Sequence[str]],
    *,
    language: str,
    metrics: Iterable[TextMetricName] = TEXT_METRICS,
    settings: TextSettings | None = None,
) -> TextScores:
    """Compare each candidate with its references; depends on nothing but the texts, the settings and the resources.

    Args:
        candidates: item -> text; None where there is none.
        references: item -> one text or several; may have more items than `candidates`.
        language: e.g. ``en`` or ``fr``; says which tokeniser, synonyms and encoder are right.

    Raises:
        ValueError: an item has no references, a metric is unknown, or a value is not finite.
        DataError, SpecError: a resource that the settings name cannot be used.
    """
    opened = _opened(language, metrics, settings or TextSettings())
    sorted_out = _sort_out(candidates, references)
    computed = {name: metric for name, metric in opened.items() if not isinstance(metric, NotComputed)}
    values = {
        name: _filled(metric.score(sorted_out.items), sorted_out, candidates) for name, metric in computed.items()
    }
    bleu = computed.get("bleu")
    with_corpus = bleu if isinstance(bleu, Bleu) else None
    signed = {name: metric.metric for name, metric in computed.items()}
    return TextScores(
        metrics=signed | ({"bleu_corpus": with_corpus.corpus_metric} if with_corpus else {}),
        values=values,
        corpus={"bleu_corpus": with_corpus.corpus(sorted_out.with_blank)} if with_corpus else {},
        not_computed={name: metric for name, metric in opened.items() if isinstance(metric, NotComputed)},
        empty=sorted_out.empty,
        cut={name: tuple(sorted(metric.cut)) for name, metric in computed.items() if metric.cut},
        cut_references={
            name: tuple(sorted(metric.cut_references)) for name, metric in computed.items() if metric.cut_references
        },
        blank_references=sorted_out.blank_references,
    )


def _opened(
    language: str, names: Iterable[TextMetricName], settings: TextSettings
) -> dict[str, TextMetric | NotComputed]:
    wanted = list(names)
    if unknown := sorted(set(wanted) - _OPEN.keys()):
        raise ValueError(f"there is no text metric {unknown[0]!r}; there are {', '.join(_OPEN)}")
    code = language.lower().replace("_", "-").partition("-")[0]
    return {name: _OPEN[name](code, settings) for name in wanted}


@dataclass(frozen=True, slots=True)
class _SortedOut:
    """Items that can be compared, and those that cannot.

    Attributes:
        with_blank: the items and those with a blank candidate, in order, for what is computed over all together.
        unscored: item -> why.
    """

    items: tuple[Item, ...]
    with_blank: tuple[Item, ...]
    empty: tuple[str, ...]
    unscored: Mapping[str, Unscored]
    blank_references: int


def _sort_out(candidates: Mapping[str, str | None], references: Mapping[str, Sequence[str]]) -> _SortedOut:
    with_blank: list[Item] = []
    unscored: dict[str, Unscored] = {}
    blank_references = 0
    for id, candidate in candidates.items():
        given = _references(id, references)
        kept = tuple(text for text in given if not is_blank(text))
        blank_references += len(given) - len(kept)
        if candidate is None:
            unscored[id] = Unscored(NO_TEXT, "there is no text to compare")
        elif not kept:
            unscored[id] = Unscored(NO_REFERENCE, "all references are blank")
        else:
            with_blank.append(Item(id, normalised(candidate), kept))
    items = tuple(item for item in with_blank if not is_blank(item.candidate))
    empty = tuple(item.id for item in with_blank if is_blank(item.candidate))
    # what cannot be seen must not be counted as a word either
    blanked = tuple(replace(item, candidate="") if is_blank(item.candidate) else item for item in with_blank)
    return _SortedOut(items, blanked, empty, unscored, blank_references)


def _references(id: str, references: Mapping[str, Sequence[str]]) -> list[str]:
    given = references.get(id)
    if not given:
        raise ValueError(f"item {id!r} has no references")
    if isinstance(given, str):
        raise ValueError(f"the references of item {id!r} are one text; give a list of texts")
    return [normalised(text) for text in given]


def _filled(
    scores: Mapping[str, Outcome], sorted_out: _SortedOut, candidates: Mapping[str, str | None]
) -> dict[str, Outcome]:
    """Outcomes of all items in the order of the candidates."""
    all_outcomes = {**scores, **sorted_out.unscored, **dict.fromkeys(sorted_out.empty, NOTHING)}
    return {id: all_outcomes[id] for id in candidates}
