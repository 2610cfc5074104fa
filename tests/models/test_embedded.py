"""The embedded model really answers; what it says is not looked at."""

from __future__ import annotations

import pytest

from judge.errors import SpecError
from judge.models.chat import open_chat
from judge.models.door import Door
from judge.models.embedded import weights
from judge.settings import Generation, parse_model
from tests.models.helpers import at, user


@pytest.mark.embedded
async def test_given_the_embedded_model_when_it_is_asked_then_a_reply_with_token_counts_comes_back() -> None:
    try:
        weights()
    except SpecError as error:
        pytest.skip(str(error))
    generation = Generation(temperature=0, max_tokens=16)
    async with open_chat(parse_model("embedded"), generation, Door(), connections=1) as chat:
        reply = await chat.ask(user("Name one colour."), at())

    assert (reply.usage.prompt or 0) > 0
    assert 0 < (reply.usage.completion or 0) <= 16
    assert reply.finish_reason in ("stop", "length")
