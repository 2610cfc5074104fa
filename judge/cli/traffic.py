"""The options that say how hard an endpoint is driven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import FiniteRange

if TYPE_CHECKING:
    from judge.settings import Traffic


def traffic_params() -> list[click.Parameter]:
    """None of them changes a number."""
    return [
        click.Option(["--connections"], type=click.IntRange(1, 4096), default=16, show_default=True, metavar="N",
                     help="Requests under way at once."),
        click.Option(["--timeout"], type=FiniteRange(min=0, min_open=True), default=600.0, show_default=True,
                     metavar="SECONDS", help="Longest time one request may take; waits for a retry do not count."),
        click.Option(["--tries"], type=click.IntRange(min=1), default=6, show_default=True, metavar="N",
                     help="Requests sent per call at most, retries included."),
        click.Option(["--retry-for"], type=FiniteRange(min=0), default=600.0, show_default=True,
                     metavar="SECONDS", help="Longest that one call may wait for retries, all waits together."),
    ]  # fmt: skip


def traffic_of(values: Mapping[str, Any]) -> Traffic:
    """The settings from click's values."""
    from judge.settings import Traffic

    return Traffic(
        connections=values["connections"],
        timeout=values["timeout"],
        tries=values["tries"],
        total_wait=values["retry_for"],
    )
