"""Exporting a run into a folder: written beside it first, so that an export is whole or not there."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from judge.errors import SpecError, UserError
from judge.exports.inspect_log import write_inspect
from judge.exports.source import Source
from judge.exports.tables import TABLES
from judge.exports.writers import json_line, write_csv, write_jsonl, write_parquet
from judge.runs.store import open_run

FORMAT = 1

#: What every export has: one line that says what run this is, under which settings, and what its metrics are.
HEADER = "run.jsonl"

Write = Callable[[Source, Path], list[str]]

FORMATS: Mapping[str, Write] = {
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "csv": write_csv,
    "inspect": write_inspect,
}
"""Format -> what writes its files into a folder and gives their names."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An export.

    Attributes:
        files: names in the folder.
        state: of the run: ``complete`` or ``incomplete``.
        judges: whose judgements are in it.
        units, scores: how many of each are in it.
    """

    folder: Path
    files: tuple[str, ...]
    state: str
    judges: tuple[str, ...]
    units: int
    scores: int


def export_run(
    folder: Path,
    to: str,
    out: Path | None = None,
    judges: Sequence[str] | None = None,
    *,
    force: bool = False,
    bom: bool = False,
) -> Exported:
    """Write a run in another format; the run stays as it is.

    Args:
        to: one of `FORMATS`.
        out: folder to make; None for ``exports/<format>`` in the run's folder.
        judges: whose judgements and scores; None for every judge of the run, empty for none.
        force: replace an earlier export in `out`; what is no export is never replaced.
        bom: begin CSV files with a byte order mark, by which Excel recognises UTF-8.

    Raises:
        UserError: no run, no such judge or format, a library is missing, or `out` cannot be written.
    """
    write = _writer(to, bom=bom)
    target = out if out is not None else folder / "exports" / to
    store = open_run(folder, write=False)
    try:
        source = Source(store, tuple(store.judging.judges()) if judges is None else judges)
        old = _replaceable(target, force=force)
        files = _written(source, to, write, target, old)
        return Exported(
            target, files, source.reports[None]["state"], source.judges, len(source.units), len(source.scores)
        )
    finally:
        store.close()


def _writer(to: str, *, bom: bool) -> Write:
    if to not in FORMATS:
        raise SpecError(f"--to {to}: there is no such format; there are: {', '.join(FORMATS)}")
    if bom and to != "csv":
        raise SpecError("--bom goes with --to csv")
    return partial(write_csv, bom=bom) if to == "csv" else FORMATS[to]


def _replaceable(target: Path, *, force: bool) -> list[Path]:
    """The files of an earlier export that are to be replaced.

    Raises:
        UserError: something is there that must stay.
    """
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return []
    if not target.is_dir():
        raise UserError(f"{target} is a file; name a folder after --out")
    if not force:
        raise UserError(f"{target} is there already; name another folder after --out, or replace it with --force")
    try:
        header = json.loads((target / HEADER).read_text(encoding="utf-8"))
        names = [str(name) for name in header["files"]] if header["medjudge_export"] else []
    except (OSError, ValueError, TypeError, KeyError):
        raise UserError(f"{target} is no export of medjudge, so it stays; name another folder after --out") from None
    return [path for name in names if (path := target / Path(name).name).is_file()]


def _written(source: Source, to: str, write: Write, target: Path, old: Sequence[Path]) -> tuple[str, ...]:
    part = target.with_name(f".{target.name}.part-{os.getpid()}")
    try:
        part.mkdir(parents=True)
        names = (HEADER, *write(source, part))
        (part / HEADER).write_text(json_line(_header(source, to, names)), encoding="utf-8", newline="\n")
        _move(part, names, target, old)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return names


def _move(part: Path, names: Sequence[str], target: Path, old: Sequence[Path]) -> None:
    target.mkdir(exist_ok=True)
    for name in reversed(names):  # the header last: a folder with a header holds all that it names
        (part / name).replace(target / name)
    for path in old:
        if path.name not in names:
            path.unlink()


def _header(source: Source, to: str, files: Sequence[str]) -> dict[str, Any]:
    """What the run is, in JSON types: everything that a number needs beside it."""
    report = source.reports[None]
    return {
        "type": "run",
        "medjudge_export": FORMAT,
        "medjudge": importlib.metadata.version("medjudge"),
        "format": to,
        "files": list(files),
        "tables": {table.name: dict(table.columns) for table in TABLES},
        "run": source.name,
        "benchmark": source.benchmark.name,
        "state": report["state"],
        "statuses": report["statuses"],
        "spec": source.settings(),
        "facts": source.facts(),
        "judges": source.judge_facts(),
        "metrics": _metrics(source),
        "warnings": source.warnings(),
    }


def _metrics(source: Source) -> list[dict[str, Any]]:
    return [
        {
            "setting": setting,
            "judge": judge,
            "metric": metric.name,
            "title": metric.title,
            "signature": metric.signature,
            "source": metric.source,
            "range": list(metric.range) if metric.range else None,
        }
        for setting in source.spec.settings
        for judge, metric in source.metrics(setting)
    ]
