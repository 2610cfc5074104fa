"""What calls cost, at prices that the user gives. None are built in: they change, and a wrong one would look right."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from judge.errors import SpecError

_MILLION = 1_000_000

#: Where an answer comes from if somebody may ask money for it; answers of a cache or a recording cost nothing.
PAID = "server"


class Price(BaseModel):
    """Prices of a million tokens; reasoning is part of the completion.

    Attributes:
        cached: of prompt tokens that the server had in its cache; the same as of others where it is not given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: FiniteFloat = Field(ge=0)
    completion: FiniteFloat = Field(ge=0)
    cached: FiniteFloat | None = Field(default=None, ge=0)


class Prices(BaseModel):
    """A file of prices.

    Attributes:
        currency: as it is to be shown, e.g. ``USD``.
        models: name, as the token table has it -> prices.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    currency: str = Field(min_length=1, max_length=12)
    models: Mapping[str, Price] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost.

    Attributes:
        currency: of all amounts.
        prices: model -> what it was reckoned with.
        rows: of each row of the token table; None for a model without a price.
        total: over the models with a price.
        unpriced: models that were asked and have no price.
        free: calls answered from a cache or a recording, which cost nothing.
        unreported: calls of priced models whose tokens no server told; they are in no sum.
        cached: prompt tokens from a server's cache that were reckoned like others, for want of a price.
    """

    currency: str
    prices: Mapping[str, Mapping[str, float]]
    rows: tuple[float | None, ...]
    total: float
    unpriced: tuple[str, ...]
    free: int
    unreported: int
    cached: int

    def facts(self) -> dict[str, Any]:
        """In JSON types."""
        return asdict(self) | {"sentence": self.sentence()}

    def sentence(self) -> str:
        """The total, and what is not in it."""
        missing = [f"{', '.join(self.unpriced)}, for which the file has no price"] if self.unpriced else []
        if self.unreported:
            missing.append(f"{self.unreported:,} calls whose tokens were not reported")
        left_out = f", without {' and '.join(missing)}" if missing else ""
        free = f"; {self.free:,} calls answered from a cache or a recording cost nothing" if self.free else ""
        cached = f"; {self.cached:,} cached prompt tokens are reckoned at the full price" if self.cached else ""
        return f"Cost at the given prices: {self.total:,.4f} {self.currency}{left_out}{free}{cached}"


def read_prices(path: Path) -> Prices:
    """Prices from a TOML file: ``currency``, and for each model ``prompt`` and ``completion`` of a million tokens.

    ``cached``, of prompt tokens from the server's cache, may be left out.

    Raises:
        SpecError: the file cannot be read, or is not of this form.
    """
    try:
        return Prices.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ValueError as error:
        raise SpecError(f"{path} is not TOML: {error}") from None


def cost_of(tokens: Iterable[Mapping[str, Any]], prices: Prices) -> Cost:
    """What the calls of a token table cost.

    Args:
        tokens: rows with the keys of `judge.runs.store.TokenCount`.
    """
    tokens = list(tokens)
    rows = tuple(_row(row, prices) for row in tokens)
    unpriced = dict.fromkeys(row["model"] for row, cost in zip(tokens, rows, strict=True) if cost is None)
    priced = [row for row, cost in zip(tokens, rows, strict=True) if cost is not None and row["source"] == PAID]
    return Cost(
        prices.currency,
        {row["model"]: prices.models[row["model"]].model_dump(exclude_none=True) for row in priced},
        rows,
        math.fsum(cost for cost in rows if cost is not None),
        tuple(unpriced),
        sum(row["calls"] for row in tokens if row["source"] != PAID),
        sum(row["unreported"] for row in priced),
        sum(row["cached"] for row in priced if prices.models[row["model"]].cached is None),
    )


def _row(row: Mapping[str, Any], prices: Prices) -> float | None:
    if row["source"] != PAID:
        return 0.0
    price = prices.models.get(row["model"])
    if price is None:
        return None
    of_cached = price.prompt if price.cached is None else price.cached
    prompt = (row["prompt"] - row["cached"]) * price.prompt + row["cached"] * of_cached
    return float(prompt + row["completion"] * price.completion) / _MILLION
