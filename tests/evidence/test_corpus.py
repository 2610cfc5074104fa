"""The user's own files: what is read, what is found in which order, and what is refused."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import bm25s
import pytest

from judge.errors import DataError, SpecError
from judge.evidence import Evidence, Passage, open_evidence
from tests.conftest import CHECKOUT
from tests.models.helpers import at


def corpus(folder: Path, **files: str | bytes) -> Evidence:
    """A corpus of these files; ``__`` in a name stands for the dot before its ending, ``_in_`` for a subfolder."""
    for name, content in files.items():
        file = folder / name.replace("_in_", "/").replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    found = open_evidence(f"corpus:{folder}", None, connections=1)
    assert found is not None
    return found


def records(*texts: str, **fields: object) -> str:
    return "".join(json.dumps({"text": text, **fields}, ensure_ascii=False) + "\n" for text in texts)


async def found(evidence: Evidence, query: str) -> list[Passage]:
    return list(await evidence.search(query, at()))


async def sources(evidence: Evidence, query: str) -> list[str]:
    return [passage.source for passage in await found(evidence, query)]


TEXTS = (
    "fever and cough in pneumonia",
    "fever fever fever",
    "a long text on pneumonia which also has a word on fever and many others that lengthen it without any use",
    "fracture of the wrist",
    "pneumonia in children",
    "asthma in children",
)


def scored_by_hand(texts: tuple[str, ...], query: str) -> Mapping[str, float]:
    """BM25 as Robertson and Zaragoza give it, with Lucene's idf; k1 = 1.5, b = 0.75; source -> score."""
    documents = [text.split() for text in texts]
    average = sum(map(len, documents)) / len(documents)
    scores = {}
    for number, words in enumerate(documents, start=1):
        score = 0.0
        for term in query.split():
            having = sum(term in other for other in documents)
            often = Counter(words)[term]
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            score += idf * often / (often + 1.5 * (1 - 0.75 + 0.75 * len(words) / average))
        scores[f"t.jsonl:{number}"] = score
    return scores


@pytest.mark.parametrize("query", ["fever pneumonia", "children", "pneumonia in the wrist", "fever fever cough"])
async def test_given_a_query_when_it_is_searched_then_the_order_is_that_of_bm25_by_hand_and_by_bm25s(
    tmp_path: Path, query: str
) -> None:
    scores = scored_by_hand(TEXTS, query)
    by_hand = [source for source in sorted(scores, key=lambda source: -scores[source]) if scores[source] > 0][:3]
    library = bm25s.BM25()
    library.index([text.split() for text in TEXTS], show_progress=False)
    theirs = library.get_scores(query.split())

    assert await sources(corpus(tmp_path, t__jsonl=records(*TEXTS)), query) == by_hand
    assert theirs.tolist() == pytest.approx(list(scores.values()), rel=1e-5)


async def test_given_equal_scores_when_searched_then_files_and_lines_give_the_order(tmp_path: Path) -> None:
    texts = [f"fever {name}" for name in ("one", "two", "six", "ten")]
    evidence = corpus(tmp_path, b__jsonl=records(*texts[:3]), a__txt=texts[3])
    assert await sources(evidence, "fever") == ["a.txt:1", "b.jsonl:1", "b.jsonl:2"]


async def test_given_the_same_text_twice_when_searched_then_it_is_found_once(tmp_path: Path) -> None:
    evidence = corpus(tmp_path, a__jsonl=records("fever one", "fever one", "fever one", "fever two and more"))
    assert await sources(evidence, "fever") == ["a.jsonl:1", "a.jsonl:4"]


@pytest.mark.parametrize("query", ["kala-azar", "", "?!", "糖尿病"])
async def test_given_no_common_term_when_searched_then_nothing_is_found(tmp_path: Path, query: str) -> None:
    assert await found(corpus(tmp_path, t__jsonl=records(*TEXTS)), query) == []


