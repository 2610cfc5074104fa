"""Reads judgements made elsewhere: the published judged layout, several judges' accuracy, people's labels as CSV.

Four forms are read (the fields of the first two are those of the published files):

- JSON Lines, one record a line: ``{case_id, model, judge, steps: [{step, efficiency, factulity, judgment_path}],
  gt_steps: [{step, hit}], efficiency, factulity, recall}``. The last three are the judge's own metric values; they
  may be absent, as may ``judgment_path``. ``factulity`` is how the key is spelled; ``factuality`` is read too, and
  ``completeness`` for ``recall``.
- JSON Lines with accuracy: ``{case_id, model, prediction, labels: {judge: true or false}}``.
- A folder of ``<case id>.json`` files, each with one such record.
- CSV with the columns ``case_id, kind, item, label`` and, if wanted, ``text`` and ``rationale``; items count from 0.

Whatever is wrong with a file ends in one `DataError` that names file, line, case and field; no label is guessed. The
only thing that may be absent is a verdict that its judge does not have, written as null: of factuality, or accuracy.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from graphs.medrbench.files import Record, json_object
from judge.datafiles import DataFile, combined_hash, decode, type_name
from judge.errors import DataError
from judge.judgements import CaseLabels, Judgement, Label, Labels
from judge.metrics.reasoning import (
    COMPLETENESS,
    EFFECTIVENESS,
    EFFICIENCY,
    FACTUALITY,
    Effectiveness,
    read_effectiveness,
)

#: Kinds of judgement that label files can hold.
KINDS = ("effectiveness", "factuality", "match", "accuracy")

COLUMNS = ("case_id", "kind", "item", "label")
OPTIONAL_COLUMNS = ("text", "rationale")

_FORMS = "labels are JSON Lines, a folder of <case id>.json files, or a .csv file"
_REMEDY = "correct it there"
_TRUE = frozenset({"true", "yes", "correct", "1"})
_FALSE = frozenset({"false", "no", "wrong", "incorrect", "0"})
#: Our name of a metric -> the names under which a record may hold the judge's own value.
_STORED: Mapping[str, tuple[str, ...]] = {
    EFFICIENCY.name: ("efficiency",),
    FACTUALITY.name: ("factulity", "factuality"),
    COMPLETENESS.name: ("recall", "completeness"),
}


def read_labels(path: Path, judge: str | None = None, model: str | None = None) -> Labels:
    """Read and check one judge's labels in any of the forms that this module describes.

    Args:
        path: a folder, a ``.csv`` file, or a file of JSON Lines.
        judge: whose labels; must be given where the file has several judges.
        model: of whose outputs; must be given where the file has several models' outputs for a case.

    Raises:
        DataError: the file cannot be read, is malformed, holds no labels or not those asked for, or has more than one
            record of a case by the judge.
    """
    found, sha256 = _read(Path(path))
    if not found:
        raise DataError(f"{path}: holds no labels; {_FORMS}")
    judges = _names(labels.judge for _, labels in found)
    models = _names(labels.model for _, labels in found)
    if judge is None and len(judges) > 1:
        raise DataError(f"{path}: holds labels by {len(judges)} judges, name one of them: {', '.join(judges)}")
    found = _of(path, "judge", judge, judges, found)
    found = _of(path, "model", model, models, found)
    _check_unique(path, found)
    return Labels(tuple(labels for _, labels in found), judges, models, sha256)


_Placed = tuple[str, CaseLabels]
"""Where a record is from, as errors say it, and the record."""


def _read(path: Path) -> tuple[list[_Placed], str]:
    if path.is_dir():
        return _read_folder(path)
    content = _bytes(path)
    read = _read_csv if path.suffix.lower() == ".csv" else _read_lines
    return list(read(path, decode(content, path))), hashlib.sha256(content).hexdigest()


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _of(path: Path, what: str, name: str | None, there: Sequence[str], found: list[_Placed]) -> list[_Placed]:
    """The records whose judge, or model, has the name; all of them without one."""
    if name is None:
        return found
    kept = [(place, labels) for place, labels in found if getattr(labels, what) == name]
    if not kept:
        names = ", ".join(there) or "none"
        raise DataError(f"{path}: has no labels with {what} {name!r}; the {what}s that it names are: {names}")
    return kept


def _check_unique(path: Path, found: Iterable[_Placed]) -> None:
    first: dict[str, _Placed] = {}
    for place, labels in found:
        before, other = first.setdefault(labels.case_id, (place, labels))
        if other is labels:
            continue
        remedy = "keep one of them"
        if other.model != labels.model:
            remedy = f"the outputs are of {other.model} and {labels.model}, name one of these models"
        by = f"judge {labels.judge}" if labels.judge else "the same judge"
        raise DataError(f"{path}: {place}: case {labels.case_id}: labelled by {by} already, {before}; {remedy}")


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror or error}); check the name and its rights") from error


# --- JSON ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row(Record):
    """An object in a label file; errors name its place too."""

    place: str = ""

    def fail(self, problem: str, remedy: str = _REMEDY) -> NoReturn:
        place = f"{self.place}: " if self.place else ""
        raise DataError(f"{self.file}: {place}case {self.case_id or '(no id)'}: {problem}; {remedy}")

    def get(self, name: str) -> Any:
        """A field of any type that must be there."""
        return self._get(name, object)

    def objects(self, name: str) -> Iterator[_Row]:
        """The objects of a field that holds a list of them."""
        for index, raw in enumerate(self._get(name, list)):
            path = f"{self.path}{name}[{index}]"
            if not isinstance(raw, dict):
                self.fail(f"{path!r} must be an object, found {type_name(raw)}")
            row = _Row(raw, self.file, self.case_id, f"{path}.", self.place)
            row.check_names()
            yield row

    def evidence(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The objects of a field that may be absent, as they are."""
        found = tuple(dict(entry.raw) for entry in self.objects(name)) if name in self.raw else ()
        self._check_unicode(name, json.dumps(found, ensure_ascii=False))
        return found

    def one_of(self, names: Sequence[str]) -> str | None:
        """Which of several spellings is used; None if none is."""
        used = [name for name in names if name in self.raw]
        if len(used) > 1:
            self.fail(f"the fields {self.path + used[0]!r} and {used[1]!r} are one and the same; keep one")
        return used[0] if used else None

    def truth(self, name: str) -> bool | None:
        """A field that is true, false or null; a text that says so will do."""
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return value
        if not isinstance(value, str):
            self.fail(f"the field {self.path + name!r} must be true or false, found {type_name(value)}")
        try:
            return _truth(value)
        except ValueError as error:
            self._unknown(name, error)

    def effectiveness(self, name: str) -> Effectiveness:
        """A field that holds one of the labels of effectiveness."""
        try:
            return read_effectiveness(self.text(name))
        except ValueError as error:
            self._unknown(name, error)

    def _unknown(self, name: str, error: ValueError) -> NoReturn:
        self.fail(f"the field {self.path + name!r} holds an unknown label: {error}")


