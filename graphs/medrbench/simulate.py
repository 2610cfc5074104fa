"""medjudge simulate medrbench: sessions with a person are begun, taken up again, and end as runs.

Must stay light: what needs langgraph is imported when a session begins.
"""

from __future__ import annotations

import contextlib
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphs.medrbench import options as _options
from graphs.medrbench.options import RECORDS
from judge.benchmark import Benchmark, Case, Loaded, Option, Unit
from judge.errors import MedjudgeError, RunError, SpecError
from judge.prompting import Prompts, load_prompts
from judge.seats import Wanted

if TYPE_CHECKING:
    import asyncio

    from graphs.medrbench.state import Context
    from judge.models.chat import ChatModel
    from judge.seats.models import Seat
    from judge.seats.saved import Exchanges, Saved
    from judge.seats.terminal import Terminal

PERSON = "human"
#: What stands in a role that no model has.
NO_MODEL = {"doctor": PERSON, "examiner": RECORDS}
_SHOWN = ("examiner", "max-turns", "on-loop", "final-turn")


def _of_session(option: Option) -> Option:
    """An option of a run as one of a session, which has one setting and needs no second model."""
    if option.name == "setting":
        about = "in one_turn there is one round of examinations, in free_turn one a turn"
        settings = tuple(name for name in option.choices if name in _options.EXAMINING)
        return replace(option, help=about, choices=settings, multiple=False, default="free_turn", required=False)
    return replace(option, default=RECORDS) if option.name == "examiner" else option