@pytest.mark.parametrize("query", ["œdème pulmonaire", "OEDEME PULMONAIRE", "l’œdème"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_given_french_in_either_unicode_form_when_searched_then_it_is_found(
    tmp_path: Path, query: str, form: str
) -> None:
    text = unicodedata.normalize(form, "L'œdème pulmonaire aigu se traite par furosémide.")
    evidence = corpus(tmp_path, a__txt=text, b__txt="La fracture du poignet.")
    other = unicodedata.normalize("NFD" if form == "NFC" else "NFC", query)
    assert await found(evidence, other) == [Passage(text, "a.txt:1")]


async def test_given_chinese_when_searched_then_words_inside_a_sentence_are_found(tmp_path: Path) -> None:
    evidence = corpus(tmp_path, a__txt="二甲双胍是2型糖尿病的一线治疗药物。", b__txt="高血压患者应限制钠盐摄入。")
    assert await sources(evidence, "糖尿病用什么药") == ["a.txt:1"]
    assert await sources(evidence, "高血压") == ["b.txt:1"]


async def test_given_folders_and_endings_when_read_then_sources_name_file_and_line(tmp_path: Path) -> None:
    long = "word " * 198
    evidence = corpus(
        tmp_path,
        deep_in_deeper_in_Notes__MD=f"# Asthma\r\n\r\n{long}\r\n\r\nSalbutamol is\r\ngiven.\r\n".encode(),
        bom__txt=b"\xef\xbb\xbffever",
        other__pdf=b"\xff fever",
        **{"._x__txt": b"\xff", ".git_in_x__txt": "fever"},
    )
    assert await found(evidence, "salbutamol") == [Passage("Salbutamol is\ngiven.", "deep/deeper/Notes.MD:5")]
    assert await found(evidence, "fever") == [Passage("fever", "bom.txt:1")]


async def test_given_records_when_read_then_their_own_source_title_and_id_are_kept(tmp_path: Path) -> None:
    lines = [
        {"text": "Fever\u2028one", "title": "Signs", "source": "WHO 2024", "url": "https://who.example"},
        {"text": "Fever two two", "url": "https://b.example", "id": 7, "source": None},
        {"text": "Fever three three three", "id": 7, "more": [1]},
        {"text": ""},
    ]
    content = "\r\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    assert await found(corpus(tmp_path, r__jsonl=content), "fever") == [
        Passage("Signs\nFever\u2028one", "WHO 2024"),
        Passage("Fever two two", "https://b.example"),
        Passage("Fever three three three", "r.jsonl:5 (7)"),
    ]


async def test_given_a_title_when_searched_then_its_words_count(tmp_path: Path) -> None:
    evidence = corpus(tmp_path, r__jsonl=records("Give salbutamol.", title="Asthma"))
    assert await found(evidence, "asthma") == [Passage("Asthma\nGive salbutamol.", "r.jsonl:1")]


GOOD = b'{"text": "fever"}\n'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"one\ntwo\nfi\xe8vre", "a.txt: line 3 is not UTF-8 text"),
        ("a.txt", "\ufeffone\nété".encode()[:-1], "a.txt: line 2 is not UTF-8 text"),
        ("a.txt", "one".encode("utf-16"), "a.txt: line 1 is not UTF-8 text"),
        ("a.md", "one\ntwo".encode("utf-16-le"), "a.md: line 1 holds a zero byte"),
        ("a.jsonl", GOOD + b'{"text": "fev', r"a.jsonl: line 2 is not valid JSON \(Unterminated"),
        ("a.jsonl", GOOD + b"[" * 100_000, "a.jsonl: line 2 is not valid JSON"),
        ("a.jsonl", GOOD * 2 + b'["text"]', "a.jsonl: line 3 is a list, an object is expected"),
        ("a.jsonl", b'{"title": "fever"}', "a.jsonl: line 1 has no 'text'"),
        ("a.jsonl", b'{"text": 7}', "a.jsonl: line 1: 'text' is a number, a text is expected"),
        ("a.jsonl", b'{"text": "x", "title": []}', "a.jsonl: line 1: 'title' is a list"),
        ("a.pdf", b"fever", "no text to search"),
        ("a.txt", b" \n ... \n", "no text to search"),
    ],
    ids=range(12),
)
def test_given_a_bad_file_when_the_corpus_is_opened_then_one_sentence_names_it_and_its_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        corpus(tmp_path)


