"""What the protocols cost on published outputs, measured over all that is sent."""

from __future__ import annotations

import pytest

from benchmarks.judge_tokens import costs
from tests.data import real_data


@pytest.mark.data
def test_batched_takes_at_most_a_quarter_of_the_prompt_tokens_of_per_step() -> None:
    found = costs(real_data("medrbench"), "deepseek-r1", 6)
    per_step, batched = found["per-step"], found["batched"]
    assert (per_step.cases, batched.cases) == (6, 6)
    assert batched.text <= per_step.text / 4
    assert batched.sent <= per_step.sent / 4
