"""medjudge's framework: models, replies, judge chains, metrics, statistics, runs and reports.

It knows no benchmark; those live in the package `graphs` or in plugins. From Python, runs are made, judged and read
with `evaluate`, `rejudge` and `load_run`, see `judge.api`; they are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.api import Run, evaluate, load_run, rejudge

__all__ = ["DISTRIBUTION", "Run", "evaluate", "load_run", "rejudge"]

DISTRIBUTION = "medjudge"


def __getattr__(name: str) -> Any:
    if name in ("Run", "evaluate", "load_run", "rejudge"):
        from judge import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
