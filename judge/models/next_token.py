"""How likely a causal language model holds each option letter as the next token, several prompts at a time."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Most prompts of one forward pass.
BATCH = 16

LetterScores = Mapping[str, Mapping[str, float | None]]
"""Letter -> form, e.g. ``"A"`` or ``" A"`` -> log-probability; None where it is not finite; no form, no token."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt in tokens, and the letters that are asked for."""

    ids: Sequence[int]
    letters: Sequence[str]


class NextToken:
    """Scores of letters as the next token.

    Args:
        tokenizer, model: of transformers; the model in evaluation mode.
    """

    def __init__(self, tokenizer: Any, model: Any) -> None:
        self._vocabulary: Mapping[str, int] = tokenizer.get_vocab()
        self._model = model
        self._accepted = inspect.signature(model.forward).parameters

    @property
    def batch(self) -> int:
        """Most prompts at once: 1 for a model whose scores would depend on the company.

        At half precision the shape of a batch changes rounding by more than letters may differ; positions that scale
        with the longest prompt change the others'; and a model that takes no positions cannot be told of padding.
        """
        import torch

        single = self._model.dtype in (torch.float32, torch.float64)
        padded = {"attention_mask", "position_ids"} <= self._accepted.keys()
        rope = (getattr(self._model.config, name, None) for name in ("rope_parameters", "rope_scaling"))
        scaling = any(re.search("dynamic|longrope", str(parameters)) for parameters in rope)
        return BATCH if single and padded and not scaling else 1

    def forms(self, letter: str) -> dict[str, int]:
        """The tokens that read as the letter: bare, and with the space before it that opens a word."""
        spaced = (f"Ġ{letter}", f"▁{letter}", f" {letter}")
        found = {
            letter: self._vocabulary.get(letter),
            f" {letter}": next((self._vocabulary[piece] for piece in spaced if piece in self._vocabulary), None),
        }
        return {form: token for form, token in found.items() if token is not None}

    def score(self, prompts: Sequence[Prompt]) -> list[LetterScores]:
        """Log-probabilities over the whole vocabulary, of the letters' tokens; one forward pass."""
        rows = self._log_probabilities([prompt.ids for prompt in prompts])
        return [
            {
                letter: {form: _finite(float(row[token])) for form, token in self.forms(letter).items()}
                for letter in prompt.letters
            }
            for prompt, row in zip(prompts, rows, strict=True)
        ]

    def _log_probabilities(self, prompts: Sequence[Sequence[int]]) -> Any:
        """Padded on the left, so that every prompt ends in the last column; shape (prompts, vocabulary)."""
        import torch

        shape = (len(prompts), max(map(len, prompts)))
        ids = torch.zeros(shape, dtype=torch.long)
        mask = torch.zeros(shape, dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, -len(prompt) :] = torch.tensor(prompt)
            mask[row, -len(prompt) :] = 1
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": (mask.cumsum(-1) - 1).clamp(min=0),  # counted from each prompt's own beginning
        }
        taken = {name: tensor.to(self._model.device) for name, tensor in inputs.items() if name in self._accepted}
        options = {name: value for name, value in _LAST_ONLY.items() if name in self._accepted}
        with torch.inference_mode():
            logits = self._model(**taken, **options).logits[:, -1]
        return logits.float().log_softmax(-1).cpu()


#: Of the logits only those of the last column are wanted, and nothing is generated after it.
_LAST_ONLY: Mapping[str, Any] = {"logits_to_keep": 1, "use_cache": False}


def _finite(score: float) -> float | None:
    """A score as JSON can hold it."""
    return score if math.isfinite(score) else None
