"""BERTScore: with a tiny random encoder what does not depend on its weights, with a small real one the rest."""

from __future__ import annotations

import importlib.metadata
import sqlite3
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from judge.errors import SpecError
from judge.metrics.signature import Metric
from judge.metrics.text import Encoder, NotComputed, TextScores, TextSettings, score_texts, text_metrics
from judge.outcome import Scored, Unscored
from tests.metrics.encoders import POSITIONS, small_encoder, tiny_encoder

TEXTS = ["the heart beats fast", "the heart", "slow", "heart beats slow the heart beats fast", "fast the slow heart"]
FRENCH = "L'œdème pulmonaire aigu a été traité dès l'arrivée à l'hôpital."
CHINESE = "患者因急性心肌梗死入院，并接受了经皮冠状动脉介入治疗。"


@pytest.fixture
def tiny(tmp_path: Path) -> TextSettings:
    return TextSettings(encoders={"en": tiny_encoder(tmp_path / "encoder")}, folder=tmp_path / "home")


def bertscore(
    candidates: Mapping[str, str | None], references: Mapping[str, list[str]], settings: TextSettings
) -> TextScores:
    return score_texts(candidates, references, language="en", metrics=["bertscore"], settings=settings)


def values(scores: TextScores) -> dict[str, float]:
    found = {name: outcome for name, outcome in scores.values["bertscore"].items() if isinstance(outcome, Scored)}
    return {name: outcome.value for name, outcome in found.items()}


def all_pairs() -> tuple[dict[str, str | None], dict[str, list[str]]]:
    pairs = [(one, other) for one in TEXTS for other in TEXTS]
    candidates: dict[str, str | None] = {str(number): one for number, (one, _) in enumerate(pairs)}
    return candidates, {str(number): [other] for number, (_, other) in enumerate(pairs)}


def test_a_text_that_equals_its_reference_gets_one(tiny: TextSettings) -> None:
    found = values(bertscore(dict(enumerate_texts()), {name: [text] for name, text in enumerate_texts()}, tiny))
    assert found == pytest.approx(dict.fromkeys(found, 1.0), abs=1e-5)
    assert max(found.values()) <= 1


def enumerate_texts() -> list[tuple[str, str]]:
    return [(str(number), text) for number, text in enumerate([*TEXTS, "é", "心肌"])]


def test_composed_and_decomposed_texts_are_the_same(tiny: TextSettings) -> None:
    decomposed = unicodedata.normalize("NFD", "é heart")
    assert values(bertscore({"1": decomposed}, {"1": ["é heart"]}, tiny))["1"] == pytest.approx(1, abs=1e-5)


def test_values_do_not_depend_on_batches(tiny: TextSettings) -> None:
    candidates, references = all_pairs()
    alone = values(bertscore(candidates, references, replace(tiny, batch_size=1, folder=tiny.home() / "1")))
    together = values(bertscore(candidates, references, replace(tiny, batch_size=64, folder=tiny.home() / "64")))
    assert alone == pytest.approx(together, abs=1e-5)
    one = values(bertscore({"3": candidates["3"]}, {"3": references["3"]}, tiny))
    assert one["3"] == pytest.approx(alone["3"], abs=1e-5)


def test_values_are_those_of_bert_score(tiny: TextSettings) -> None:
    from bert_score import BERTScorer

    candidates, references = all_pairs()
    scorer = BERTScorer(model_type=tiny.encoders["en"].name, num_layers=1)
    scorer._tokenizer.model_max_length = POSITIONS  # as it stands it overflows
    _, _, expected = scorer.score([str(text) for text in candidates.values()], list(references.values()))
    assert list(values(bertscore(candidates, references, tiny)).values()) == pytest.approx(expected.tolist(), abs=1e-5)


def test_best_or_mean_of_several_references(tiny: TextSettings) -> None:
    single = values(bertscore({"1": TEXTS[0], "2": TEXTS[0]}, {"1": [TEXTS[1]], "2": [TEXTS[2]]}, tiny))
    both = {"1": [TEXTS[1], TEXTS[2]]}
    best = values(bertscore({"1": TEXTS[0]}, both, tiny))["1"]
    mean = values(bertscore({"1": TEXTS[0]}, both, replace(tiny, references="mean")))["1"]
    assert best == pytest.approx(max(single.values()), abs=1e-5)
    assert mean == pytest.approx(sum(single.values()) / 2, abs=1e-5)


