"""Command groups with one subcommand per benchmark, and options made from what a benchmark declares."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark, Option

DIRECTORY = click.Path(path_type=Path)


class FiniteRange(click.FloatRange):
    """A number within bounds; click's own type lets NaN and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class BenchmarkGroup(click.Group):
    """One subcommand per registered benchmark that has a method, made by a function."""

    def __init__(
        self,
        *args: Any,
        build: Callable[[Benchmark], click.Command],
        method: str = "load",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._build = build
        self._method = method

    def list_commands(self, ctx: click.Context) -> list[str]:
        from judge.benchmark import registry

        return [name for name, benchmark in registry().items() if hasattr(benchmark, self._method)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from judge.benchmark import registry

        benchmark = registry().get(cmd_name)
        return self._build(benchmark) if benchmark is not None and hasattr(benchmark, self._method) else None


def benchmark_options(options: Sequence[Option], *, required: bool) -> list[click.Option]:
    """A benchmark's options for click; `required` False leaves out what only a run must be given."""
    return [_click_option(option, required=required) for option in options]


def _click_option(option: Option, *, required: bool) -> click.Option:
    kinds: dict[str, Any] = {"text": str, "int": int, "path": DIRECTORY}
    kind = click.Choice(option.choices) if option.choices else kinds[option.kind]
    default = None if option.multiple else option.default
    shown = option.help + (f"  [default: {option.default}]" if option.default is not None else "")
    note = "  [required]" if option.required and required else ""
    return click.Option(
        [f"--{option.name}", option.name.replace("-", "_")],
        type=kind,
        multiple=option.multiple,
        default=default,
        help=shown + note,
    )


def about_data(benchmark: Benchmark) -> list[Option]:
    """The options that mean something without a run, e.g. to predictions made elsewhere."""
    return [
        option
        for option in benchmark.options
        if not option.setting and not option.run_only and (option.default is not None or option.multiple)
    ]


def by_name(options: Sequence[Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """A benchmark's options by their own names, from click's values."""
    return {option.name: values[option.name.replace("-", "_")] for option in options}


def data_option(*, required: bool) -> click.Option:
    return click.Option(
        ["--data"], type=DIRECTORY, required=required, metavar="DIR", help="Folder that holds the benchmark's data."
    )


def json_option() -> click.Option:
    return click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document and nothing else.")


def prices_option() -> click.Option:
    file: Any = click.Path(path_type=Path, exists=True, dir_okay=False)
    return click.Option(
        ["--prices"],
        type=file,
        metavar="FILE",
        help='Also what calls cost, by this TOML file: currency = "USD", and for each model [models."NAME"] with '
        "prompt, completion and, where it differs, cached: the prices of a million tokens.",
    )


def refuse_alone(names: Sequence[str], needed: str) -> None:
    """Refuse options that mean nothing without another.

    Args:
        names: of their parameters.
        needed: what they go with, as the user writes it.

    Raises:
        SpecError: one of them was given.
    """
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    if given := [name for name in names if context.get_parameter_source(name) is source]:
        raise SpecError(f"--{given[0].replace('_', '-')} goes with {needed}")


def names(option: str, text: str | None) -> tuple[str, ...]:
    """The names in a list separated by commas, each once; empty where the option was not given.

    Raises:
        SpecError: it was given and names nothing.
    """
    found = tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
    if text is not None and not found:
        raise SpecError(f"{option} names nothing; separate names by commas")
    return found


def json_object(option: str, text: str | None) -> dict[str, Any]:
    """The JSON object that was given with an option; empty without one.

    Raises:
        SpecError: it is none.
    """
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SpecError(f"{option} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise SpecError(f'{option} must be a JSON object, e.g. {{"top_p": 0.9}}')
    return value


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a lone surrogate in what a model said, or a terminal that is not UTF-8
        text = json.dumps(document, indent=2)
    click.echo(text)