def _truth(text: str) -> bool:
    folded = text.strip().removesuffix(".").rstrip().casefold()
    if folded in _TRUE or folded in _FALSE:
        return folded in _TRUE
    raise ValueError(f"{text!r} is neither true nor false")


def _read_lines(file: Path, text: str) -> Iterator[_Placed]:
    for number, line in enumerate(text.split("\n"), start=1):  # on \n only: U+2028 occurs inside records
        if line.strip():
            place = f"line {number}"
            for labels in _records(file, place, _parsed(f"{file}: {place}", line), None):
                yield place, labels


def _read_folder(folder: Path) -> tuple[list[_Placed], str]:
    found: list[_Placed] = []
    files: list[DataFile] = []
    for file in sorted(folder.glob("*.json")):
        content = _bytes(file)
        raw = _parsed(str(file), decode(content, file))
        found += [(file.name, labels) for labels in _records(file, "", raw, file.stem)]
        files.append(DataFile(file.name, hashlib.sha256(content).hexdigest()))
    return found, combined_hash(tuple(files))


def _parsed(place: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=json_object, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not usable JSON ({error}); {_FORMS}") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _records(file: Path, place: str, raw: Any, stem: str | None) -> list[CaseLabels]:
    """What one JSON value holds; in a folder, under `stem`, the file's name has the case id already."""
    if not isinstance(raw, dict):
        where = f"{file}: {place}" if place else f"{file}"
        raise DataError(f"{where}: a record is an object, found {type_name(raw)}; {_FORMS}")
    case_id = raw.get("case_id", stem)
    shown = case_id if isinstance(case_id, str) and _is_id(case_id) else ""
    row = _Row(raw, file, shown, "", place)
    row.check_names()
    if stem is None or "case_id" in raw:
        _check_id(row, row.text("case_id"), stem)
    if "steps" in raw and "labels" in raw:
        row.fail("the record holds 'steps' and 'labels'; write it as two, one for reasoning and one for accuracy")
    if "labels" in raw:
        return list(_accuracy(row))
    if "steps" not in raw:
        row.fail("the field 'steps' is missing, and so is 'labels'")
    return [_reasoning(row)]


def _check_id(row: _Row, case_id: str, stem: str | None) -> None:
    if not _is_id(case_id):
        row.fail(f"{case_id!r} cannot be an id")
    if stem is not None and case_id != stem:
        row.fail("the file is named otherwise than the case", "name it <case id>.json")


def _is_id(text: str) -> bool:
    return bool(text) and text == text.strip() and text.isprintable()


def _accuracy(row: _Row) -> Iterator[CaseLabels]:
    model = row.text("model", empty=False)
    text = row.text("prediction") if "prediction" in row.raw else ""
    inside = row.inside("labels")
    labels = _Row(inside.raw, row.file, row.case_id, inside.path, row.place)
    if not labels.raw:
        row.fail("the field 'labels' names no judge")
    for judge in labels.raw:
        if not _is_id(judge):
            row.fail(f"{judge!r} in the field 'labels' cannot be the name of a judge")
        label = labels.truth(judge)
        judgements = () if label is None else (Judgement("accuracy", 0, text, label),)
        yield CaseLabels(row.case_id, model, judge, judgements)


def _reasoning(row: _Row) -> CaseLabels:
    steps = list(row.objects("steps"))
    reference = list(row.objects("gt_steps"))
    judgements = [
        *(judgement for item, step in enumerate(steps) for judgement in _of_step(item, step)),
        *(_of_reference(item, step) for item, step in enumerate(reference)),
    ]
    return CaseLabels(
        row.case_id,
        row.text("model", empty=False),
        row.text("judge", empty=False),
        tuple(judgements),
        dict(_stored(row)),
        tuple(step.text("step") for step in steps),
        tuple(step.text("step") for step in reference),
        whole=True,
    )


def _of_step(item: int, step: _Row) -> Iterator[Judgement]:
    text = step.text("step")
    yield Judgement("effectiveness", item, text, step.effectiveness("efficiency"))
    correct = step.truth(step.one_of(("factulity", "factuality")) or "factulity")
    path = step.evidence("judgment_path")
    if correct is not None:
        yield Judgement("factuality", item, text, correct, path=path)


def _of_reference(item: int, step: _Row) -> Judgement:
    hit = step.truth("hit")
    if hit is None:
        step.fail(f"the field {step.path + 'hit'!r} must be true or false, found null")
    return Judgement("match", item, step.text("step"), hit)


def _stored(row: _Row) -> Iterator[tuple[str, float]]:
    for metric, names in _STORED.items():
        name = row.one_of(names)
        value = row.get(name) if name else None
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            row.fail(f"the field {name!r} must be a finite number, found {type_name(value)}")
        yield metric, float(value)


# --- CSV ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of a CSV file by column; errors name line and column."""

    file: Path
    number: int
    cells: Mapping[str, str]

    def fail(self, column: str, problem: str) -> NoReturn:
        written = self.cells["case_id"].strip()
        case = written if _is_id(written) else "(no id)"
        raise DataError(f"{self.file}: line {self.number}, column {column}: case {case}: {problem}; {_REMEDY}")

    def judgement(self) -> Judgement:
        """The judgement that the row holds."""
        kind = self.cells["kind"].strip().casefold()
        if kind not in KINDS:
            self.fail("kind", f"{self.cells['kind']!r} is none of {', '.join(KINDS)}")
        item = self._item(kind)
        text, rationale = (self.cells.get(name, "") for name in OPTIONAL_COLUMNS)
        return Judgement(kind, item, text, self._label(kind), rationale)

    def case_id(self) -> str:
        case_id = self.cells["case_id"].strip()
        if not _is_id(case_id):
            self.fail("case_id", f"{self.cells['case_id']!r} cannot be an id")
        return case_id

    def _item(self, kind: str) -> int:
        written = self.cells["item"].strip()
        if kind == "accuracy" and written in ("", "0"):
            return 0
        if kind == "accuracy":
            self.fail("item", f"accuracy is of the whole answer, item 0, found {written!r}")
        if not (written.isascii() and written.isdigit() and len(written) < 7):
            self.fail("item", f"the index of a step is expected, counted from 0, found {written!r}")
        return int(written)

    def _label(self, kind: str) -> Label:
        written = self.cells["label"]
        if not written.strip():
            words = ", ".join(EFFECTIVENESS) if kind == "effectiveness" else "true or false"
            self.fail("label", f"it is empty; write {words}, or leave the line out")
        try:
            return read_effectiveness(written) if kind == "effectiveness" else _truth(written)
        except ValueError as error:
            self.fail("label", f"an unknown label for {kind}: {error}")


def _read_csv(file: Path, text: str) -> Iterator[_Placed]:
    cases: dict[str, dict[tuple[str, int], tuple[_Line, Judgement]]] = {}
    for line in _csv_lines(file, text):
        judgements = cases.setdefault(line.case_id(), {})
        judgement = line.judgement()
        key = judgement.kind, judgement.item
        if key in judgements:
            before = judgements[key][0].number
            line.fail("item", f"{judgement.kind} of item {judgement.item} is labelled at line {before} already")
        judgements[key] = line, judgement
    for case_id, found in cases.items():
        first = min(line.number for line, _ in found.values())
        yield f"line {first}", _of_csv(case_id, list(found.values()))


def _csv_lines(file: Path, text: str) -> Iterator[_Line]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    number = 1
    header: list[str] | None = None
    try:
        for cells in reader:
            if header is None:
                header = _header(file, cells)
            elif any(cell.strip() for cell in cells):
                yield _line(file, number, header, cells)
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{file}: line {number}: not usable CSV ({error}); quote texts with commas or lines") from error
    if header is None:
        _header(file, [])


def _header(file: Path, cells: Sequence[str]) -> list[str]:
    names = [cell.strip().casefold() for cell in cells]
    allowed = (*COLUMNS, *OPTIONAL_COLUMNS)
    wanted = f"the first line must name the columns {', '.join(COLUMNS)}, and may name {', '.join(OPTIONAL_COLUMNS)}"
    for name in COLUMNS:
        if name not in names:
            raise DataError(f"{file}: line 1: there is no column {name}; {wanted}, separated by commas")
    for name in names:
        if name not in allowed or names.count(name) > 1:
            problem = "is there twice" if name in allowed else "is not known"
            raise DataError(f"{file}: line 1: the column {name or '(without name)'} {problem}; {wanted}")
    return names


def _line(file: Path, number: int, header: Sequence[str], cells: Sequence[str]) -> _Line:
    if len(cells) != len(header):
        raise DataError(
            f"{file}: line {number}: {len(cells)} cells under {len(header)} columns; quote texts that hold commas"
        )
    return _Line(file, number, dict(zip(header, cells, strict=True)))


def _of_csv(case_id: str, found: Sequence[tuple[_Line, Judgement]]) -> CaseLabels:
    of: dict[str, dict[int, tuple[_Line, Judgement]]] = {kind: {} for kind in KINDS}
    for line, judgement in sorted(found, key=lambda pair: pair[1].item):
        of[judgement.kind][judgement.item] = line, judgement
    for kind in ("effectiveness", "match"):
        for expected, (item, (line, _)) in enumerate(of[kind].items()):
            if item != expected:
                line.fail("item", f"{kind} is labelled here for item {item} but not for {expected}; label all, from 0")
    for item, (line, _) in of["factuality"].items():
        if of["effectiveness"] and item not in of["effectiveness"]:
            line.fail("item", f"factuality is labelled for item {item}, whose effectiveness is not")
    judgements = [judgement for kind in KINDS for _, judgement in of[kind].values()]
    return CaseLabels(
        case_id, "", "", tuple(judgements), {}, _texts(of["effectiveness"].values()), _texts(of["match"].values())
    )


def _texts(found: Iterable[tuple[_Line, Judgement]]) -> tuple[str, ...]:
    texts = tuple(judgement.text for _, judgement in found)
    return texts if all(text.strip() for text in texts) else ()
