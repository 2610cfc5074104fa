"""The Python interface: make, judge and read runs, with tables as pandas DataFrames.

::

    from judge import evaluate, load_run, rejudge

    run = evaluate("caremedeval", "http://127.0.0.1:8000/v1#my-model", "CareMedEval", "runs/mine", context=["none"])
    run.scores().groupby(["setting", "metric"])["value"].mean()

Nothing heavy is imported before it is used. In every table what is missing is missing (``pandas.NA``): a score that
does not exist has a ``reason`` beside it and is never 0. Columns of text have dtype ``string``, counts ``Int64``,
numbers ``Float64``, truth values ``boolean``; columns marked *object* hold Python lists, dictionaries or labels.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from judge.errors import Interrupted, MedjudgeError, SpecError

if TYPE_CHECKING:
    import click
    import pandas as pd

    from judge.benchmark import Benchmark, Unit
    from judge.exports.source import Source
    from judge.exports.tables import Table
    from judge.models.door import Door
    from judge.runs.judging import Judged
    from judge.runs.launch import Watcher
    from judge.runs.runner import Ending
    from judge.settings import RunSpec

__all__ = ["Run", "evaluate", "load_run", "rejudge"]

T = TypeVar("T")
Place = str | PathLike[str]

#: Parameters of commands that mean nothing here.
NOT_HERE = frozenset({"as_json"})


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run. Every method reads what is stored at that moment; none calls a model or writes anything.

    Attributes:
        folder: of the run.
    """

    folder: Path

    @property
    def spec(self) -> RunSpec:
        """Everything that can change the run's numbers."""
        with self._source() as source:
            return source.spec

    @property
    def judges(self) -> dict[str, dict[str, Any]]:
        """Name of every judge of the run -> what is known of it: its settings, source, hashes."""
        with self._source() as source:
            return source.store.judging.judges()

    def report(self, judge: str | None = None) -> dict[str, Any]:
        """The report as ``medjudge score RUN_DIR --json`` prints it: means, intervals, bounds, counts, warnings.

        Args:
            judge: also the metrics that rest on this judge's judgements.

        Raises:
            RunError: the run has no judge of this name.
        """
        from judge.runs.scoring import score_run

        with self._source(judge) as source:
            return score_run(source.store, source.benchmark, judge)

    def metrics(self, judge: str | None = None) -> pd.DataFrame:
        """The report's means: one row for each setting, judge, metric and group that the report has one for.

        Columns: run, benchmark, model, state, setting, judge, part, breakdown, group, metric, title, signature
        (string), mean, se, ci95_low, ci95_high, bound_low, bound_high, maximum (Float64), n_scored, n_unscored,
        n_cases, n_clusters, n_empty (Int64), unscored (object: reason -> units).

        ``part`` is ``mean`` over scored cases, ``summary`` (means of group means), ``aside`` or ``group``.

        Args:
            judge: also the metrics that rest on this judge's judgements.

        Raises:
            RunError: the run has no judge of this name.
        """
        from judge.exports.tables import METRICS

        return self._frame(METRICS, judge)

    def scores(self, judge: str | None = None) -> pd.DataFrame:
        """One row for each unit and metric, in the order of the run.

        Columns: run, benchmark, model, setting, case (string), epoch (Int64), cluster, status, judge, metric, title,
        signature (string), value (Float64), empty (boolean), reason, detail (string).

        ``value`` is NA where there is no score, and ``reason`` says why; ``empty`` marks values that are a convention
        for an empty denominator. ``judge`` is NA for metrics without a judge. Reports take means over cases, so with
        several epochs first average those of a case: ``groupby(["setting", "metric", "case"])``.

        Args:
            judge: also the metrics that rest on this judge's judgements.

        Raises:
            RunError: the run has no judge of this name.
        """
        from judge.exports.tables import SCORES

        return self._frame(SCORES, judge)

    def units(self) -> pd.DataFrame:
        """One row for each unit: a case in a setting in an epoch.

        Columns: run, benchmark, model, setting, case (string), epoch (Int64), cluster, status, detail (string), flags
        (object: list of texts), transcript (object: dictionary, None where the unit has not been played).
        """
        from judge.exports.tables import UNITS

        return self._frame(UNITS)

    def judgements(self, judge: str) -> pd.DataFrame:
        """One row for each label that a judge gave, and one for each kind of label that is missing in a unit.

        Columns: run, benchmark, model, setting, case (string), epoch (Int64), judge, kind (string), item (Int64, from
        0), text (string), label (object: text or truth value), rationale (string), path (object: list of dictionaries),
        reason, detail (string).

        Where labels of a kind are missing, some or all, item is NA, label None, and ``reason`` says why. Units that the
        judge has not judged have no row.

        Raises:
            RunError: the run has no judge of this name.
        """
        from judge.exports.tables import JUDGEMENTS

        return self._frame(JUDGEMENTS, judge)

    def cases(self) -> pd.DataFrame:
        """One row for each case.

        Columns: run, benchmark, model, case, cluster (string), record (object: dictionary).
        """
        from judge.exports.tables import CASES

        return self._frame(CASES)

    def exchanges(self) -> pd.DataFrame:
        """One row for each request that was sent, all attempts, in the order in which they were stored.

        Columns: run, benchmark, model, setting, case (string), epoch (Int64), role, asked_model, endpoint, address
        (string), attempt, status (Int64), error (string), tries (Int64), seconds (Float64), source (string),
        prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens (Int64), body (object: dictionary), response
        (string).

        ``status`` is the HTTP status, 0 without a response. Calls that find out what a judge supports belong to no
        case; their setting and case are ``-``. Tokens are NA where the server did not report them.
        """
        from judge.exports.tables import EXCHANGES

        return self._frame(EXCHANGES)

    def _frame(self, table: Table, judge: str | None = None) -> pd.DataFrame:
        from judge.exports.tables import frame_of

        with self._source(judge) as source:
            return frame_of(table, source)

    @contextlib.contextmanager
    def _source(self, judge: str | None = None) -> Iterator[Source]:
        from judge.exports.source import Source
        from judge.runs.store import open_run

        store = open_run(self.folder, write=False)
        try:
            yield Source(store, () if judge is None else (judge,))
        finally:
            store.close()