def test_blank_texts_are_zero_and_never_encoded(tiny: TextSettings) -> None:
    scores = bertscore({"1": "", "2": " \n", "3": None}, {name: ["the heart"] for name in "123"}, tiny)
    outcomes = scores.values["bertscore"]
    assert [outcomes["1"], outcomes["2"]] == [Scored(0.0)] * 2
    assert outcomes["3"] == Unscored("no_text", "there is no text to compare")
    assert scores.empty == ("1", "2")


def test_texts_beyond_the_limit_are_cut_and_named(tiny: TextSettings) -> None:
    fits = " ".join(["heart"] * (POSITIONS - 2))  # two are special tokens
    long = f"{fits} slow"
    scores = bertscore({"a": long, "b": fits, "c": fits}, {"a": [fits], "b": [fits, long], "c": [fits]}, tiny)
    assert scores.cut == {"bertscore": ("a",)}
    assert scores.cut_references == {"bertscore": ("b",)}
    assert values(scores) == pytest.approx({"a": 1, "b": 1, "c": 1}, abs=1e-5)


def test_an_encoder_that_states_no_longest_text_is_read_up_to_its_positions(tiny: TextSettings) -> None:
    from transformers import AutoTokenizer

    assert AutoTokenizer.from_pretrained(tiny.encoders["en"].name).model_max_length > 1e20
    metric = text_metrics("en", ["bertscore"], tiny)["bertscore"]
    assert isinstance(metric, Metric)
    assert dict(metric.parameters)["max"] == str(POSITIONS)


def test_an_encoder_whose_values_are_not_finite_is_an_error(tmp_path: Path) -> None:
    broken = tiny_encoder(tmp_path / "encoder", broken=True)
    settings = TextSettings(encoders={"en": broken}, folder=tmp_path / "home")
    with pytest.raises(ValueError, match="not finite"):
        bertscore({"1": "heart"}, {"1": ["heart"]}, settings)


# --- the cache of reference embeddings


def cache_file(settings: TextSettings) -> Path:
    (file,) = (settings.home() / "embeddings").glob("*.sqlite")
    return file


def stored(settings: TextSettings) -> dict[bytes, bytes]:
    connection = sqlite3.connect(cache_file(settings))
    rows = dict(connection.execute("SELECT key, data FROM text").fetchall())
    connection.close()
    return rows


def overwrite(settings: TextSettings, data: bytes) -> None:
    connection = sqlite3.connect(cache_file(settings))
    with connection:
        connection.execute("UPDATE text SET data = ?", [data])
    connection.close()


def test_reference_embeddings_are_kept_and_candidates_are_not(tiny: TextSettings) -> None:
    bertscore({"1": "the heart"}, {"1": ["heart beats", "slow"]}, tiny)
    kept = stored(tiny)
    assert len(kept) == 2
    bertscore({"1": "fast"}, {"1": ["heart beats", "slow"]}, tiny)
    assert stored(tiny) == kept


def test_what_is_kept_is_used(tiny: TextSettings) -> None:
    """With the reference's embedding replaced by one in another direction the score is another."""
    before = values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny))["1"]
    assert values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny))["1"] == pytest.approx(before, abs=1e-6)
    (data,) = stored(tiny).values()
    rows = np.frombuffer(data, dtype="<f4").reshape(4, -1)  # [CLS] heart beats [SEP]
    overwrite(tiny, (-rows).tobytes())
    assert values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny))["1"] < before - 0.01


@pytest.mark.parametrize("damage", [b"", b"short", bytes(4 * 4 * 16), b"\xff" * 4 * 4 * 16])
def test_a_damaged_embedding_is_computed_again(tiny: TextSettings, damage: bytes) -> None:
    before = values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny))
    intact = stored(tiny)
    overwrite(tiny, damage)
    assert values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny)) == pytest.approx(before, abs=1e-6)
    assert stored(tiny).keys() == intact.keys()
    assert damage not in stored(tiny).values()


