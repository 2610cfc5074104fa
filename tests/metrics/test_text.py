"""BLEU, ROUGE-L and METEOR of texts against arithmetic done by hand, and what scoring says beside the numbers."""

from __future__ import annotations

import importlib.metadata
import math
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import DataError, SpecError
from judge.metrics.text import NotComputed, SynonymSource, TextScores, TextSettings, score_texts, text_metrics
from judge.metrics.text.values import over_references, scored
from judge.metrics.text.wordnet import load_synonyms
from judge.metrics.text.words import is_blank, normalised, words
from judge.outcome import Scored, Unscored
from tests.metrics.lexicon import write_lexicon

FRENCH = "L'œdème pulmonaire aigu a été traité dès l'arrivée à l'hôpital de façon énergique."
CHINESE = "患者因急性心肌梗死入院，并接受了经皮冠状动脉介入治疗。"
LONG = "The maximum surface temperature of a device that does not heat the patient is forty-one degrees."


@pytest.fixture
def lexicon(tmp_path: Path) -> TextSettings:
    folder = write_lexicon(tmp_path / "lexicon", ("doctor", "physician"), ("heart", "ticker", "heart_muscle"))
    french = write_lexicon(tmp_path / "lexique", ("médecin", "docteur"))
    sources = {"en": SynonymSource(folder), "fr": SynonymSource(french, "french")}
    return TextSettings(synonyms=sources, encoders={}, folder=tmp_path)


def value_of(metric: str, candidate: str, *references: str, language: str = "en", **settings: object) -> float:
    scores = score_texts({"1": candidate}, {"1": references}, language=language, metrics=[metric],  # type: ignore[list-item]
                         settings=TextSettings(**settings))  # type: ignore[arg-type]  # fmt: skip
    outcome = scores.values[metric]["1"]
    assert isinstance(outcome, Scored)
    return outcome.value


def meteor(settings: TextSettings, candidate: str, *references: str, language: str = "en") -> float:
    scores = score_texts({"1": candidate}, {"1": references}, language=language, metrics=["meteor"], settings=settings)
    outcome = scores.values["meteor"]["1"]
    assert isinstance(outcome, Scored)
    return outcome.value


# --- words


def test_words_keep_accents_and_split_at_everything_that_is_no_letter_or_digit() -> None:
    assert words("L'œdème a été vu (3,5 mg/L).") == ["l", "œdème", "a", "été", "vu", "3", "5", "mg", "l"]


def test_each_character_is_a_word_in_scripts_without_spaces() -> None:
    assert words("心肌 CT检查2次") == ["心", "肌", "ct", "检", "查", "2", "次"]


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_on_ascii_the_words_are_those_of_rouge_score(text: str) -> None:
    from rouge_score.tokenize import tokenize

    assert words(text) == tokenize(text, None)


@given(st.text())
def test_composed_and_decomposed_texts_have_the_same_words(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))


def test_half_a_surrogate_pair_is_no_reason_to_fail() -> None:
    assert normalised("a\ud83d b") == "a\ufffd b"


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u00a0\u200b\ufeff"])
def test_what_cannot_be_seen_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"{text}.")


# --- BLEU and ROUGE-L by hand


@pytest.mark.parametrize(
    ("candidate", "references", "expected"),
    [
        # of 6, 5, 4, 3 n-grams match 5 (the second "the" does not), 3, 2, 1
        ("the cat sat on the mat", ["the cat sat on a mat"], (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4)),
        # one of two words; of one pair none, smoothed to 1/2; longer orders do not count
        ("blood pressure", ["blood test"], math.sqrt(1 / 2 * 1 / 2)),
        # 2 words for 3: brevity penalty e^(1 - 3/2), all n-grams match
        ("blood pressure", ["blood pressure rises"], math.exp(1 - 3 / 2)),
        # both references together: 4 of 4 words, 2 of 3 pairs, then none of 2 (1/2 of one) and none of 1 (1/4 of one)
        ("a b c d", ["a b x y", "x y c d"], (4 / 4 * 2 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** (1 / 4)),
    ],
)
def test_bleu_by_hand(candidate: str, references: list[str], expected: float) -> None:
    assert value_of("bleu", candidate, *references) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("candidate", "reference", "expected"),
    [
        # "the cat sat on mat": 5 of 6 words on both sides
        ("the cat sat on the mat", "The cat sat on a mat.", 5 / 6),
        # "blood pressure": 2 of 4 and 2 of 6
        ("blood pressure is high", "the patient has high blood pressure", 2 * (2 / 4) * (2 / 6) / (2 / 4 + 2 / 6)),
        ("nothing shared", "two other words", 0),
    ],
)
def test_rouge_l_by_hand(candidate: str, reference: str, expected: float) -> None:
    assert value_of("rouge_l", candidate, reference) == pytest.approx(expected, abs=1e-9)