def load_run(path: Place) -> Run:
    """The run in a folder.

    Raises:
        RunError: the folder holds no run, or one of a newer version or of a benchmark that is not installed.
    """
    run = Run(Path(path))
    with run._source():
        return run


def evaluate(
    benchmark: str,
    model: str | None = None,
    data: Place | None = None,
    out: Place | None = None,
    *,
    progress: bool = False,
    **options: Any,
) -> Run:
    """Run a benchmark on a model, as ``medjudge run BENCHMARK`` does, and wait for it; works in a notebook, too.

    Args:
        model: SPEC of the doctor, e.g. ``http://127.0.0.1:8000/v1#name`` or ``replay:FILE``.
        data: folder that holds the benchmark's data.
        out: folder for the run; None for a new one below ``runs``.
        progress: show it on standard error.
        options: every other option of the command by its name, with ``_`` for ``-``: ``context=["none", "full"]``,
            ``limit=10``, ``temperature=0``, ``extra_body={...}``, ``judge="http://…"``. ``resume=RUN_DIR`` continues a
            run without paying for anything twice, and ``retry=["errors"]`` with it asks again what failed.

    Returns:
        The run, played to its end. Units may be unscored, see `Run.units`; ``run.report()["error_units"]`` counts those
        that errors left so.

    Raises:
        UserError: something given cannot be used; nothing was written.
        EndpointError, ReplayError: the model cannot be asked. What was answered before is stored, and the notes of the
            exception say where.
        Interrupted: Ctrl-C; what is stored stays.
    """
    values = {"model": model, "data": data, "out": out, **options}
    return _waiting(lambda watching: _evaluate(benchmark, values, watching), progress=progress)


def rejudge(run_dir: Place, judge: str, *, progress: bool = False, **options: Any) -> Run:
    """Judge a run's stored transcripts, or go on doing so, as ``medjudge judge RUN_DIR`` does; adds, never overwrites.

    Args:
        judge: SPEC of the judge, or ``replay:FILE``.
        progress: show it on standard error.
        options: every other option of the command by its name: ``judge_name="mine"``, ``judge_protocol="batched"``,
            ``only=["accuracy"]``, ``retry=["errors"]``, …

    Returns:
        The run; its `Run.judges` name the judge.

    Raises:
        UserError, EndpointError, ReplayError, Interrupted: as `evaluate`.
    """
    only = options.get("only")
    if only is not None and not isinstance(only, str):
        options["only"] = ",".join(only)
    values = {"judge": judge, **options}
    return _waiting(lambda watching: _rejudge(Path(run_dir), values, watching), progress=progress)


# -- the commands' own ways ------------------------------------------------------------------------------------------


def _evaluate(name: str, values: Mapping[str, Any], watching: Watching) -> Run:
    """All in the thread of the event loop: what was parsed is known in that thread only."""
    import click

    from judge.benchmark import registry
    from judge.cli.run import run_group

    benchmark = registry().get(name)
    command = run_group.get_command(click.Context(run_group), name)
    if benchmark is None or command is None:
        raise SpecError(f"there is no benchmark {name!r}; there are: {', '.join(registry())}")
    with _parsed(command, values) as parsed:
        if parsed["retry"] and parsed["resume"] is None:
            raise SpecError("retry goes with resume=RUN_DIR")
        if parsed["resume"] is not None and parsed["out"] is not None:
            raise SpecError("out names a new run; resume continues one; give only one of them")
        return Run(asyncio.run(_played(benchmark, parsed, watching)))


