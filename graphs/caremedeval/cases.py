"""CareMedEval questions and articles, read and checked.

The data set (arXiv 2511.03441) holds multi-answer questions of French critical-appraisal examinations about English
articles, in French and in a machine translation to English. Whatever is wrong with a file ends in one `DataError` that
names the file, the question's index and id, and what to do; nothing is guessed or dropped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

from judge.datafiles import REMEDY, DataFile, combined_hash, decode, kind_name, parse_json, read_bytes, type_name
from judge.errors import DataError

Language = Literal["fr", "en"]

#: The skills a question can test, as the data set names them.
LABELS = ("design", "methodology", "statistics", "limitations", "applicability")

_FOLDERS: Mapping[Language, str] = {"fr": "original", "en": "english_only"}
_SUFFIXES: Mapping[Language, str] = {"fr": "", "en": "_en"}
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    Attributes:
        id: the data set's identifier, the same in both languages.
        article_id: which article it is about; questions cluster by it.
        question: the text asked.
        options: letter to text, in the file's order.
        correct: letters of the correct options, never empty.
        essential: letters without which the examination gives no mark.
        unacceptable: letters with which the examination gives no mark.
        labels: skills tested, one or more of `LABELS`.
        justification: a person's explanation of the answer, empty for most.
        requires_context: annotated as (not) answerable without the article; None if not annotated.
        index: position in the file, from 0.
        exam_date: year of the examination.
        article_date: year of the article.
        exam_link: where the examination is published.
        article_link: where the article is published.
        language: of question and options.
    """

    id: str
    article_id: str
    question: str
    options: Mapping[str, str] = field(hash=False)
    correct: frozenset[str]
    essential: frozenset[str]
    unacceptable: frozenset[str]
    labels: tuple[str, ...]
    justification: str
    requires_context: bool | None
    index: int
    exam_date: str
    article_date: str
    exam_link: str
    article_link: str
    language: Language

    @property
    def letters(self) -> frozenset[str]:
        """The letters of all options."""
        return frozenset(self.options)


@dataclass(frozen=True)
class CaseSet:
    """All questions of one language with the articles they are about.

    Attributes:
        language: of the questions.
        root: the folder that holds ``original`` and ``english_only``.
        cases: in file order.
        files: every file read.
        data_hash: SHA-256 over paths and hashes of ``files``; the same data give the same hash from any folder.
    """

    language: Language
    root: Path
    cases: tuple[Case, ...]
    files: tuple[DataFile, ...]
    data_hash: str
    articles: Mapping[str, str] = field(repr=False)
    abstracts: Mapping[str, str] = field(repr=False)
    _article_of: Mapping[str, str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def article(self, key: str) -> str:
        """Full text by case id or article id; DataError if neither is known."""
        return self.articles[self._article_id(key)]

    def abstract(self, key: str) -> str:
        """Abstract by case id or article id; DataError if neither is known."""
        return self.abstracts[self._article_id(key)]

    def _article_id(self, key: str) -> str:
        article_id = self._article_of.get(key, key)
        if article_id not in self.articles:
            raise DataError(f"{self.root}: no question or article has the id {key!r}; use an id of this data set")
        return article_id


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are below the folder that holds ``original`` and ``english_only``."""

    root: Path

    def questions(self, language: Language) -> Path:
        return self.root / _FOLDERS[language] / "all" / f"questions{_SUFFIXES[language]}.json"

    def requires_context(self, language: Language) -> Path:
        name = f"questions_requires_context{_SUFFIXES[language]}.json"
        return self.root / _FOLDERS[language] / "requires_context" / name

    @property
    def articles(self) -> Path:
        """Both languages share the articles: only ``original`` is sure to have all of them."""
        return self.root / "original" / "all" / "articles"

    @property
    def abstracts(self) -> Path:
        return self.root / "original" / "all" / "articles_abstract"


def load_cases(data: Path, language: Language) -> CaseSet:
    """Read and check the whole data set in one language.

    Args:
        data: a clone of the data set's repository, or the folder that holds ``original`` and ``english_only``.
        language: ``"fr"`` as published, or ``"en"``, the machine translation. The English key is checked against the
            French one when that file is at hand.

    Raises:
        DataError: anything missing, malformed or inconsistent.
    """
    layout = Layout(find_root(data))
    reader = _Reader(layout.root)
    file = layout.questions(language)
    flags = _context_flags(reader, layout.requires_context(language))
    cases = tuple(
        parse_case(raw, index, file, language, flags) for index, raw in enumerate(_json_list(reader.text(file), file))
    )
    _check_ids(cases, file)
    _check_flags(flags, cases, layout.requires_context(language))
    if language == "en":
        _check_same_key(cases, file, layout.questions("fr"))
    articles = _texts(reader, layout.articles, cases, file)
    abstracts = _texts(reader, layout.abstracts, cases, file)
    files = tuple(reader.files)
    article_of = {case.id: case.article_id for case in cases}
    return CaseSet(language, layout.root, cases, files, combined_hash(files), articles, abstracts, article_of)


def find_root(data: Path) -> Path:
    """The folder that holds ``original`` and ``english_only``: ``data/data`` in a clone, else ``data`` itself.

    Raises:
        DataError: neither has them.
    """
    data = Path(data)
    for root in (data / "data", data):
        if any((root / folder).is_dir() for folder in _FOLDERS.values()):
            return root
    raise DataError(
        f"{data}: CareMedEval is not here, neither {data / 'data' / 'original'} nor {data / 'original'} is a folder; "
        "give a clone of the data set's repository or the folder that holds 'original'"
    )


def read_questions(file: Path) -> list[Any]:
    """The raw records of a questions file; DataError if it cannot be read or is not a JSON list."""
    return _json_list(read_text(file), file)


def read_text(file: Path) -> str:
    """The text of a UTF-8 file, byte-order mark dropped, line ends as ``\\n``; DataError if it cannot be read."""
    return _decode(read_bytes(file), file)


class _Reader:
    """Reads texts and remembers what was read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: list[DataFile] = []

    def text(self, file: Path) -> str:
        content = read_bytes(file)
        path = file.relative_to(self.root).as_posix()
        self.files.append(DataFile(path, hashlib.sha256(content).hexdigest()))
        return _decode(content, file)


def _decode(content: bytes, file: Path) -> str:
    return decode(content, file).replace("\r\n", "\n")


def _json_list(text: str, file: Path) -> list[Any]:
    content = parse_json(text, file, _unique_keys)
    if not isinstance(content, list):
        raise DataError(f"{file}: a list of questions is expected, found {type_name(content)}; {REMEDY}")
    return content


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} occurs twice in one object, near {str(pairs[0][1])[:64]!r}")
    return content


