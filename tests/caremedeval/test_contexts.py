"""Context conditions: what fits is untouched, what does not keeps beginning and end within the budget."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs.caremedeval.cases import load_cases
from graphs.caremedeval.contexts import CONTEXTS, MARKER, build_context, cut_middle
from judge.errors import SpecError
from judge.models.tokens import EstimateTokenizer, FileTokenizer, Tokenizer
from tests.data import real_data

ESTIMATE = EstimateTokenizer()


class Words:
    """One token per word; remembers how often it was asked."""

    name = "words"

    def __init__(self) -> None:
        self.calls = 0

    def count(self, text: str) -> int:
        self.calls += 1
        return len(text.split())


class Jumpy(Words):
    """Parts cost less than their join, as at the seams of real tokenizers."""

    def count(self, text: str) -> int:
        return super().count(text) + (7 if MARKER.strip() in text and len(text) > len(MARKER) else 0)


def paragraphs(number: int, words: int = 50) -> str:
    return "\n\n".join(" ".join(f"w{p}.{w}" for w in range(words)) for p in range(number))


def test_the_four_conditions_and_their_limits() -> None:
    assert {name: condition.budget for name, condition in CONTEXTS.items()} == {
        "none": 0,
        "abstract": 2_000,
        "medium": 8_000,
        "full": 32_000,
    }


def test_no_context_is_no_text() -> None:
    context = build_context("none", "article", "abstract", ESTIMATE)
    assert (context.text, context.tokens, context.cut, context.original_tokens) == (None, 0, False, 0)


@pytest.mark.parametrize(("name", "source"), [("abstract", "abs"), ("medium", "art"), ("full", "art")])
def test_a_text_that_fits_is_passed_on_unchanged(name: str, source: str) -> None:
    texts = {"art": " article \r\n with  odd spaces\n", "abs": "\tabstract\n\n"}
    context = build_context(name, texts["art"], texts["abs"], ESTIMATE)
    assert context.text == texts[source]
    assert not context.cut
    assert context.tokens == context.original_tokens == ESTIMATE.count(texts[source])


@pytest.mark.parametrize(("name", "budget"), [("abstract", 2_000), ("medium", 8_000), ("full", 32_000)])
def test_the_limit_itself_does_not_fit(name: str, budget: int) -> None:
    words = Words()
    fits = build_context(name, "w " * (budget - 1), "w " * (budget - 1), words)
    assert not fits.cut
    over = build_context(name, "w " * budget, "w " * budget, words)
    assert over.cut
    assert over.tokens < budget
    assert over.original_tokens == budget


def test_a_long_article_keeps_beginning_and_end_in_equal_parts() -> None:
    words = Words()
    article = " ".join(f"w{i}" for i in range(20_000))
    context = build_context("medium", article, "abstract", words)
    assert context.text is not None
    head, tail = context.text.split(MARKER)
    assert article.startswith(head)
    assert article.endswith(tail)
    assert 0.9 < words.count(head) / words.count(tail) < 1.1
    assert 7_900 < context.tokens < 8_000


def test_cuts_fall_on_paragraphs_where_one_is_near() -> None:
    text = paragraphs(40)  # 2,000 words
    head, tail = cut_middle(text, 1_200, Words()).split(MARKER)
    assert text[len(head) :].startswith("\n\n")
    assert text[: len(text) - len(tail)].endswith("\n\n")


def test_cuts_fall_between_words_where_no_paragraph_is_near() -> None:
    text = " ".join(f"w{i}" for i in range(2_000))
    head, tail = cut_middle(text, 500, ESTIMATE).split(MARKER)
    assert set(head.split()) | set(tail.split()) <= set(text.split())


def test_text_without_spaces_is_cut_between_characters() -> None:
    cut = cut_middle("漢" * 5_000, 1_000, ESTIMATE)
    assert 950 < ESTIMATE.count(cut) < 1_000


@given(st.text(alphabet="ab é漢\n", min_size=300, max_size=2_000), st.integers(40, 80))
@settings(deadline=None)
def test_the_result_always_fits_and_comes_from_the_text(text: str, budget: int) -> None:
    cut = cut_middle(text, budget, ESTIMATE)
    head, tail = cut.split(MARKER)
    assert ESTIMATE.count(cut) < budget
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= len(text)
    assert cut == cut_middle(text, budget, ESTIMATE)


def test_counts_that_do_not_add_up_still_end_below_the_budget() -> None:
    text = paragraphs(40)
    assert Jumpy().count(cut_middle(text, 600, Jumpy())) < 600


def test_few_tokenizations_are_needed() -> None:
    words = Words()
    build_context("medium", paragraphs(2_000), "abstract", words)
    assert words.calls < 60


def test_a_budget_below_the_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        cut_middle(paragraphs(3), 5, Words())


def test_an_unknown_condition_names_the_known_ones() -> None:
    with pytest.raises(SpecError, match="'half' is not known; choose one of none, abstract, medium, full"):
        build_context("half", "a", "b", ESTIMATE)


def test_an_empty_source_is_not_passed_off_as_context() -> None:
    with pytest.raises(ValueError, match="abstract is empty"):
        build_context("abstract", "article", " ", ESTIMATE)


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("a", 1), ("a" * 36, 10), ("a" * 37, 11), ("é" * 18, 10)])
def test_the_estimate_is_bytes_over_3_6_rounded_up(text: str, expected: int) -> None:
    assert ESTIMATE.count(text) == expected
    assert ESTIMATE.name == "estimate:utf8-bytes/3.6"


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    """A word-level tokenizer whose file, like many published ones, asks for truncation and special tokens."""
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.WordLevel({"[UNK]": 0, "[CLS]": 1, "w": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
    tokenizer.post_processor = library.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_a_tokenizer_file_counts_everything_and_nothing_else(tokenizer_file: Path) -> None:
    for path in (tokenizer_file, tokenizer_file.parent, str(tokenizer_file)):
        tokenizer: Tokenizer = FileTokenizer(path)
        assert tokenizer.count("w " * 100) == 100
        assert tokenizer.count("w") == 1
        assert tokenizer.count("") == 0


def test_a_tokenizer_is_named_by_content_not_place(tokenizer_file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.json"
    copy.write_bytes(tokenizer_file.read_bytes())
    assert FileTokenizer(copy).name == FileTokenizer(tokenizer_file).name
    assert str(tmp_path) not in FileTokenizer(copy).name


def test_contexts_work_with_a_tokenizer_file(tokenizer_file: Path) -> None:
    context = build_context("medium", "w " * 9_000, "w", FileTokenizer(tokenizer_file))
    assert context.cut
    assert 7_900 < context.tokens < 8_000


def test_a_wrong_path_or_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"tokenizer\.json: cannot be read as a tokenizer"):
        FileTokenizer(tmp_path)
    pytest.importorskip("tokenizers")
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    with pytest.raises(SpecError, match="not a Hugging Face"):
        FileTokenizer(bad)


def test_a_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(SpecError, match=r"pip install 'medjudge\[local\]'"):
        FileTokenizer(file)


@pytest.mark.data
@pytest.mark.parametrize("name", ["abstract", "medium", "full"])
def test_all_real_articles_fit_every_condition(name: str) -> None:
    cases = load_cases(real_data("caremedeval"), "fr")
    for article_id, article in cases.articles.items():
        context = build_context(name, article, cases.abstracts[article_id], ESTIMATE)
        assert context.text is not None
        assert ESTIMATE.count(context.text) == context.tokens < CONTEXTS[name].budget
        assert context.cut == (context.original_tokens >= CONTEXTS[name].budget)
        assert context.cut == (MARKER in context.text)


@pytest.mark.data
def test_no_real_full_text_is_cut() -> None:
    # the longest has 41,887 bytes: far below 32,000 tokens at one token per 3.6 bytes
    cases = load_cases(real_data("caremedeval"), "fr")
    assert not any(build_context("full", article, "a", ESTIMATE).cut for article in cases.articles.values())
