"""medjudge graph BENCHMARK: the state machine as a Mermaid diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from judge.cli.groups import BenchmarkGroup

if TYPE_CHECKING:
    from judge.benchmark import Benchmark


def _build(benchmark: Benchmark) -> click.Command:
    def callback(setting: str | None, judging: bool = False) -> None:
        click.echo(benchmark.draw_judging() if judging else benchmark.draw(setting))  # type: ignore[attr-defined]

    choices = next((option.choices for option in benchmark.options if option.setting), ())
    of_setting = click.Option(["--setting"], type=click.Choice(choices), help="Draw what can happen in this setting.")
    of_judging = click.Option(["--judging"], is_flag=True, help="Draw how a transcript is judged instead.")
    return click.Command(
        benchmark.name,
        callback=callback,
        params=[of_setting, of_judging] if hasattr(benchmark, "draw_judging") else [of_setting],
        help=f"The state machine of {benchmark.title}, as Mermaid.",
    )


graph_group = BenchmarkGroup("graph", build=_build, help="Draw a benchmark's state machine, as Mermaid.")