@dataclass(frozen=True, slots=True)
class _Record:
    """One raw record with what an error about it has to name."""

    raw: Mapping[str, Any]
    file: Path
    index: int

    def fail(self, problem: str, remedy: str = REMEDY) -> NoReturn:
        name = self.raw.get("id")
        shown = f"id {name}" if isinstance(name, str) and name else "no id"
        raise DataError(f"{self.file}: question at index {self.index} ({shown}): {problem}; {remedy}")

    def get(self, name: str, kind: type) -> Any:
        if name not in self.raw:
            self.fail(f"the field {name!r} is missing")
        value = self.raw[name]
        if type(value) is not kind:
            self.fail(f"the field {name!r} must be {kind_name(kind)}, found {type_name(value)}")
        return value

    def text(self, name: str, *, empty: bool = True) -> str:
        value: str = self.get(name, str)
        if not empty and not value.strip():
            self.fail(f"the field {name!r} is empty")
        self.check_unicode(name, value)
        return value

    def check_unicode(self, name: str, value: str) -> None:
        if any("\ud800" <= character <= "\udfff" for character in value):
            self.fail(f"the field {name!r} holds half a surrogate pair, which is no text")

    def strings(self, name: str, known: Iterable[str], what: str) -> tuple[str, ...]:
        values: list[Any] = self.get(name, list)
        known = list(known)
        for position, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"the field {name!r} must hold texts, found {type_name(value)}")
            if value not in known:
                self.fail(f"{name!r} names the {what} {value!r}, known are {', '.join(known)}")
            if value in values[:position]:
                self.fail(f"{name!r} names the {what} {value!r} twice")
        return tuple(values)


def _record(raw: object, file: Path, index: int) -> _Record:
    if not isinstance(raw, dict):
        raise DataError(f"{file}: question at index {index}: an object is expected, found {type_name(raw)}; {REMEDY}")
    return _Record(raw, file, index)


