"""The vocabulary of medical requests: terms, what contains what, and how requests are worded.

The tables are data files in ``data/requests``, written for medjudge from general medical knowledge; they are read once,
on first use. `vocabulary_version` belongs in every signature that depends on loop detection.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from rapidfuzz.distance import OSA
from rapidfuzz.process import extractOne

Phrase = tuple[str, ...]

#: Shorter words are too easily one letter from another word that means something else.
_SHORTEST_MISSPELT = 7
_LISTS = (
    *("to_keeps", "not_antibodies", "fluids", "tissues", "isotypes", "personal", "lettered"),
    *("opinions", "subjects", "predicates", "blood_unless_said"),
)


@dataclass(frozen=True, slots=True)
class Term:
    """What one form stands for: an id of the tables and its kind."""

    id: str
    kind: str


@dataclass(frozen=True)
class Vocabulary:
    """All tables.

    Attributes:
        phrases: forms, as the words of a normalised text, to what they stand for.
        longest: number of words of the longest phrase that begins with a word.
        parts: members of a whole as (id, specimen); no specimen is written "".
        core: members that together stand for the whole.
        open: wholes that a list after them replaces.
        fillers: words without content.
        words: the remaining word lists.
    """

    phrases: Mapping[Phrase, tuple[Term, ...]]
    longest: Mapping[str, int]
    parts: Mapping[str, frozenset[tuple[str, str]]]
    core: Mapping[str, frozenset[str]]
    open: frozenset[str]
    fillers: frozenset[str]
    words: Mapping[str, frozenset[str]]
    specimen_of: Mapping[str, str]
    implied: Mapping[str, frozenset[str]]
    vessels: Mapping[str, str]
    endoscopies: Mapping[str, str]
    serial: re.Pattern[str]
    spans: re.Pattern[str]
    known: frozenset[str]
    correctable: tuple[str, ...]


@cache
def _words_file() -> dict[str, Any]:
    return tomllib.loads(_read("words.toml"))


def _read(name: str) -> str:
    return (files("graphs.medrbench") / "data" / "requests" / name).read_text(encoding="utf-8")


def _rows(name: str) -> Iterator[list[str]]:
    for line in _read(name).splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def vocabulary_version() -> str:
    """Version of the tables; changes whenever a label could."""
    return str(_words_file()["version"])


@cache
def _spelling() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), replacement) for pattern, replacement in _words_file()["spelling"])


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """One lower-case word in American spelling and the singular; "test" for all of its kind ("study")."""
    plain = _singular(word)
    same: dict[str, str] = _words_file()["same"]
    return same.get(plain, plain)


def _singular(word: str) -> str:
    irregular: dict[str, str] = _words_file()["singular"]
    word = irregular[word] if word in irregular else _without_s(word)
    if len(word) > 4:
        for pattern, replacement in _spelling():
            word = pattern.sub(replacement, word)
    return irregular.get(word, word)


def _without_s(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def fold(text: str) -> str:
    """Lower case without accents, with one kind of dash and apostrophe."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(character for character in text if not unicodedata.combining(character)).lower()
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return re.sub("[\u2018\u2019`\u00b4]", "'", text).replace("β", "beta").replace("α", "alpha").replace("γ", "gamma")


def split_words(text: str) -> Phrase:
    """The stems of a form or of a folded text, punctuation dropped."""
    return tuple(stem(word) for word in re.findall(r"[^\W_]+", fold(text)) if word not in articles())


@cache
def articles() -> frozenset[str]:
    """Words that phrases do without."""
    return frozenset(_words_file()["articles"].split())


def _phrases() -> dict[Phrase, tuple[Term, ...]]:
    rows = list(_rows("terms.tsv"))
    kinds = {ids: kind for ids, kind, _ in rows if kind != "="}
    phrases: dict[Phrase, tuple[Term, ...]] = {}
    for ids, _, forms in rows:
        terms = tuple(Term(id, kinds[id]) for id in (ids.split(" ") if ids not in kinds else [ids]))
        for form in forms.split("|"):
            phrases.setdefault(split_words(form), terms)
    for kind in ("reasons", "elaborations", "asks"):
        for form in _words_file()[kind]:
            phrases[split_words(form)] = (Term(form, kind),)
    return phrases


def _containment() -> tuple[dict[str, frozenset[tuple[str, str]]], dict[str, frozenset[str]], frozenset[str]]:
    members: dict[str, list[str]] = {}
    opened = set()
    for whole, names in _rows("contains.tsv"):
        name, _, mark = whole.partition(" ")
        members[name] = names.split()
        if mark:
            opened.add(name)
    core = {name: frozenset(m.rstrip("*") for m in names if m.endswith("*")) for name, names in members.items()}
    parts = {name: _closure(name, members) for name in members}
    return parts, {name: ids for name, ids in core.items() if ids}, frozenset(opened)


def _closure(name: str, members: Mapping[str, list[str]]) -> frozenset[tuple[str, str]]:
    """Members and their members, which share their specimen."""
    found: set[tuple[str, str]] = set()
    waiting = [(name, "")]
    while waiting:
        whole, shared = waiting.pop()
        for member in members.get(whole, ()):
            id, _, specimen = member.rstrip("*").partition("@")
            part = (id, specimen or shared)
            if part not in found and id != name:
                found.add(part)
                waiting.append(part)
    return frozenset(found)


def _either(patterns: Iterable[str]) -> re.Pattern[str]:
    numbers = f"(?:{_words_file()['numbers']})"
    return re.compile("|".join(patterns).replace("(?:#)", numbers).replace("#", numbers))


@cache
def vocabulary() -> Vocabulary:
    """The tables, read on first use."""
    phrases = _phrases()
    longest: dict[str, int] = {}
    for phrase in phrases:
        longest[phrase[0]] = max(longest.get(phrase[0], 0), len(phrase))
    parts, core, opened = _containment()
    file = _words_file()
    fillers = frozenset(stem(word) for word in file["fillers"].split())
    lists = {name: frozenset(file[name].split()) for name in _LISTS}
    known = fillers | {word for phrase in phrases for word in phrase}
    return Vocabulary(
        phrases=phrases,
        longest=longest,
        parts=parts,
        core=core,
        open=opened,
        fillers=fillers,
        words=lists,
        specimen_of=file["specimen_of"],
        implied={head: frozenset(ids.split()) for head, ids in file["implied"].items()},
        vessels=file["vessels"],
        endoscopies=file["endoscopies"],
        serial=_either(file["serial"]),
        spans=_either(file["spans"]),
        known=known,
        correctable=tuple(sorted(word for word in known if len(word) >= _SHORTEST_MISSPELT and word.isalpha())),
    )


@lru_cache(maxsize=8192)
def correct(word: str) -> str:
    """The vocabulary's word that this one misspells by one letter (two from twelve letters on), or the word itself."""
    if len(word) < _SHORTEST_MISSPELT or not word.isalpha():
        return word
    allowed = 2 if len(word) >= 12 else 1
    found = extractOne(word, vocabulary().correctable, scorer=OSA.distance, score_cutoff=allowed)
    return found[0] if found and found[0][0] == word[0] else word
