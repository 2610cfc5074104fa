"""BLEU and ROUGE-L: how many of a text's words, in order, are in the references."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from judge.metrics.signature import Metric
from judge.metrics.text.values import NOTHING, Item, ReferenceRule, over_references, scored, version
from judge.metrics.text.words import NORMALISATION, TOKENISER, words
from judge.outcome import Outcome, Unscored

#: sacrebleu's tokenisers by language; mteval-v13a for all others.
_TOKENISERS = {"zh": "zh"}


class Bleu:
    """Sentence BLEU of each item (Papineni et al. 2002) as sacrebleu computes it, divided by 100.

    Orders that the candidate is too short for do not count (effective order), so a text of two tokens that equals its
    reference gets 1; orders without a match are smoothed exponentially.
    """

    def __init__(self, language: str) -> None:
        self._tokeniser = _TOKENISERS.get(language, "13a")
        self.metric = Metric(
            "bleu", "BLEU (sentence)", self._parameters("yes"), source="Papineni et al. 2002; sacrebleu"
        )
        self.cut: set[str] = set()
        self.cut_references: set[str] = set()

    def _parameters(self, effective: str) -> tuple[tuple[str, str], ...]:
        return (
            ("refs", "native"),
            ("case", "mixed"),
            ("tok", self._tokeniser),
            ("norm", NORMALISATION),
            ("smooth", "exp"),
            ("eff", effective),
            ("impl", version("sacrebleu")),
        )

    @property
    def corpus_metric(self) -> Metric:
        """BLEU of all items together; orders of n-grams are not left out, as usual for a corpus."""
        return Metric("bleu_corpus", "BLEU (corpus)", self._parameters("no"), source="Papineni et al. 2002; sacrebleu")

    @cached_property
    def _sentence(self) -> Any:
        return self._scorer(effective_order=True)

    def _scorer(self, *, effective_order: bool) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(tokenize=self._tokeniser, smooth_method="exp", effective_order=effective_order, force=True)

    def score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        return {item.id: self._one(item) for item in items}

    def _one(self, item: Item) -> Outcome:
        result = self._sentence.sentence_score(item.candidate, item.references)
        return scored(result.score / 100, self.metric.name, item.id) if result.sys_len else NOTHING

    def corpus(self, items: Sequence[Item]) -> Outcome:
        """Of the texts together; a blank candidate adds nothing but the length of its reference.

        sacrebleu wants the first references of all items, then all second ones, and so on; None where there is none.
        """
        if not items:
            return Unscored("no_items", "there is no text to score")
        most = max(len(item.references) for item in items)
        nested = [[dict(enumerate(item.references)).get(place) for item in items] for place in range(most)]
        result = self._scorer(effective_order=False).corpus_score([item.candidate for item in items], nested)
        return scored(result.score / 100, "bleu_corpus", "all items")


class RougeL:
    """ROUGE-L F (Lin 2004, section 3: longest common subsequence, equal weight of precision and recall)."""

    def __init__(self, rule: ReferenceRule) -> None:
        self._rule: ReferenceRule = rule
        parameters = (
            ("refs", rule),
            ("f", "1"),
            ("stem", "no"),
            ("tok", TOKENISER),
            ("norm", NORMALISATION),
            ("impl", version("rouge-score")),
        )
        self.metric = Metric("rouge_l", "ROUGE-L", parameters, source="Lin 2004; rouge-score")
        self.cut: set[str] = set()
        self.cut_references: set[str] = set()

    def score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rougeL"], tokenizer=_Words())
        return {item.id: self._one(scorer, item) for item in items}

    def _one(self, scorer: Any, item: Item) -> Outcome:
        if not words(item.candidate):
            return NOTHING
        values = (scorer.score(reference, item.candidate)["rougeL"].fmeasure for reference in item.references)
        return scored(over_references(values, self._rule), self.metric.name, item.id)


class _Words:
    """Our words behind the interface that rouge-score asks for."""

    def tokenize(self, text: str) -> list[str]:
        return words(text)
