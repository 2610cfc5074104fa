"""Money is reckoned at the user's prices only, and what is not in a sum is said beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.errors import SpecError
from judge.report.prices import Prices, cost_of, read_prices
from tests.conftest import Command
from tests.runs.synthetic import run_arguments
from tests.server import ModelServer, Usage, says

FILE = """
currency = "EUR"

[models."a/model:1"]
prompt = 2.5
completion = 10
"""


def row(model: str, **others: Any) -> dict[str, Any]:
    blank = {"role": "doctor", "source": "server", "calls": 1, "prompt": 0, "completion": 0, "reasoning": 0,
             "cached": 0}  # fmt: skip
    return {"model": model, **blank, "unreported": 0, **others}


@pytest.fixture
def prices(tmp_path: Path) -> Prices:
    file = tmp_path / "prices.toml"
    file.write_text(FILE)
    return read_prices(file)


def test_prices_are_of_a_million_tokens_and_reasoning_is_part_of_the_completion(prices: Prices) -> None:
    cost = cost_of([row("a/model:1", prompt=400_000, completion=30_000, reasoning=20_000)], prices)
    assert cost.rows == pytest.approx([1.3])  # .4 x 2.5 + .03 x 10
    assert cost.sentence() == "Cost at the given prices: 1.3000 EUR"


def test_a_model_without_a_price_is_named_and_not_taken_as_free(prices: Prices) -> None:
    cost = cost_of([row("a/model:1", prompt=1_000_000), row("other", prompt=5), row("other", role="judge:x")], prices)
    assert cost.rows == (2.5, None, None)
    assert cost.sentence() == "Cost at the given prices: 2.5000 EUR, without other, for which the file has no price"


def test_answers_from_a_recording_or_a_cache_cost_nothing(prices: Prices) -> None:
    rows = [row("other", source="replay", calls=3, prompt=10**6), row("a/model:1", source="cache", prompt=10**6)]
    cost = cost_of(rows, prices)
    assert (cost.rows, cost.total, cost.unpriced) == ((0.0, 0.0), 0.0, ())
    assert cost.sentence().endswith("; 4 calls answered from a cache or a recording cost nothing")


def test_cached_prompt_tokens_have_a_price_of_their_own_or_it_is_said_that_they_have_none(prices: Prices) -> None:
    rows = [row("a/model:1", prompt=1_000_000, cached=400_000)]
    cost = cost_of(rows, prices)
    assert cost.total == pytest.approx(2.5)
    assert cost.sentence().endswith("; 400,000 cached prompt tokens are reckoned at the full price")
    cheap = Prices.model_validate({"currency": "EUR", "models": {"a/model:1": {"prompt": 2.5, "completion": 10,
                                                                              "cached": 0.25}}})  # fmt: skip
    found = cost_of(rows, cheap)
    assert found.total == pytest.approx(1.6)  # .6 x 2.5 + .4 x .25
    assert "cached" not in found.sentence()


def test_calls_whose_tokens_nobody_counted_are_said_to_be_missing(prices: Prices) -> None:
    cost = cost_of([row("a/model:1", calls=7, prompt=1_000_000, unreported=2)], prices)
    assert cost.sentence() == "Cost at the given prices: 2.5000 EUR, without 2 calls whose tokens were not reported"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("currency = ", "is not TOML"),
        ('currency = "EUR"', "models: Field required"),
        ('currency = "EUR"\n[models.m]\nprompt = -1\ncompletion = 1', "models.m.prompt: .*greater than or equal to 0"),
        ('currency = "EUR"\n[models.m]\nprompt = 1', "models.m.completion: Field required"),
        ('currency = "EUR"\n[models.m]\nprompt = inf\ncompletion = 1', "models.m.prompt: .*finite"),
        ('currency = "EUR"\n[models.m]\nprompt = 1\ncompletion = 1\nper = 1000', "models.m.per: Extra inputs"),
    ],
)
def test_a_file_that_is_not_of_this_form_is_refused_in_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(SpecError, match=problem):
        read_prices(file)


def test_a_run_is_shown_and_reported_with_its_cost(cli: Command, tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('currency = "EUR"\n[models.tiny]\nprompt = 1000\ncompletion = 4000\n')
    with ModelServer(lambda request: says("A", usage=Usage(40, 5)), models=["tiny"]) as server:
        assert cli(*run_arguments(f"{server.url}#tiny", tmp_path / "run", "--limit", 3)).code == 0
    found = cli("show", tmp_path / "run", "--prices", file, "--json").json
    assert found["cost"]["rows"] == pytest.approx([3 * (0.04 + 0.02)])
    assert "0.1800 EUR" in cli("show", tmp_path / "run", "--prices", file).out
    page = tmp_path / "report.html"
    assert cli("report", tmp_path / "run", "--prices", file, "--html", page).code == 0
    assert "0.1800 EUR" in page.read_text()
    assert cli("show", tmp_path / "run", "--json").json["cost"] is None
