"""The settings of MedR-Bench and how an examination is run in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphs.medrbench.files import CaseKind
from graphs.medrbench.policy import Rules
from judge.benchmark import Option
from judge.errors import SpecError

#: Word that stands for the examiner without a model.
RECORDS = "records"

SETTINGS = ("oracle", "one_turn", "free_turn", "treatment")

#: Option, and role, of the model that may tell repeated requests from new ones.
LOOP_JUDGE = "loop-judge"

#: Settings in which the doctor does not see the tests and may ask for them.
EXAMINING = frozenset({"one_turn", "free_turn"})

OPTIONS = (
    Option(
        "setting",
        "oracle and treatment show everything; in one_turn and free_turn the doctor asks for examinations; repeatable",
        choices=SETTINGS,
        multiple=True,
        required=True,
        setting=True,
    ),
    Option("examiner", f"who answers requests: a model SPEC, or {RECORDS!r} for the record itself without a model"),
    Option("max-turns", "turns of the doctor in free_turn", default=5, kind="int", run_only=True),
    Option(
        "on-loop",
        "when all requests of a turn repeat earlier ones: only record it, nudge the doctor, or stop",
        choices=("record", "nudge", "stop"),
        default="record",
        run_only=True,
    ),
    Option(
        "loop-check",
        "who tells repeated requests from new ones: names (deterministic, no model) or judge (a model)",
        choices=("names", "judge"),
        default="names",
        run_only=True,
    ),
    Option(LOOP_JUDGE, "with --loop-check judge: the model SPEC that is asked"),
    Option(
        "final-turn",
        "warn the doctor before its last turn, ask for a conclusion after it, or neither",
        choices=("warn", "ask", "none"),
        default="warn",
        run_only=True,
    ),
)


def settings_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings of a run, in the order in which they were named.

    Raises:
        SpecError: one does not exist, or treatment is to be run with others: its cases are not the same.
    """
    settings = tuple(dict.fromkeys(options["setting"]))
    if unknown := [setting for setting in settings if setting not in SETTINGS]:
        raise SpecError(f"--setting {unknown[0]} is not known; choose one of {', '.join(SETTINGS)}")
    if "treatment" in settings and len(settings) > 1:
        raise SpecError("--setting treatment has cases of its own; run it apart from the others")
    return settings


def kind_of(options: Mapping[str, Any]) -> CaseKind:
    """Which file of cases a run needs."""
    return "treatment" if settings_of(options) == ("treatment",) else "diagnosis"


def rules_of(setting: str, options: Mapping[str, Any]) -> Rules:
    """How an examination runs in a setting.

    Raises:
        SpecError: fewer than one turn.
    """
    turns = int(options["max-turns"])
    if turns < 1:
        raise SpecError(f"--max-turns {turns}: there must be at least one")
    if setting not in EXAMINING:
        return Rules(examines=False, max_turns=1, on_loop="record", final_turn="none")
    if setting == "one_turn":
        # its second turn is asked to conclude by the prompt that brings the results, whatever the policy
        return Rules(examines=True, max_turns=2, on_loop="record", final_turn="conclude")
    return Rules(examines=True, max_turns=turns, on_loop=options["on-loop"], final_turn=options["final-turn"])


def policies_of(setting: str, options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """What moves results by itself and so belongs in every signature; empty where nothing is asked for."""
    if setting not in EXAMINING or "examiner" not in options:
        return ()
    rules = rules_of(setting, options)
    return (
        ("turns", str(rules.max_turns)),
        ("on-loop", rules.on_loop),
        ("final-turn", rules.final_turn),
        ("examiner", RECORDS if options["examiner"] == RECORDS else "model"),
        *([("loop-check", "judge")] if loops_judged(options) else []),
    )


def loops_judged(options: Mapping[str, Any]) -> bool:
    """Whether a model tells repeated requests from new ones."""
    return bool(options.get("loop-check", "names") == "judge")


def roles_of(options: Mapping[str, Any]) -> dict[str, str | None]:
    """The models needed besides the doctor: role -> SPEC, or None where none is named.

    Raises:
        SpecError: a judge is named for whom there is nothing to judge.
    """
    roles: dict[str, str | None] = {}
    if set(settings_of(options)) & EXAMINING:
        if options["examiner"] != RECORDS:
            roles["examiner"] = options["examiner"]
        if loops_judged(options):
            roles[LOOP_JUDGE] = options[LOOP_JUDGE]
    if options.get(LOOP_JUDGE) and LOOP_JUDGE not in roles:
        raise SpecError(f"--{LOOP_JUDGE} goes with --loop-check judge, in a setting with examinations")
    return roles


def prompt_names(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The prompts that a run may use."""
    settings = settings_of(options)
    names = [f"doctor.{setting}.v1" for setting in settings]
    if set(settings) & EXAMINING:
        names.append("reask.v1")
        if options["examiner"] != RECORDS:
            names.append("examiner.v1")
        if loops_judged(options):
            names.append("loop_check.v1")
    if set(settings) - EXAMINING:
        names.append("reask.answer.v1")
    if "one_turn" in settings:
        names.append("conclude.one_turn.v1")
    if "free_turn" in settings:
        names += ["results.v1", *_of_policies(options)]
    return tuple(names)


def _of_policies(options: Mapping[str, Any]) -> list[str]:
    extra = {"warn": ["results.last.v1"], "ask": ["conclude.v1"], "none": []}[options["final-turn"]]
    return [*extra, *(["nudge.v1"] if options["on-loop"] == "nudge" else [])]
