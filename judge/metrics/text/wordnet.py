"""Synonyms from files in WordNet's database format, read by NLTK and kept, for METEOR."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.errors import DataError

#: SHA-256 of WordNet 3.0's files with Unix line ends: everything that looking up synonyms reads.
WORDNET_FILES: Mapping[str, str] = {
    "adj.exc": "8824cc24bbedd797b9702316b27f07cd4c2b76b629539f0a1276f03926758016",
    "adv.exc": "e7291461b629abfe63301bbe1998cee09fd575ed7107abd7ea9763adb05bf0a8",
    "data.adj": "f24b635368be441501c9b8001e9271fd3b30b203f00d91e332979e6f8fe35646",
    "data.adv": "e66dbbda0e0359e41b7f225bff71dd0c263dc7c66c1b61abc9ba334973d92979",
    "data.noun": "489f145e0f68877c0be5bd0eb4117adaaac52f38f6204eb8d85dbe2158b614cc",
    "data.verb": "29cc96ed80c9f47d94fe75e332a9df80f4b1c737205f92d2f433d63c6da2ab51",
    "index.adj": "42f58dda2c7cff66eb8fa55ba62e0a873a9b3f43c878e8201108f5dab6dcff28",
    "index.adv": "6f5465ed5758fe9c8a2f7ec17b1300f3aa875756c70ff7cba162f7e71bcf88ea",
    "index.noun": "a490d99d93d017bf4822fe2f0ffa51fd73911ce271dc7535fade21f8814b5a04",
    "index.verb": "c7c79b558d787f1e31c6f8b3eeadb8fcbb26a64545ecc1241e21d9b61f95ee8e",
    "lexnames": "4767e2a1c6e68c1a93aa6b7c4ef7ebe9a815b50d7d5aac2788696f2cf3633bf1",
    "noun.exc": "2b5d675c380b39ecf595af9fa9d4e7feb1d58c643b0bff08c40ed5bfe41fab7a",
    "verb.exc": "dbbcf9a601b2d77e934e413b91d90e88ec7f933a8b77cfc00602a923b891b42c",
}


def wordnet_folder(home: Path) -> Path:
    """Where `medjudge data fetch wordnet` installs."""
    return home / "wordnet"


def file_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file that is there of those that synonyms are read from."""
    there = [name for name in sorted(WORDNET_FILES) if (folder / name).is_file()]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in there}


class _Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class _Synset:
    def __init__(self, names: set[str]) -> None:
        self._lemmas = [_Lemma(name) for name in sorted(names)]

    def lemmas(self) -> list[_Lemma]:
        return self._lemmas


class Synonyms:
    """What METEOR asks of WordNet, with every answer kept; may be used from several threads.

    Attributes:
        version: of the database as its files state it, and the beginning of the hash over them.
    """

    def __init__(self, reader: Any, version: str) -> None:
        self.version = version
        self._reader = reader
        self._known: dict[str, list[_Synset]] = {}
        # NLTK's reader moves about in files that all threads would share
        self._lock = threading.Lock()

    def synsets(self, word: str) -> list[_Synset]:
        """One set with the lemmas of all synsets of the word: NLTK's METEOR takes their union."""
        if (found := self._known.get(word)) is None:
            with self._lock:
                names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
            found = self._known[word] = [_Synset(names)]
        return found


_loaded: dict[Path, Synonyms] = {}
_loading = threading.Lock()


def load_synonyms(folder: Path) -> Synonyms:
    """Read a database once in this process, whichever thread asks first.

    Raises:
        DataError: a file is missing, or is not what WordNet's are.
    """
    place = folder.resolve()
    with _loading:
        if place not in _loaded:
            _loaded[place] = _load(place)
        return _loaded[place]


def _load(folder: Path) -> Synonyms:
    import nltk.data

    hashes = file_hashes(folder)
    if missing := sorted(WORDNET_FILES.keys() - hashes):
        raise DataError(f"{folder} holds no database in WordNet's format: {missing[0]} is missing")
    if str(folder) not in nltk.data.path:
        nltk.data.path.append(str(folder))  # NLTK opens no file outside the folders listed there
    try:
        reader = _open(folder)
        stated = reader.get_version()
    except (AssertionError, ValueError, LookupError) as error:
        raise DataError(f"{folder} cannot be read as a database in WordNet's format: {error}") from error
    digest = hashlib.sha256("\n".join(f"{name} {hash}" for name, hash in sorted(hashes.items())).encode())
    return Synonyms(reader, f"{stated or 'unknown'}@{digest.hexdigest()[:8]}")


def _open(folder: Path) -> Any:
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Synset numbers of other versions, for other languages only: needs files that synonyms do not."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there are no other languages
        return Reader(str(folder), None)