def test_the_best_reference_counts_unless_the_mean_is_asked_for() -> None:
    texts = ("the cat sat on the mat", "the cat sat on a mat", "nothing shared")
    assert value_of("rouge_l", *texts) == pytest.approx(5 / 6)
    assert value_of("rouge_l", *texts, references="mean") == pytest.approx((5 / 6 + 0) / 2)
    assert over_references([0.2, 0.6], "best") == 0.6
    assert math.isnan(over_references([0.2, math.nan], "best"))


@pytest.mark.parametrize("text", ["blood", "blood pressure", LONG, FRENCH, CHINESE, "≥ 3"])
@pytest.mark.parametrize("language", ["en", "fr", "zh"])
@pytest.mark.parametrize("metric", ["bleu", "rouge_l"])
def test_a_text_that_equals_its_reference_gets_one_in_any_normal_form(metric: str, language: str, text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert value_of(metric, composed, decomposed, language=language) == pytest.approx(1, abs=1e-6)
    assert value_of(metric, decomposed, "something else", composed, language=language) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("metric", ["bleu", "rouge_l"])
def test_a_missing_accent_is_a_difference(metric: str) -> None:
    assert value_of(metric, "il a ete traite", "il a été traité", language="fr") < 0.7


def test_chinese_bleu_is_over_characters() -> None:
    """5 of 6 characters; of 5 pairs 3 (up to the wrong one), of 4 triples 2, of 3 fours 1: as with words."""
    value = value_of("bleu", "患者因急性心", "患者因急慢心", language="zh")
    assert value == pytest.approx((5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** (1 / 4), abs=1e-9)


# --- corpus BLEU


def corpus_bleu(candidates: dict[str, str | None], references: dict[str, list[str]]) -> float:
    outcome = score_texts(candidates, references, language="en", metrics=["bleu"]).corpus["bleu_corpus"]
    assert isinstance(outcome, Scored)
    return outcome.value


def test_corpus_bleu_compares_every_item_with_all_of_its_own_references() -> None:
    candidates: dict[str, str | None] = {"1": "one two three four five", "2": "six seven eight nine ten"}
    references = {"1": ["wrong words", "one two three four five"], "2": ["six seven eight nine ten", "wrong again"]}
    assert corpus_bleu(candidates, references) == pytest.approx(1, abs=1e-9)


def test_items_may_have_different_numbers_of_references() -> None:
    candidates: dict[str, str | None] = {"1": "one two three four five", "2": "six seven eight nine ten"}
    references = {"1": ["one two three four five"], "2": ["wrong", "wrong again", "six seven eight nine ten"]}
    assert corpus_bleu(candidates, references) == pytest.approx(1, abs=1e-9)


def test_corpus_bleu_adds_up_counts_and_lengths_and_a_blank_text_adds_its_reference_s_length() -> None:
    candidates: dict[str, str | None] = {"1": "the cat sat on the mat", "2": "  ", "3": None}
    references = {"1": ["the cat sat on a mat"], "2": ["four words are missing"], "3": ["unknown"]}
    product = 5 / 6 * 3 / 5 * 2 / 4 * 1 / 3
    assert corpus_bleu(candidates, references) == pytest.approx(math.exp(1 - 10 / 6) * product ** (1 / 4), abs=1e-9)


def test_without_any_text_corpus_bleu_is_unscored() -> None:
    scores = score_texts({"1": None}, {"1": ["a"]}, language="en", metrics=["bleu"])
    assert scores.corpus["bleu_corpus"] == Unscored("no_items", "there is no text to score")


# --- METEOR


def test_meteor_of_a_text_that_equals_its_reference_is_charged_for_its_one_chunk(lexicon: TextSettings) -> None:
    assert meteor(lexicon, "the cat sat on the mat", "The cat sat on the mat.") == pytest.approx(1 - 0.5 * (1 / 6) ** 3)
    assert 0.9993 <= meteor(lexicon, LONG, LONG) <= 1


def test_meteor_matches_synonyms(lexicon: TextSettings) -> None:
    assert meteor(lexicon, "the physician sat", "the doctor sat") == pytest.approx(1 - 0.5 * (1 / 3) ** 3)


def test_meteor_without_a_synonym_by_hand(lexicon: TextSettings) -> None:
    """2 of 3 words in 2 chunks."""
    assert meteor(lexicon, "the surgeon sat", "the doctor sat") == pytest.approx(2 / 3 * (1 - 0.5 * (2 / 2) ** 3))


def test_meteor_matches_stems_in_one_chunk(lexicon: TextSettings) -> None:
    """2 of 2 and 2 of 3: P = 1, R = 2/3."""
    mean = 1 * (2 / 3) / (0.9 * 1 + 0.1 * 2 / 3)
    assert meteor(lexicon, "patients treated", "patient treating daily") == pytest.approx(mean * (1 - 0.5 / 2**3))


def test_lemmas_of_several_words_match_nothing(lexicon: TextSettings) -> None:
    assert meteor(lexicon, "heart", "muscle") == 0


def test_french_has_no_meteor_unless_synonyms_for_it_are_named(lexicon: TextSettings) -> None:
    without = score_texts({"1": FRENCH}, {"1": [FRENCH]}, language="fr", settings=TextSettings(folder=lexicon.folder))
    assert str(without.not_computed["meteor"]).startswith(
        "not computed: METEOR has no stemmer and synonyms for language"
    )
    assert "meteor" not in without.values
    assert "meteor" not in without.metrics
    assert meteor(lexicon, "le docteur", "le médecin", language="fr-FR") == pytest.approx(1 - 0.5 / 2**3)
    assert meteor(lexicon, "traitements", "traitement", language="fr") == pytest.approx(1 - 0.5)
    decomposed = unicodedata.normalize("NFD", FRENCH)
    assert meteor(lexicon, FRENCH, decomposed, language="fr") == pytest.approx(1 - 0.5 / len(words(FRENCH)) ** 3)


def test_without_wordnet_meteor_is_not_computed_and_says_what_to_run(tmp_path: Path) -> None:
    expected = NotComputed("METEOR needs WordNet; run: medjudge data fetch wordnet")
    settings = TextSettings(folder=tmp_path)
    assert score_texts({"1": "a"}, {"1": ["a"]}, language="en", metrics=["meteor"], settings=settings).not_computed == {
        "meteor": expected
    }
    assert text_metrics("en", ["meteor"], settings)["meteor"] == expected


def test_other_files_in_wordnet_s_place_are_not_used(tmp_path: Path) -> None:
    write_lexicon(tmp_path / "wordnet", ("doctor", "physician"))
    found = text_metrics("en", ["meteor"], TextSettings(folder=tmp_path))["meteor"]
    assert isinstance(found, NotComputed)
    assert "are not those of WordNet 3.0" in found.reason


def test_a_folder_of_synonyms_that_is_none_is_an_error(tmp_path: Path) -> None:
    settings = TextSettings(synonyms={"en": SynonymSource(tmp_path)})
    with pytest.raises(DataError, match=r"no database in WordNet's format: adj\.exc is missing"):
        text_metrics("en", ["meteor"], settings)


def test_an_unknown_stemmer_is_an_error(lexicon: TextSettings) -> None:
    settings = TextSettings(synonyms={"fr": SynonymSource(lexicon.synonyms["fr"].folder, "klingon")})
    with pytest.raises(SpecError, match="no stemmer 'klingon'; give porter or one of"):
        text_metrics("fr", ["meteor"], settings)


def test_threads_share_one_database(tmp_path: Path) -> None:
    pairs = [(f"left{number}", f"right{number}") for number in range(300)]
    folder = write_lexicon(tmp_path / "lexicon", *pairs)
    wrong: list[str] = []
    loaded = []

    def look_up() -> None:
        synonyms = load_synonyms(folder)
        loaded.append(synonyms)
        for left, right in pairs:
            names = {lemma.name() for synset in synonyms.synsets(left) for lemma in synset.lemmas()}
            if names != {left, right}:
                wrong.append(left)

    threads = [threading.Thread(target=look_up) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(loaded) == 6
    assert len(set(map(id, loaded))) == 1


# --- what is said beside the numbers


def lexical(candidates: dict[str, str | None], references: dict[str, list[str]], settings: TextSettings) -> TextScores:
    return score_texts(candidates, references, language="en", settings=settings)


def test_blank_candidates_score_zero_by_convention_and_are_counted(lexicon: TextSettings) -> None:
    candidates: dict[str, str | None] = {"full": "a text", "empty": "", "blank": " \n\u200b", "none": None}
    scores = lexical(candidates, {name: ["a text"] for name in candidates}, lexicon)
    assert scores.empty == ("empty", "blank")
    for metric in ("bleu", "rouge_l", "meteor"):
        outcomes = scores.values[metric]
        assert list(outcomes) == list(candidates)
        assert [outcomes[name] for name in ("empty", "blank")] == [Scored(0.0)] * 2
        assert all(outcomes[name].empty for name in ("empty", "blank"))  # type: ignore[union-attr]
        assert not outcomes["full"].empty  # type: ignore[union-attr]
        assert outcomes["none"] == Unscored("no_text", "there is no text to compare")


def test_a_candidate_without_any_word_is_zero_by_convention_too(lexicon: TextSettings) -> None:
    scores = lexical({"1": "..."}, {"1": ["a text"]}, lexicon)
    for metric in ("rouge_l", "meteor"):
        assert scores.values[metric]["1"] == Scored(0.0)
        assert scores.values[metric]["1"].empty  # type: ignore[union-attr]


def test_blank_references_are_left_out_and_counted(lexicon: TextSettings) -> None:
    scores = lexical({"1": "a text", "2": "a text"}, {"1": ["", "a text"], "2": [" ", ""]}, lexicon)
    assert scores.blank_references == 3
    assert scores.values["rouge_l"] == {"1": Scored(1.0), "2": Unscored("no_reference", "all references are blank")}


@pytest.mark.parametrize(
    ("references", "message"),
    [({}, "item '1' has no references"), ({"1": []}, "has no references"), ({"1": "a text"}, "are one text")],
)
def test_references_that_are_none_are_an_error(references: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_texts({"1": "a"}, references, language="en", metrics=["bleu"])


def test_an_unknown_metric_or_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match="no text metric 'blue'; there are bleu, rouge_l, meteor, bertscore"):
        score_texts({}, {}, language="en", metrics=["blue"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="best or mean, not 'worst'"):
        TextSettings(references="worst")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1.01, -0.01])
def test_a_value_that_is_no_score_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="bleu of 'item 7' is"):
        scored(value, "bleu", "item 7")


def test_signatures_say_what_was_computed(lexicon: TextSettings) -> None:
    metrics = lexical({"1": "a text"}, {"1": ["a text"]}, lexicon).metrics
    bleu, rouge, nltk = (importlib.metadata.version(name) for name in ("sacrebleu", "rouge-score", "nltk"))
    assert metrics["bleu"].signature == (
        f"bleu|refs:native|case:mixed|tok:13a|norm:NFC|smooth:exp|eff:yes|impl:sacrebleu-{bleu}|v:1"
    )
    assert metrics["bleu_corpus"].signature == metrics["bleu"].signature.replace("bleu|", "bleu_corpus|").replace(
        "eff:yes", "eff:no"
    )
    assert metrics["rouge_l"].signature == (
        f"rouge_l|refs:best|f:1|stem:no|tok:unicode-words.1|norm:NFC|impl:rouge-score-{rouge}|v:1"
    )
    before, _, after = metrics["meteor"].signature.partition("@")
    assert before == "meteor|refs:best|alpha:0.9|beta:3|gamma:0.5|stem:porter|syn:lexicon-9.9"
    assert after[8:] == f"|tok:unicode-words.1|norm:NFC|impl:nltk-{nltk}|v:1"


def test_signatures_differ_by_language_rule_and_synonyms(lexicon: TextSettings, tmp_path: Path) -> None:
    other = write_lexicon(tmp_path / "other" / "lexicon", ("doctor", "medic"))
    variants = [
        text_metrics("en", settings=lexicon),
        text_metrics("zh", settings=lexicon),
        text_metrics("en", settings=TextSettings(references="mean", synonyms=lexicon.synonyms, encoders={})),
        text_metrics("en", settings=TextSettings(synonyms={"en": SynonymSource(other)}, encoders={})),
    ]
    english, chinese, mean, others = variants
    assert english["bleu"] != chinese["bleu"]
    assert english["rouge_l"] != mean["rouge_l"]
    assert english["meteor"] != mean["meteor"]
    assert english["meteor"] != others["meteor"]