def parse_case(
    raw: object, index: int, file: Path, language: Language, flags: Mapping[str, bool] | None = None
) -> Case:
    """Turn one raw record into a checked `Case`.

    Args:
        raw: the record as JSON gave it; fields it has beyond the known ones are ignored.
        index: its position in the file.
        file: named in errors.
        language: of its texts.
        flags: ``requires_context`` by case id, for those annotated.

    Raises:
        DataError: a field is missing, of the wrong type, empty or inconsistent.
    """
    record = _record(raw, file, index)
    case_id = record.text("id", empty=False)
    options = _options(record)
    return Case(
        id=case_id,
        article_id=_article_name(record),
        question=record.text("question", empty=False),
        options=options,
        correct=_correct(record, options),
        essential=frozenset(record.strings("essential_answers", options, "option")),
        unacceptable=frozenset(record.strings("unacceptable_answers", options, "option")),
        labels=record.strings("labels", LABELS, "label"),
        justification=record.text("justification"),
        requires_context=(flags or {}).get(case_id),
        index=index,
        exam_date=record.text("date_exam"),
        article_date=record.text("article_date"),
        exam_link=record.text("source_exam"),
        article_link=record.text("article_link"),
        language=language,
    )


def _options(record: _Record) -> dict[str, str]:
    options: dict[str, Any] = record.get("answers", dict)
    for letter, text in options.items():
        if not re.fullmatch("[a-z]", letter):
            record.fail(f"'answers' has the key {letter!r}, options are named by one small letter")
        if not isinstance(text, str):
            record.fail(f"option {letter!r} must be a text, found {type_name(text)}")
        if not text.strip():
            record.fail(f"option {letter!r} is empty")
        record.check_unicode("answers", text)
    if len(options) < 2:
        record.fail(f"'answers' has {len(options)} option(s), at least 2 are needed")
    return dict(options)


def _correct(record: _Record, options: Mapping[str, str]) -> frozenset[str]:
    correct = record.strings("correct_answers", options, "option")
    if not correct:
        record.fail("'correct_answers' is empty")
    stated = record.get("nb_correct_answers", int)
    if stated != len(correct):
        record.fail(f"'nb_correct_answers' says {stated}, but 'correct_answers' has {len(correct)}")
    return frozenset(correct)


def _article_name(record: _Record) -> str:
    name = record.text("id_article", empty=False)
    if not _PLAIN_NAME.fullmatch(name):  # it becomes a file name: nothing may lead out of the folder
        record.fail(f"'id_article' is {name!r}, only letters, digits, '_' and '-' can name an article")
    return name


def _check_ids(cases: Iterable[Case], file: Path) -> None:
    seen: dict[str, int] = {}
    for case in cases:
        first = seen.setdefault(case.id, case.index)
        if first != case.index:
            raise DataError(f"{file}: the id {case.id} is used at index {first} and at index {case.index}; {REMEDY}")


def _context_flags(reader: _Reader, file: Path) -> dict[str, bool]:
    flags: dict[str, bool] = {}
    for index, raw in enumerate(_json_list(reader.text(file), file)):
        record = _record(raw, file, index)
        case_id = record.text("id", empty=False)
        if case_id in flags:
            record.fail("the id is used twice in this file")
        flags[case_id] = record.get("requires_context", bool)
    return flags


def _check_flags(flags: Mapping[str, bool], cases: Iterable[Case], file: Path) -> None:
    known = {case.id for case in cases}
    for index, case_id in enumerate(flags):
        if case_id not in known:
            raise DataError(f"{file}: question at index {index} (id {case_id}) is not in the set; {REMEDY}")


def _check_same_key(cases: Iterable[Case], file: Path, french: Path) -> None:
    if not french.exists():
        return
    originals = {str(raw.get("id")): raw for raw in read_questions(french) if isinstance(raw, dict)}
    for case in cases:
        original = originals.get(case.id, answer_key(case))  # the audit reports ids in one language only
        for name, mine in answer_key(case).items():
            theirs = original.get(name)
            if not isinstance(theirs, list) or sorted(map(str, theirs)) != mine:
                place = f"{file}: question at index {case.index} (id {case.id})"
                raise DataError(f"{place}: {name!r} is {mine}, but {theirs} in {french}; {REMEDY}")


def answer_key(case: Case) -> dict[str, list[str]]:
    """The letters that decide the mark, sorted, under the file's field names."""
    return {
        "correct_answers": sorted(case.correct),
        "essential_answers": sorted(case.essential),
        "unacceptable_answers": sorted(case.unacceptable),
    }


def _texts(reader: _Reader, folder: Path, cases: Iterable[Case], questions: Path) -> dict[str, str]:
    first_use: dict[str, Case] = {}
    for case in cases:
        first_use.setdefault(case.article_id, case)
    texts: dict[str, str] = {}
    for article_id, case in sorted(first_use.items()):
        file = folder / f"{article_id}.txt"
        texts[article_id] = reader.text(file) if file.exists() else ""
        if not texts[article_id].strip():
            state = "empty" if file.exists() else "missing"
            raise DataError(
                f"{file}: this file is {state}, but the question at index {case.index} (id {case.id}) "
                f"in {questions} needs it; fetch the data set again"
            )
    return texts