class ExaminationSimulator:
    """A `judge.seats.Simulator`."""

    options = tuple(_of_session(option) for option in _options.OPTIONS if option.name in ("setting", *_SHOWN))

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def play(self, wanted: Wanted, terminal: Terminal) -> int:
        from judge.seats.saved import locked, open_session

        if wanted.resume is None:
            plan = self._planned(_head(wanted), wanted.data)
            return _sit(self._benchmark, plan, None, wanted.root, terminal)
        saved = open_session(wanted.root, wanted.resume)
        with locked(saved):
            _check_same(saved, wanted)
            plan = self._planned(saved.head, wanted.data)
            return _sit(self._benchmark, plan, saved, wanted.root, terminal)

    def _planned(self, head: Mapping[str, Any], data: Path | None) -> Plan:
        from judge.seats.models import seat_of

        options = {**head["options"], "setting": [head["options"]["setting"]]}
        rules = _options.rules_of(head["options"]["setting"], options)  # bad options before the data are read
        data = data or Path(head["data"])
        specs = {"doctor": head["doctor"], "examiner": options["examiner"]}
        seats = {role: seat_of(role, text) for role, text in specs.items() if text != NO_MODEL[role]}
        prompts = load_prompts(self._benchmark.name, _options.prompt_names(options))
        loaded = self._benchmark.load(data, options)
        case = next((case for case in loaded.cases if case.id == head["case"]), None)
        if case is None:
            raise SpecError(f"--case {head['case']}: {data} has no case of that id")
        if "no_ancillary_tests" in case.record["flags"]:
            raise SpecError(f"--case {case.id}: its summary has no tests that could be asked for; take another case")
        facts = {"data": str(data.absolute()), "data_hash": loaded.data_hash, "prompts": prompts.hashes()}
        for name in ("data_hash", "prompts"):
            if head.get(name, facts[name]) != facts[name]:
                what = "data are" if name == "data_hash" else "prompts are"
                raise RunError(f"the session cannot be continued: the {what} not those it was begun with")
        texts = NO_MODEL | {role: seat.text for role, seat in seats.items()}
        settled = {"doctor": texts["doctor"], "options": {**head["options"], "examiner": texts["examiner"]}}
        return Plan({**head, **facts, **settled}, options, rules, seats, prompts, loaded, case)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a session needs, checked.

    Attributes:
        head: what is saved of it.
        options: as a run has them.
        seats: the models by role; none for the person or for the record as the examiner.
    """

    head: dict[str, Any]
    options: dict[str, Any]
    rules: Any
    seats: Mapping[str, Seat]
    prompts: Prompts
    loaded: Loaded
    case: Case

    @property
    def unit(self) -> Unit:
        return Unit("medrbench", self.head["options"]["setting"], self.case.id, 1)


def _head(wanted: Wanted) -> dict[str, Any]:
    if wanted.doctor == PERSON:
        raise SpecError(f"--doctor {PERSON}: leave out --doctor and --step, and a person is the doctor")
    return {
        "benchmark": "medrbench",
        "case": wanted.case,
        "data": str(wanted.data),
        "doctor": wanted.doctor or PERSON,
        "options": dict(wanted.options),
        "nonce": secrets.token_hex(16),
    }


def _check_same(saved: Saved, wanted: Wanted) -> None:
    """What is given again must be what the session has; the data may lie elsewhere.

    Raises:
        RunError: it is not.
    """
    head = saved.head
    if not isinstance(head.get("options"), dict) or head.get("benchmark") != "medrbench":
        raise RunError(f"{saved.folder} is no session of medrbench")
    theirs = {"case": head.get("case"), "doctor": head.get("doctor"), **head["options"]}
    mine = {"case": wanted.case, "doctor": wanted.doctor, **wanted.options}
    for name in sorted(wanted.given - {"data"}):
        if mine[name] != theirs.get(name):
            raise RunError(f"{saved.folder}: {name} is {theirs.get(name)!r} in the session, {mine[name]!r} here")


# -- a session ---------------------------------------------------------------------------------------------------------


def _sit(benchmark: Benchmark, plan: Plan, saved: Saved | None, root: Path, terminal: Terminal) -> int:
    """Play a session until it ends or is left; the exit code."""
    import asyncio

    from judge.seats.models import check_seats
    from judge.seats.saved import locked, new_session

    with asyncio.Runner() as runner, contextlib.ExitStack() as stack:
        if saved is None:
            for note in runner.run(check_seats(plan.seats)):
                terminal.say(f"Note: {note}.", "yellow")
            saved = new_session(root, plan.case.id, plan.head)
            stack.enter_context(locked(saved))
        try:
            return _examine(benchmark, plan, saved, root, runner, terminal)
        except KeyboardInterrupt:
            _say_saved(saved, root, terminal)
            return 130
        except MedjudgeError:
            _say_saved(saved, root, terminal)
            raise


def _examine(
    benchmark: Benchmark, plan: Plan, saved: Saved, root: Path, runner: asyncio.Runner, terminal: Terminal
) -> int:
    from graphs.medrbench.simulate_chair import ChairView, Leave, show_end
    from graphs.medrbench.simulate_end import write_run
    from graphs.medrbench.simulate_session import Examination
    from judge.seats.saved import Exchanges

    follows = "doctor" in plan.seats
    exchanges = Exchanges(saved)
    with _models(plan, exchanges, runner) as models:
        examination = Examination(plan.case.record, _context(plan, models), saved, runner)
        examination.begin("model" if follows else "person")
        view = ChairView(terminal, examination, saved, follows=follows)
        try:
            view.run()
        except (Leave, KeyboardInterrupt) as left:
            saved.draft = view.draft
            saved.write()
            _say_saved(saved, root, terminal)
            return 0 if isinstance(left, Leave) else 130
        transcript = examination.transcript()
        show_end(terminal, plan.case.record, transcript, transcript.status in benchmark.scored_statuses)
        folder = write_run(benchmark, plan, saved, exchanges, transcript, runner)
    terminal.say(f"Run: {folder}\nNext: medjudge show {shlex.quote(str(folder))} {plan.case.id}", "dim", wrap=False)
    return 0


@contextlib.contextmanager
def _models(plan: Plan, exchanges: Exchanges, runner: asyncio.Runner) -> Iterator[dict[str, ChatModel]]:
    """The models, opened and closed in the runner's loop."""
    from judge.seats.models import open_seats

    opened = open_seats(plan.seats, exchanges)
    models = runner.run(_entered(opened))
    try:
        yield models
    finally:
        runner.run(_left(opened))


async def _entered(opened: contextlib.AbstractAsyncContextManager[dict[str, ChatModel]]) -> dict[str, ChatModel]:
    return await opened.__aenter__()


async def _left(opened: contextlib.AbstractAsyncContextManager[dict[str, ChatModel]]) -> None:
    await opened.__aexit__(None, None, None)


def _context(plan: Plan, models: Mapping[str, ChatModel]) -> Context:
    from graphs.medrbench.play import examiner_of
    from graphs.medrbench.state import Context
    from judge.seats.models import Nobody

    doctor = models.get("doctor") or Nobody()
    return Context(plan.unit, doctor, examiner_of(models, plan.prompts), plan.prompts, plan.rules)


def _say_saved(saved: Saved, root: Path, terminal: Terminal) -> None:
    from judge.seats.saved import FOLDER

    out = "" if root == Path() else f" --out {shlex.quote(str(root))}"
    here = saved.folder == root / FOLDER / saved.id
    again = f"{out} --resume {saved.id}" if here else f" --resume {shlex.quote(str(saved.folder))}"
    terminal.say(f"\nSaved as {saved.id}. Continue with: medjudge simulate medrbench{again}", "bold", wrap=False)
