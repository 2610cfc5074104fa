"""Reference steps, pinned once for each case, so that every model and every judge is measured against the same ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from judge.datafiles import decode, parse_json, type_name
from judge.errors import DataError, UserError

if TYPE_CHECKING:
    from judge.benchmark import Case

FORMAT = 1

PERSON = "person:"
"""Beginning of a splitter's name when a person wrote or changed the steps."""


@dataclass(frozen=True, slots=True)
class ReferenceSteps:
    """The reference steps of one case.

    Attributes:
        hash: SHA-256 over the case's id and reference text, the splitter, its prompt and parameters, and the steps.
        text: SHA-256 of the reference text that was split.
    """

    case_id: str
    steps: tuple[str, ...]
    hash: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class References:
    """The reference steps of many cases, all made in one way.

    Attributes:
        splitter: name and version of what split them, e.g. ``rules.v1``, or a model's SPEC.
        parameters: what else decides how they are split, in JSON types; the prompt's hash is among them.
        cases: by case id.
        file: where they were read from; empty when they were made here.
        benchmark: whose cases they are.
        kind: which of its cases, e.g. ``diagnosis``.
    """

    splitter: str
    parameters: Mapping[str, Any] = field(hash=False)
    cases: Mapping[str, ReferenceSteps] = field(repr=False, hash=False)
    file: str = ""
    benchmark: str = ""
    kind: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 over the hashes of all cases."""
        return self.hash_of(self.cases)

    def hash_of(self, case_ids: Iterable[str]) -> str:
        """SHA-256 over the hashes of these cases, in whatever order they are named.

        Raises:
            DataError: one of them has no steps here.
        """
        chosen = {case_id: self.of(case_id).hash for case_id in case_ids}
        return _sha256(_canonical(chosen))

    def of(self, case_id: str) -> ReferenceSteps:
        """The steps of one case; DataError if it has none here."""
        found = self.cases.get(case_id)
        if found is None:
            raise DataError(
                f"{self._name}: no reference steps of case {case_id}; pin them for all cases that are judged"
            )
        return found

    def checked_against(self, made: References) -> References:
        """These references, once it is sure that they were made from the texts that the cases have now.

        Args:
            made: the references of all cases that are needed, made from the data at hand by whatever splitter.

        Raises:
            DataError: other cases, no steps of one of them, or steps made from another text.
        """
        ours, theirs = f"{self.benchmark} {self.kind}", f"{made.benchmark} {made.kind}"
        if ours != theirs:
            raise DataError(f"{self._name}: holds steps of {ours} cases, but {theirs} cases are judged")
        for case_id, wanted in made.cases.items():
            if self.of(case_id).text != wanted.text:
                raise DataError(
                    f"{self._name}: the steps of case {case_id} were made from another reference text than the data "
                    "hold now; use the data that they were made from, or pin the steps again"
                )
        return self

    @property
    def _name(self) -> str:
        return self.file or f"reference steps by {self.splitter}"


@runtime_checkable
class ReferencedBenchmark(Protocol):
    """A benchmark whose reference steps can also be made by a model; looked up by these attributes and methods."""

    name: str
    prompt_package: str
    reference_prompt: str
    """Name of the prompt with which a model splits; its variable ``text`` is the reference."""
    most_reference_steps: int

    def references(self, cases: Sequence[Case]) -> References:
        """See `judge.benchmark.ModelJudgedBenchmark.references`."""

    def reference_texts(self, cases: Sequence[Case]) -> Mapping[str, str]:
        """What is split, by case id."""


def pin(
    benchmark: str,
    kind: str,
    splitter: str,
    parameters: Mapping[str, Any],
    texts: Mapping[str, str],
    steps: Mapping[str, Sequence[str]],
) -> References:
    """References of the cases in `steps`, hashed.

    Args:
        texts: reference text by case id.
    """
    cases = {}
    for case_id, own in steps.items():
        text = _sha256(texts[case_id])
        cases[case_id] = ReferenceSteps(case_id, tuple(own), case_hash(case_id, text, splitter, parameters, own), text)
    return References(splitter, dict(parameters), cases, benchmark=benchmark, kind=kind)


def case_hash(case_id: str, text: str, splitter: str, parameters: Mapping[str, Any], steps: Sequence[str]) -> str:
    """SHA-256 over everything that decides what a case is measured against, in canonical JSON.

    Args:
        text: SHA-256 of the reference text.
    """
    return _sha256(
        _canonical(
            {
                "case": case_id,
                "text": text,
                "splitter": splitter,
                "parameters": dict(parameters),
                "steps": list(steps),
            }
        )
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def write_references(references: References, file: Path) -> None:
    """Write them as readable JSON, cases in their order; a file that is there is replaced at once or not at all.

    Raises:
        UserError: the file cannot be written.
    """
    document = {
        "medjudge_reference": FORMAT,
        "benchmark": references.benchmark,
        "kind": references.kind,
        "splitter": references.splitter,
        "parameters": dict(references.parameters),
        "cases": {
            found.case_id: {"hash": found.hash, "text": found.text, "steps": list(found.steps)}
            for found in references.cases.values()
        },
    }
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
        part.replace(file)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}") from None


def check_replaces(file: Path, references: References, *, complete: bool = True) -> None:
    """Make sure that writing a file loses no pinned steps.

    Args:
        complete: whether all steps are there; else only how they are made is compared.

    Raises:
        UserError: the file holds steps that were made in another way, or cases that the new ones lack or split
            otherwise.
        DataError: it is no file of reference steps, or was changed.
    """
    if not file.exists():
        return
    old = read_references(file)
    if _made_by(old) != _made_by(references):
        raise UserError(f"{file} holds reference steps that were made in another way; name another file after --out")
    lost = [case_id for case_id, found in old.cases.items() if references.cases.get(case_id) != found]
    if lost and complete:
        raise UserError(
            f"{file} holds pinned steps of {len(lost)} cases that would be lost or changed, the first is {lost[0]}; "
            "name another file after --out"
        )


def _made_by(references: References) -> tuple[str, str, str, str]:
    return references.benchmark, references.kind, references.splitter, _canonical(dict(references.parameters))


def read_references(file: Path) -> References:
    """Read and check reference steps.

    Raises:
        DataError: with file, case and field: not such a file, malformed, or steps that are not those that were pinned.
    """
    references = _read(file)
    for found in references.cases.values():
        expected = case_hash(found.case_id, found.text, references.splitter, references.parameters, found.steps)
        if found.hash != expected:
            _fail(
                file,
                found.case_id,
                "its steps, or what the file says of how they were made, were changed after they were pinned; make the "
                f"file again, or pin the changed steps under a name: medjudge reference {references.benchmark} "
                f"--edited {file} --splitter {PERSON}NAME --out NEW.json",
            )
    return references


def pin_edited(file: Path, splitter: str, texts: Mapping[str, str]) -> References:
    """Steps that a person changed in a file, pinned under a name of their own.

    Args:
        splitter: ``person:NAME``.
        texts: reference text by case id, from the data.

    Raises:
        DataError: the file is malformed, or the texts that its steps were made from are not those of the data.
    """
    edited = _read(file)
    for found in edited.cases.values():
        if found.case_id not in texts:
            _fail(file, found.case_id, "the data hold no such case; take it out, or give the data that it is from")
        if found.text != _sha256(texts[found.case_id]):
            _fail(file, found.case_id, "its steps were made from another reference text than the data hold now")
    steps = {found.case_id: found.steps for found in edited.cases.values()}
    origin = edited.parameters.get("edited") if edited.splitter.startswith(PERSON) else None
    parameters = {"edited": origin or {"splitter": edited.splitter, "parameters": dict(edited.parameters)}}
    return pin(edited.benchmark, edited.kind, splitter, parameters, texts, steps)


_FIELDS: Mapping[str, type] = {"benchmark": str, "kind": str, "splitter": str, "parameters": dict, "cases": dict}
_CASE_FIELDS: Mapping[str, type] = {"hash": str, "text": str, "steps": list}


def _read(file: Path) -> References:
    document = _document(file)
    if document.get("medjudge_reference") != FORMAT:
        raise DataError(f"{file}: these are no reference steps of format {FORMAT}; make them with medjudge reference")
    _check_fields(file, "", document, {"medjudge_reference": int, **_FIELDS})
    cases = {case_id: _read_case(file, case_id, entry) for case_id, entry in document["cases"].items()}
    return References(
        document["splitter"],
        document["parameters"],
        cases,
        file=str(file),
        benchmark=document["benchmark"],
        kind=document["kind"],
    )


def _document(file: Path) -> Mapping[str, Any]:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}); make it with medjudge reference") from None
    document = parse_json(decode(content, file), file, _unique)
    if not isinstance(document, dict):
        raise DataError(f"{file}: an object is expected, found {type_name(document)}; make it with medjudge reference")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is given twice")
    return dict(pairs)


def _read_case(file: Path, case_id: str, entry: Any) -> ReferenceSteps:
    if not isinstance(entry, dict):
        _fail(file, case_id, f"an object is expected, found {type_name(entry)}")
    _check_fields(file, case_id, entry, _CASE_FIELDS)
    if not entry["steps"]:
        _fail(file, case_id, "the field 'steps' is empty; a case needs at least one step")
    for number, step in enumerate(entry["steps"], start=1):
        if not isinstance(step, str) or not step.strip():
            found = "an empty text" if isinstance(step, str) else type_name(step)
            _fail(file, case_id, f"step {number} must be a text, found {found}")
    return ReferenceSteps(case_id, tuple(entry["steps"]), entry["hash"], entry["text"])


def _check_fields(file: Path, case_id: str, entry: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    for name in fields:
        if name not in entry:
            _fail(file, case_id, f"the field {name!r} is missing")
        if type(entry[name]) is not fields[name]:
            _fail(file, case_id, f"the field {name!r} cannot be {type_name(entry[name])}")
    if unknown := [name for name in entry if name not in fields]:
        _fail(file, case_id, f"the field {unknown[0]!r} is not known")


def _fail(file: Path, case_id: str, problem: str) -> NoReturn:
    raise DataError(f"{file}: case {case_id}: {problem}" if case_id else f"{file}: {problem}")
