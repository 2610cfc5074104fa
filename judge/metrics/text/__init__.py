"""How near a text is to its references: BLEU, ROUGE-L, METEOR, BERTScore."""

from __future__ import annotations

from judge.metrics.text.scoring import TEXT_METRICS, TextMetricName, TextScores, score_texts, text_metrics
from judge.metrics.text.values import MINILM, SCIBERT, Encoder, NotComputed, SynonymSource, TextSettings

__all__ = [
    "MINILM",
    "SCIBERT",
    "TEXT_METRICS",
    "Encoder",
    "NotComputed",
    "SynonymSource",
    "TextMetricName",
    "TextScores",
    "TextSettings",
    "score_texts",
    "text_metrics",
]
