"""medjudge simulate BENCHMARK: a person in the doctor's place, or beside the doctor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from judge.cli.groups import DIRECTORY, BenchmarkGroup, benchmark_options, data_option
from judge.errors import SpecError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.seats import Simulator, Wanted


class SimulatorGroup(BenchmarkGroup):
    """Only the benchmarks in which a person can take part."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from judge.benchmark import registry

        return [name for name, benchmark in registry().items() if hasattr(benchmark, "simulator")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) if cmd_name in self.list_commands(ctx) else None


def _build(benchmark: Benchmark) -> click.Command:
    from judge.seats import simulator_of

    simulator = simulator_of(benchmark)
    assert simulator is not None, "the group lists no other"

    def callback(**values: Any) -> int:
        return _simulate(simulator, values)

    return click.Command(
        benchmark.name,
        callback=callback,
        params=[*_case_params(), *benchmark_options(simulator.options, required=True), *_session_params()],
        help=f"{benchmark.title}: a person is the doctor, or follows a model turn by turn and steers it.",
        short_help=f"A person is the doctor in {benchmark.title}.",
    )


def _case_params() -> list[click.Parameter]:
    return [
        click.Option(["--case"], metavar="ID", help="The case to be examined."),
        data_option(required=False),
    ]


def _session_params() -> list[click.Parameter]:
    return [
        click.Option(["--doctor"], metavar="SPEC", help="With --step: the model to follow, e.g. openai:gpt-4.1."),
        click.Option(["--step"], is_flag=True, help="Stop after every turn of the model: go on, steer, or take over."),
        click.Option(["--out"], type=DIRECTORY, default=Path(), metavar="DIR",
                     help="Keep sessions in sessions/ below this folder.  [default: the working directory]"),
        click.Option(["--resume"], metavar="ID", help="Continue a saved session: its id, or its folder."),
        click.Option(["--plain"], is_flag=True, help="No panels and colours; the default where there is no terminal."),
    ]  # fmt: skip


simulate_group = SimulatorGroup("simulate", build=_build, help="A person is the doctor, or sits beside a model.")


def _simulate(simulator: Simulator, values: dict[str, Any]) -> int:
    from judge.seats.terminal import Terminal

    wanted = _wanted(simulator, values)
    return simulator.play(wanted, Terminal(plain=values["plain"]))


def _wanted(simulator: Simulator, values: dict[str, Any]) -> Wanted:
    from judge.seats import Wanted

    context = click.get_current_context()
    names = {option.name: option.name.replace("-", "_") for option in simulator.options}
    sources = {"case": "case", "data": "data", "doctor": "doctor", **names}
    given = {name for name, key in sources.items()
             if context.get_parameter_source(key) is ParameterSource.COMMANDLINE}  # fmt: skip
    if values["resume"] is None:
        _require(values)
    return Wanted(
        case=values["case"],
        data=values["data"],
        options={name: values[key] for name, key in names.items()},
        doctor=values["doctor"],
        root=values["out"],
        resume=values["resume"],
        given=frozenset(given),
    )


def _require(values: dict[str, Any]) -> None:
    if values["case"] is None:
        raise SpecError("--case is missing: name the case to be examined")
    if values["data"] is None:
        raise SpecError("--data is missing: name the folder that holds the data set")
    if values["doctor"] is not None and not values["step"]:
        raise SpecError("--doctor goes with --step; to let a model work alone: medjudge run")
    if values["step"] and values["doctor"] is None:
        raise SpecError("--step goes with --doctor SPEC: name the model to follow")