def test_a_cache_that_cannot_be_used_changes_no_number(tiny: TextSettings) -> None:
    before = values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny))
    cache_file(tiny).write_bytes(b"this is no database" * 1000)
    assert values(bertscore({"1": "the heart"}, {"1": ["heart beats"]}, tiny)) == pytest.approx(before, abs=1e-6)


def test_another_encoder_or_layer_has_a_cache_of_its_own(tiny: TextSettings, tmp_path: Path) -> None:
    first = tiny.encoders["en"]
    second = tiny_encoder(tmp_path / "second", seed=1)
    for encoder in (first, Encoder(first.name, 2), second):
        bertscore({"1": "the heart"}, {"1": ["heart beats"]}, replace(tiny, encoders={"en": encoder}))
    assert len(list((tiny.home() / "embeddings").glob("*.sqlite"))) == 3


# --- which encoder


def test_the_signature_names_encoder_layer_and_versions(tiny: TextSettings) -> None:
    metric = text_metrics("en", ["bertscore"], tiny)["bertscore"]
    assert isinstance(metric, Metric)
    parameters = dict(metric.parameters)
    name, _, digest = parameters.pop("encoder").partition("@")
    assert name == "encoder"
    assert len(digest) == 16
    versions = ",".join(f"{name}-{importlib.metadata.version(name)}" for name in ("bert-score", "transformers"))
    assert parameters == {
        "refs": "best", "layer": "1", "max": "16", "idf": "no", "rescale": "no", "norm": "NFC", "impl": versions,
    }  # fmt: skip


def test_other_weights_are_another_signature(tmp_path: Path) -> None:
    signatures = set()
    for seed in (0, 1):
        encoder = tiny_encoder(tmp_path / str(seed) / "encoder", seed=seed)
        metric = text_metrics("en", ["bertscore"], TextSettings(encoders={"en": encoder}, folder=tmp_path))["bertscore"]
        assert isinstance(metric, Metric)
        signatures.add(metric.signature)
    assert len(signatures) == 2


def test_an_encoder_that_is_not_here_is_not_computed_and_says_what_to_run(tmp_path: Path) -> None:
    settings = TextSettings(encoders={"en": Encoder("nobody/has-this-encoder", 3)}, folder=tmp_path)
    found = bertscore({"1": "a"}, {"1": ["a"]}, settings)
    reason = (
        "BERTScore needs the encoder nobody/has-this-encoder; run: medjudge data fetch encoder nobody/has-this-encoder"
    )
    assert found.not_computed == {"bertscore": NotComputed(reason)}
    assert found.values == {}


def test_an_english_encoder_is_not_used_for_french_unless_it_is_named_for_it(tiny: TextSettings) -> None:
    found = score_texts({"1": "le cœur"}, {"1": ["le cœur"]}, language="fr", metrics=["bertscore"], settings=tiny)
    assert str(found.not_computed["bertscore"]).startswith("not computed: BERTScore has no encoder for language 'fr'")
    named = replace(tiny, encoders={"fr": tiny.encoders["en"]})
    found = score_texts({"1": "heart"}, {"1": ["heart"]}, language="fr", metrics=["bertscore"], settings=named)
    assert values(found)["1"] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("layers", "message"), [(3, "has 2 layers, so not 3"), (0, "has 2 layers, so not 0"),
                                                 (None, "say after how many layers")])  # fmt: skip
def test_a_layer_that_is_not_there_or_not_said_is_an_error(
    tiny: TextSettings, layers: int | None, message: str
) -> None:
    settings = replace(tiny, encoders={"en": Encoder(tiny.encoders["en"].name, layers)})
    with pytest.raises(SpecError, match=message):
        text_metrics("en", ["bertscore"], settings)


def test_real_french_and_chinese_texts_equal_themselves(tmp_path: Path) -> None:
    settings = TextSettings(encoders={"fr": small_encoder(), "zh": small_encoder()}, folder=tmp_path)
    for language, text in (("fr", FRENCH), ("zh", CHINESE)):
        decomposed = unicodedata.normalize("NFD", text)
        found = score_texts(
            {"1": decomposed}, {"1": [text]}, language=language, metrics=["bertscore"], settings=settings
        )
        assert values(found)["1"] == pytest.approx(1, abs=1e-5)
