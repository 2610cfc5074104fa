"""METEOR: words that are equal, share a stem or are synonyms, and how scattered the matches are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from judge.errors import DataError, SpecError
from judge.metrics.signature import Metric
from judge.metrics.text.values import (
    NOTHING,
    Item,
    NotComputed,
    ReferenceRule,
    SynonymSource,
    TextSettings,
    over_references,
    scored,
    version,
)
from judge.metrics.text.wordnet import WORDNET_FILES, Synonyms, file_hashes, load_synonyms, wordnet_folder
from judge.metrics.text.words import NORMALISATION, TOKENISER, words
from judge.outcome import Outcome

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5

FETCH = "run: medjudge data fetch wordnet"


class Meteor:
    """METEOR (Lavie & Agarwal 2007) as NLTK computes it, over our words.

    A text that equals its reference gets a little less than 1, since even one unbroken run of n matches is charged
    ``gamma / n**beta``.
    """

    def __init__(self, source: str, synonyms: Synonyms, stemmer: str, rule: ReferenceRule) -> None:
        self._synonyms = synonyms
        self._stemmer = _CachedStemmer(stemmer)
        self._rule: ReferenceRule = rule
        parameters = (
            ("refs", rule),
            ("alpha", f"{ALPHA:g}"),
            ("beta", f"{BETA:g}"),
            ("gamma", f"{GAMMA:g}"),
            ("stem", stemmer),
            ("syn", f"{source}-{synonyms.version}"),
            ("tok", TOKENISER),
            ("norm", NORMALISATION),
            ("impl", version("nltk")),
        )
        self.metric = Metric("meteor", "METEOR", parameters, source="Lavie & Agarwal 2007; NLTK")
        self.cut: set[str] = set()
        self.cut_references: set[str] = set()

    def score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        return {item.id: self._one(item) for item in items}

    def _one(self, item: Item) -> Outcome:
        from nltk.translate.meteor_score import single_meteor_score

        candidate = words(item.candidate)
        if not candidate:
            return NOTHING
        values = (
            single_meteor_score(
                words(reference),
                candidate,
                stemmer=self._stemmer,
                wordnet=self._synonyms,
                alpha=ALPHA,
                beta=BETA,
                gamma=GAMMA,
            )
            for reference in item.references
        )
        return scored(over_references(values, self._rule), self.metric.name, item.id)


def open_meteor(language: str, settings: TextSettings) -> Meteor | NotComputed:
    """METEOR for a language, its synonyms loaded; where there are none it is not computed, not weakened.

    Raises:
        DataError: a folder of synonyms that the user names cannot be read.
        SpecError: no such stemmer.
    """
    source = settings.synonyms.get(language)
    if source is None:
        return NotComputed(f"METEOR has no stemmer and synonyms for language {language!r}; name some in the settings")
    if source.folder is not None:
        return Meteor(source.folder.name, load_synonyms(source.folder), source.stemmer, settings.references)
    return _with_wordnet(source, settings)


def _with_wordnet(source: SynonymSource, settings: TextSettings) -> Meteor | NotComputed:
    folder = wordnet_folder(settings.home())
    if not folder.is_dir():
        return NotComputed(f"METEOR needs WordNet; {FETCH}")
    if file_hashes(folder) != dict(WORDNET_FILES):
        return NotComputed(f"the files in {folder} are not those of WordNet 3.0; {FETCH}")
    try:
        synonyms = load_synonyms(folder)
    except DataError as error:
        return NotComputed(f"{error}; {FETCH}")
    return Meteor("wordnet", synonyms, source.stemmer, settings.references)


class _CachedStemmer:
    """A stemmer that remembers; NLTK's METEOR stems every word of every pair anew."""

    def __init__(self, name: str) -> None:
        self.stem = cache(_stemmer(name).stem)


def _stemmer(name: str) -> Any:
    if name == "porter":
        from nltk.stem.porter import PorterStemmer

        return PorterStemmer()
    from nltk.stem.snowball import SnowballStemmer

    if name not in SnowballStemmer.languages:
        raise SpecError(f"there is no stemmer {name!r}; give porter or one of {', '.join(SnowballStemmer.languages)}")
    return SnowballStemmer(name)
