"""What numbers made from several runs rest on, read from the runs: data, models, settings, judges, software."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.report.served import served_models
from judge.runs.store import RunStore, benchmark_of, open_run


def provenance(folders: Sequence[Path], judges: Iterable[str] | None = None) -> dict[str, Any]:
    """The benchmark, and for each run its settings, what its servers called themselves, and who judged it.

    Args:
        judges: names as the runs have them, or as `judge.sensitivity` shows them; None for all.

    Returns:
        ``{"benchmark": {...}, "runs": [{"folder", "spec", "facts", "served", "judges": {name: facts}}, ...]}`` in JSON
        types; ``units`` of a judge are those that it judged.

    Raises:
        RunError: a folder is no run.
    """
    wanted = None if judges is None else frozenset(judges)
    runs, benchmark = [], {}
    for folder in folders:
        store = open_run(folder, write=False)
        try:
            own = benchmark_of(store)
            benchmark = {key: getattr(own, key) for key in ("name", "title", "about", "licence")}
            runs.append(_run(store, wanted))
        finally:
            store.close()
    return {"benchmark": benchmark, "runs": runs}


def _run(store: RunStore, wanted: frozenset[str] | None) -> dict[str, Any]:
    known: Mapping[str, Mapping[str, Any]] = store.judging.judges()
    chosen = [name for name in known if wanted is None or any(shown_as(name, shown) for shown in wanted)]
    others = {f"judge:{name}" for name in known if name not in chosen}
    return {
        "folder": str(store.folder),
        "spec": store.spec().model_dump(mode="json"),
        "facts": json.loads(store.meta("facts") or "{}"),
        "served": [row for row in served_models(store) if row["role"] not in others],
        "judges": {name: {"name": name, **known[name], "units": len(store.judging.judged(name))} for name in chosen},
    }


def shown_as(name: str, shown: str) -> bool:
    """Whether a judge is shown so: by its name, with the folder in brackets where others have its name too."""
    return shown == name or shown.startswith(f"{name} (")
