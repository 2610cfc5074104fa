"""Small synonym databases in WordNet's file format."""

from __future__ import annotations

from pathlib import Path

#: WordNet files begin with a licence, whose lines are indented; the version is stated in it.
_HEADER = b"  1 WordNet 9.9 Copyright nobody\n"


def write_lexicon(folder: Path, *synsets: tuple[str, ...]) -> Path:
    """A database of nouns; each tuple holds words that mean the same, no word occurs twice."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_bytes(_HEADER)
        (folder / f"index.{part}").write_bytes(_HEADER)
        (folder / f"{part}.exc").write_bytes(b"")
    (folder / "lexnames").write_bytes(b"00\tnoun.all\t1\n")
    data = _HEADER
    index = {}
    for words in synsets:
        offset = f"{len(data):08d}"
        named = " ".join(f"{word} 0" for word in words)
        data += f"{offset} 00 n {len(words):02x} {named} 000 | {words[0]}\n".encode()
        index |= {word: f"{word} n 1 0 1 0 {offset}\n".encode() for word in words}
    (folder / "data.noun").write_bytes(data)
    (folder / "index.noun").write_bytes(_HEADER + b"".join(index[word] for word in sorted(index)))
    return folder