def test_given_no_folder_when_the_corpus_is_opened_then_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("fever", encoding="utf-8")
    for place in ("missing", "file"):
        with pytest.raises(DataError, match=f"{place}: no such folder"):
            open_evidence(f"corpus:{tmp_path / place}", None, connections=1)


def test_given_too_much_text_when_the_corpus_is_opened_then_it_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(500_000_001)  # a hole that takes no space
    with pytest.raises(DataError, match="at most 500 MB"):
        corpus(tmp_path)


async def test_given_links_when_read_then_they_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.txt").write_text("fever outside", encoding="utf-8")
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "linked").symlink_to(tmp_path / "outside")
    (folder / "again.txt").symlink_to(tmp_path / "outside" / "o.txt")
    (folder / "loop").symlink_to(folder)
    assert await sources(corpus(folder), "fever") == ["again.txt:1"]


@pytest.mark.parametrize("kind", ["dangling", "pipe"])
def test_given_a_name_that_leads_to_no_file_when_opened_then_it_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "a.txt"
    place.symlink_to(tmp_path / "gone") if kind == "dangling" else os.mkfifo(place)
    with pytest.raises(DataError, match="leads to no file"):
        corpus(tmp_path)


async def test_given_a_name_that_is_no_utf8_when_read_then_it_can_be_written_anywhere(tmp_path: Path) -> None:
    (source,) = await sources(corpus(tmp_path, **{os.fsdecode(b"fi\xe8vre__txt"): "fever"}), "fever")
    assert source.encode("utf-8").decode() == "fi\ufffdvre.txt:1"


def test_given_files_that_change_when_opened_then_the_version_changes_and_nothing_else_does(tmp_path: Path) -> None:
    first = corpus(tmp_path / "one", a__txt="fever", b_in_c__txt="cough")
    same = corpus(tmp_path / "two", a__txt="fever", b_in_c__txt="cough")
    moved = corpus(tmp_path / "three", a__txt="fever", c__txt="cough")
    changed = corpus(tmp_path / "four", a__txt="fever.", b_in_c__txt="cough")
    assert first.name == f"corpus:{tmp_path / 'one'}"
    assert first.version == same.version
    assert len({first.version, moved.version, changed.version}) == 3
    assert first.version.endswith("|bm25:lucene,1.5,0.75|terms:1|cutting:1|k:3|chars:1000")
    assert sorted(path.name for path in (tmp_path / "one").rglob("*")) == ["a.txt", "b", "c.txt"]


def test_given_two_processes_when_they_search_then_they_find_the_same(tmp_path: Path) -> None:
    corpus(tmp_path, t__jsonl=records(*(f"{text} {n % 7} {n % 5}" for n in range(40) for text in TEXTS)))
    code = (
        "import asyncio, sys\nfrom judge.evidence import open_evidence\n"
        f"e = open_evidence('corpus:{tmp_path}', None, connections=1)\n"
        "print(e.version, [asyncio.run(e.search(q, None)) for q in ('fever 3', 'children pneumonia 2 4', 'in the')])"
    )
    printed = {
        subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, env=os.environ | {"PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(printed) == 1
    assert "Passage" in printed.pop()


def test_given_none_or_another_form_when_opened_then_there_is_none_or_an_error_that_names_the_forms() -> None:
    assert open_evidence(" none ", None, connections=1) is None
    for text in ("", "corpus", "corpus:", "web:", "wiki:x", "None"):
        with pytest.raises(SpecError, match=r"none, corpus:DIR .* web:NAME"):
            open_evidence(text, None, connections=1)
