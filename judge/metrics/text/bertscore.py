"""BERTScore: how well the tokens of two texts match in an encoder's embedding space."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.metrics.signature import Metric
from judge.metrics.text.embeddings import EmbeddingStore, open_store
from judge.metrics.text.encoders import EncoderFiles, Loaded, find_encoder, load_encoder
from judge.metrics.text.values import (
    NOTHING,
    Item,
    NotComputed,
    TextSettings,
    over_references,
    scored,
    version,
)
from judge.metrics.text.words import NORMALISATION
from judge.outcome import Outcome

#: Items whose embeddings are in memory at once.
_CHUNK = 64

#: The encoder is shared, and a tokeniser's limits are a state of it.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Tokens:
    """A text as the encoder gets it.

    Attributes:
        key: of its token ids.
        pieces: how many of them are no special tokens.
    """

    ids: tuple[int, ...]
    key: bytes
    pieces: int
    cut: bool


class BertScore:
    """BERTScore F1 (Zhang et al. 2020) with bert-score's own encoding and matching.

    No idf weights and no rescaling with a baseline; the tokens that the encoder adds have weight 0; similarities below
    0 count as 0. Texts are read up to the encoder's limit, and those that were cut are named.
    """

    def __init__(self, files: EncoderFiles, settings: TextSettings) -> None:
        self._loaded = load_encoder(files)
        self._settings = settings
        self._store_file = settings.home() / "embeddings" / f"{files.digest}-L{files.layers}.sqlite"
        parameters = (
            ("refs", settings.references),
            ("encoder", f"{files.name}@{files.digest}"),
            ("layer", str(files.layers)),
            ("max", str(self._loaded.limit)),
            ("idf", "no"),
            ("rescale", "no"),
            ("norm", NORMALISATION),
            ("impl", f"{version('bert-score')},{version('transformers')}"),
        )
        self.metric = Metric("bertscore", "BERTScore F1", parameters, source="Zhang et al. 2020; bert-score")
        self.cut: set[str] = set()
        self.cut_references: set[str] = set()

    def score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        with _one_at_a_time:
            return self._score(items)

    def _score(self, items: Sequence[Item]) -> dict[str, Outcome]:
        tokens = self._tokenised(items)
        self.cut = {item.id for item in items if tokens[item.candidate].cut}
        self.cut_references = {item.id for item in items if any(tokens[text].cut for text in item.references)}
        by_length = sorted(items, key=lambda item: len(tokens[item.candidate].ids))
        found: dict[str, Outcome] = {}
        with open_store(self._store_file) as store:
            for start in range(0, len(by_length), _CHUNK):
                found |= self._score_chunk(by_length[start : start + _CHUNK], tokens, store)
        return {item.id: found[item.id] for item in items}

    def _tokenised(self, items: Sequence[Item]) -> dict[str, _Tokens]:
        texts = {text for item in items for text in (item.candidate, *item.references)}
        return {text: _tokens(text, self._loaded) for text in texts}

    def _score_chunk(
        self, items: Sequence[Item], tokens: Mapping[str, _Tokens], store: EmbeddingStore | None
    ) -> dict[str, Outcome]:
        candidates = {item.candidate: tokens[item.candidate] for item in items}
        references = {text: tokens[text] for item in items for text in item.references}
        embedded = self._references(list(references.values()), store)
        embedded |= self._embedded([text for text in candidates.values() if text.key not in embedded])

        pairs = [(item.candidate, reference) for item in items for reference in item.references]
        values = self._f1([(tokens[candidate], tokens[reference]) for candidate, reference in pairs], embedded)
        f1 = dict(zip(pairs, values, strict=True))
        return {item.id: self._one(item, tokens[item.candidate], f1) for item in items}

    def _one(self, item: Item, candidate: _Tokens, f1: Mapping[tuple[str, str], float]) -> Outcome:
        if not candidate.pieces:
            return NOTHING
        values = (f1[item.candidate, reference] for reference in item.references)
        return scored(over_references(values, self._settings.references), self.metric.name, item.id)

    def _references(self, texts: Sequence[_Tokens], store: EmbeddingStore | None) -> dict[bytes, Any]:
        kept = store.get({text.key: len(text.ids) for text in texts}) if store else {}
        new = self._embedded([text for text in texts if text.key not in kept])
        if store:
            store.put(list(new.items()))
        return kept | new

    def _embedded(self, texts: Sequence[_Tokens]) -> dict[bytes, Any]:
        """Key -> one row of length 1 for each token; texts of like lengths together, since padding costs time."""
        unique = sorted({text.key: text for text in texts}.values(), key=lambda text: len(text.ids))
        found: dict[bytes, Any] = {}
        for start in range(0, len(unique), self._settings.batch_size):
            batch = unique[start : start + self._settings.batch_size]
            found |= zip((text.key for text in batch), _encode(batch, self._loaded), strict=True)
        return found

    def _f1(self, pairs: Sequence[tuple[_Tokens, _Tokens]], embedded: Mapping[bytes, Any]) -> list[float]:
        """F1 of (candidate, reference) pairs; 0 where either has nothing to compare."""
        from bert_score.utils import greedy_cos_idf

        found = [0.0] * len(pairs)
        comparable = [place for place, pair in enumerate(pairs) if all(text.pieces for text in pair)]
        for start in range(0, len(comparable), self._settings.batch_size):
            batch = comparable[start : start + self._settings.batch_size]
            candidates = _padded([pairs[place][0] for place in batch], embedded, self._loaded)
            references = _padded([pairs[place][1] for place in batch], embedded, self._loaded)
            _, _, f1 = greedy_cos_idf(*references, *candidates)
            for place, value in zip(batch, f1.tolist(), strict=True):
                found[place] = value
        return found


def open_bertscore(language: str, settings: TextSettings) -> BertScore | NotComputed:
    """BERTScore for a language, its encoder loaded.

    Raises:
        SpecError: the encoder that the user names cannot be used.
    """
    encoder = settings.encoders.get(language)
    if encoder is None:
        return NotComputed(f"BERTScore has no encoder for language {language!r}; name one in the settings")
    files = find_encoder(encoder)
    return files if isinstance(files, NotComputed) else BertScore(files, settings)


def _tokens(text: str, loaded: Loaded) -> _Tokens:
    from bert_score.utils import sent_encode

    ids = tuple(sent_encode(loaded.tokenizer, text))
    # only a text that fills the limit can have been cut
    whole = loaded.tokenizer.encode(text.strip(), truncation=False, verbose=False) if len(ids) >= loaded.limit else ids
    pieces = sum(_weights(ids, loaded))
    key = hashlib.sha256(np.array(ids, dtype="<i4").tobytes()).digest()
    return _Tokens(ids, key, int(pieces), len(whole) > len(ids))


def _weights(ids: Sequence[int], loaded: Loaded) -> list[float]:
    special = {loaded.tokenizer.cls_token_id, loaded.tokenizer.sep_token_id}
    return [0.0 if token in special else 1.0 for token in ids]


def _encode(texts: Sequence[_Tokens], loaded: Loaded) -> list[Any]:
    import torch
    from bert_score.utils import bert_encode, padding

    device = next(loaded.model.parameters()).device
    ids, lengths, mask = padding([text.ids for text in texts], loaded.tokenizer.pad_token_id, dtype=torch.long)
    rows = bert_encode(loaded.model, ids.to(device), attention_mask=mask.to(device)).cpu()
    rows = rows / rows.norm(dim=-1, keepdim=True)
    found = [rows[place, :length].numpy().copy() for place, length in enumerate(lengths.tolist())]
    if not all(np.isfinite(embedding).all() for embedding in found):  # bert-score would make 0 of it
        raise ValueError("the encoder gives embeddings that are not finite")
    return found


def _padded(texts: Sequence[_Tokens], embedded: Mapping[bytes, Any], loaded: Loaded) -> tuple[Any, Any, Any]:
    """Embeddings, mask and weights of a batch, each text with one token of padding at least.

    bert-score gives padding the similarity 0, so a token of a text that was padded never gets less than 0. With padding
    behind every text that holds for all of them, whatever they share a batch with.
    """
    import torch

    longest = max(len(text.ids) for text in texts) + 1
    width = embedded[texts[0].key].shape[1]
    embeddings = torch.ones(len(texts), longest, width)
    mask = torch.zeros(len(texts), longest, dtype=torch.long)
    weights = torch.zeros(len(texts), longest)
    for row, text in enumerate(texts):
        embeddings[row, : len(text.ids)] = torch.from_numpy(embedded[text.key])
        mask[row, : len(text.ids)] = 1
        weights[row, : len(text.ids)] = torch.tensor(_weights(text.ids, loaded))
    return embeddings, mask, weights