async def _played(benchmark: Benchmark, values: dict[str, Any], watching: Watching) -> Path:
    """What `judge.cli.run` does, without printing."""
    from judge.cli.explanations import compare_explanations
    from judge.cli.run import request_of, with_explanations, with_judge
    from judge.runs.judging import judge_run
    from judge.runs.launch import run_new, run_resumed

    request, judging = await with_judge(benchmark, request_of(benchmark, values), values)
    request, comparing = with_explanations(benchmark, request, values)
    resume, watcher = values["resume"], watching.watcher()
    job = run_new(request, watcher) if resume is None else run_resumed(resume, request, values["retry"], watcher)
    finished = await job
    watching.check(finished.folder, finished.ending)
    if finished.report["state"] == "complete":
        compare_explanations(finished.folder, comparing, finished.report)
        if judging is not None:
            _check(await judge_run(finished.folder, judging, (), watching.watcher()), watching)
    return finished.folder


def _rejudge(run_dir: Path, values: Mapping[str, Any], watching: Watching) -> Run:
    from judge.cli.judging import judge_command, judge_request
    from judge.runs.judging import judge_run

    with _parsed(judge_command, values, str(run_dir)) as parsed:
        only = tuple(part.strip() for part in (parsed["only"] or "").split(",") if part.strip())
        request = judge_request(parsed, only=only)
        assert request is not None, "the option is required"
        judged = asyncio.run(judge_run(run_dir, request, parsed["retry"], watching.watcher()))
    _check(judged, watching)
    return Run(judged.folder)


def _check(judged: Judged, watching: Watching) -> None:
    watching.check(judged.folder, judged.ending)
    if judged.faults:
        raise MedjudgeError(f"{len(judged.faults)} units could not be judged, the first is {judged.faults[0]}")


@contextlib.contextmanager
def _parsed(command: click.Command, values: Mapping[str, Any], *positional: str) -> Iterator[dict[str, Any]]:
    """The command's values as if it had been called with these options, so that both mean and refuse the same.

    Raises:
        SpecError: an option is unknown or missing, or has a value that it cannot have.
    """
    import click

    arguments = [*_arguments(command, values), *(("--", *positional) if positional else ())]
    try:
        context = command.make_context(command.name, arguments)
    except click.ClickException as error:
        raise SpecError(error.format_message()) from None
    with context:
        yield context.params


def _arguments(command: click.Command, values: Mapping[str, Any]) -> Iterator[str]:
    options = {_name(flag): (flag, param) for param in command.params for flag in param.opts if flag.startswith("--")}
    known = [name for name, (_, param) in options.items() if param.name not in NOT_HERE]
    for name, value in values.items():
        if name not in known:
            raise SpecError(f"{command.name} has no option {name!r}; there are: {', '.join(known)}")
        flag, param = options[name]
        many = isinstance(value, Sequence | Set) and not isinstance(value, str)
        if many and not getattr(param, "multiple", False):
            raise SpecError(f"the option {name!r} of {command.name} takes one value")
        yield from _argument(flag, value if many else [value])


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _argument(flag: str, values: Any) -> Iterator[str]:
    for value in values:
        if value is not None:
            yield f"{flag}={json.dumps(value) if isinstance(value, Mapping) else value}"


# -- waiting for a run -----------------------------------------------------------------------------------------------


class Watching:
    """A `judge.runs.launch.Watcher` through which the thread that waits for a run can stop it.

    Args:
        progress: also show what is done.
    """

    def __init__(self, *, progress: bool) -> None:
        self._progress = progress
        self._shown: Watcher | None = None
        self._door: Door | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    def watcher(self) -> Watcher:
        """For the next piece of work."""
        from judge.runs.launch import Watcher
        from judge.runs.progress import watcher_for

        self._shown = watcher_for(sys.stderr) if self._progress else Watcher()
        return cast("Watcher", self)

    def begin(self, total: int, done: int, door: Door, scored: Set[str]) -> None:
        assert self._shown is not None
        self._door, self._loop = door, asyncio.get_running_loop()
        if self._stopped:
            door.stop()
        self._shown.begin(total, done, door, scored)

    def finished(self, unit: Unit, status: str) -> None:
        assert self._shown is not None
        self._shown.finished(unit, status)

    def end(self) -> None:
        assert self._shown is not None
        self._shown.end()

    def stop(self) -> None:
        """From another thread: send nothing more, and keep what is under way."""
        self._stopped = True
        if self._loop is not None and self._door is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._door.stop)

    def check(self, folder: Path, ending: Ending) -> None:
        """Make sure that the work was done to its end.

        Raises:
            MedjudgeError: what ended it early; its notes say where that is stored which was done.
        """
        if ending.error is not None:
            ending.error.add_note(f"what was answered before is stored in {folder}")
            raise ending.error
        if ending.interrupted or self._stopped:
            raise Interrupted(f"{folder} is not finished; what was answered before is stored there")


def _waiting(work: Callable[[Watching], T], *, progress: bool) -> T:
    """Do the work here, or, where an event loop is running as in a notebook, in a thread that is waited for."""
    watching = Watching(progress=progress)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work(watching)
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work, watching)
        try:
            return future.result()
        except KeyboardInterrupt:
            watching.stop()
            future.result()
            raise
