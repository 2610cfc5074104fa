"""Our values are those of the libraries called directly, on real explanations."""

from __future__ import annotations

import csv
import string
import warnings
from pathlib import Path

import pytest

from judge.metrics.text import Encoder, TextMetricName, TextSettings, score_texts
from judge.metrics.text.wordnet import wordnet_folder
from judge.metrics.text.words import words
from judge.outcome import Scored
from judge.settings import own_folder
from tests.data import real_data
from tests.metrics.encoders import small_encoder

pytestmark = pytest.mark.data

PAIRS = 100

#: Of the six, so that the test is quick.
LAYERS = 2


class Pairs:
    """Candidates with two references each: an explanation of the next question, cut in half, and the own one's rest."""

    def __init__(self, rows: list[list[str]]) -> None:
        following = rows[1:] + rows[:1]
        halves = [(_half(own[6]), _half(other[5])) for own, other in zip(rows, following, strict=True)]
        self.candidates = {str(number): f"{own} {other}" for number, (own, other) in enumerate(halves)}
        self.references = {str(number): [row[5], row[6]] for number, row in enumerate(rows)}


def _half(text: str) -> str:
    parts = text.split()
    return " ".join(parts[: len(parts) // 2])


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    rows: list[list[str]] = []
    for file in sorted((real_data("medexqa") / "test").glob("*.tsv")):
        with file.open(encoding="utf-8", newline="") as stream:
            rows += csv.reader(stream, delimiter="\t")
    return Pairs(rows[:: len(rows) // PAIRS][:PAIRS])


def ours(pairs: Pairs, metric: TextMetricName, settings: TextSettings | None = None) -> list[float]:
    scores = score_texts(pairs.candidates, pairs.references, language="en", metrics=[metric], settings=settings)
    outcomes = list(scores.values[metric].values())
    assert len(outcomes) == PAIRS
    return [outcome.value for outcome in outcomes if isinstance(outcome, Scored)]


def test_bleu_is_sacrebleu_s(pairs: Pairs) -> None:
    import sacrebleu

    expected = [sacrebleu.sentence_bleu(text, pairs.references[name]).score / 100
                for name, text in pairs.candidates.items()]  # fmt: skip
    assert ours(pairs, "bleu") == pytest.approx(expected, abs=1e-9)


def test_corpus_bleu_is_sacrebleu_s(pairs: Pairs) -> None:
    import sacrebleu

    nested = [[pairs.references[name][place] for name in pairs.candidates] for place in (0, 1)]
    expected = sacrebleu.corpus_bleu(list(pairs.candidates.values()), nested).score / 100
    scores = score_texts(pairs.candidates, pairs.references, language="en", metrics=["bleu"])
    outcome = scores.corpus["bleu_corpus"]
    assert isinstance(outcome, Scored)
    assert outcome.value == pytest.approx(expected, abs=1e-9)


def test_rouge_l_is_rouge_score_s_with_its_own_tokeniser_on_ascii(pairs: Pairs) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    plain = [name for name, text in pairs.candidates.items()
             if set("".join([text, *pairs.references[name]])) <= set(string.printable)]  # fmt: skip
    assert len(plain) > PAIRS / 2
    expected = {name: scorer.score_multi(pairs.references[name], pairs.candidates[name])["rougeL"].fmeasure
                for name in plain}  # fmt: skip
    found = dict(zip(pairs.candidates, ours(pairs, "rouge_l"), strict=True))
    assert {name: found[name] for name in plain} == pytest.approx(expected, abs=1e-9)


def test_meteor_is_nltk_s_with_its_own_stemmer_and_reader(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = wordnet_folder(own_folder())
    if not folder.is_dir():
        pytest.skip("needs WordNet: medjudge data fetch wordnet")
    import nltk.data
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.translate.meteor_score import meteor_score

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Needs a file that synonyms do not."""

    monkeypatch.setattr(nltk.data, "path", [*nltk.data.path, str(folder)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        reader = Reader(str(folder), None)
    expected = [meteor_score(list(map(words, pairs.references[name])), words(text), wordnet=reader)
                for name, text in pairs.candidates.items()]  # fmt: skip
    assert ours(pairs, "meteor") == pytest.approx(expected, abs=1e-12)


def test_bertscore_is_bert_score_s_with_and_without_cached_references(pairs: Pairs, tmp_path: Path) -> None:
    encoder = small_encoder()
    from bert_score import BERTScorer

    from judge.metrics.text.encoders import package_folder

    scorer = BERTScorer(model_type=str(package_folder()), num_layers=LAYERS)
    _, _, expected = scorer.score(list(pairs.candidates.values()), list(pairs.references.values()))
    settings = TextSettings(encoders={"en": Encoder(encoder.name, LAYERS)}, folder=tmp_path)
    assert ours(pairs, "bertscore", settings) == pytest.approx(expected.tolist(), abs=1e-5)
    assert list((tmp_path / "embeddings").iterdir())
    assert ours(pairs, "bertscore", settings) == pytest.approx(expected.tolist(), abs=1e-5)
