"""MedExQA questions, read and checked.

The data set (arXiv 2406.06331) has one file for each specialty and split, ``<specialty>_test.tsv`` and
``<specialty>_dev.tsv``. Whatever is wrong with a file ends in one `DataError` that names the file, the line and the id,
and what to do. Nothing is guessed, dropped or changed: oddities of the published rows become flags.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from graphs.medexqa.table import LETTERS, Row, parse_line, read_lines
from judge.datafiles import DataFile, combined_hash
from judge.errors import DataError, SpecError

Split = Literal["test", "dev"]


@dataclass(frozen=True, slots=True)
class Specialty:
    """One specialty.

    Attributes:
        name: as in the file names.
        code: as in the published tables.
        rows: of its published test file.
    """

    name: str
    code: str
    rows: int

    def file_name(self, split: Split) -> str:
        return f"{self.name}_{split}.tsv"


#: In the order of the published tables; the numbers of rows are those of the published files.
SPECIALTIES = (
    Specialty("biomedical_engineer", "BE", 143),
    Specialty("clinical_psychologist", "CP", 106),
    Specialty("speech_pathologist", "SLP", 130),
    Specialty("occupational_therapist", "OT", 189),
    Specialty("clinical_laboratory_scientist", "CLS", 372),
)

#: Rows of every published dev file.
DEV_ROWS = 5

#: Flag -> what it means, for every flag a case may carry.
FLAGS: Mapping[str, str] = {
    "quoted": "a field is quoted in the file; its quotes are dropped and doubled ones inside made single",
    "same_explanations": "both reference explanations are the same text",
    "empty_explanation": "a reference explanation is empty",
    "same_options": "two options are the same text",
    "options_differ_in_case": "two options are the same but for capital and small letters",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One question.

    Attributes:
        id: ``<specialty>-<split>-<row>``, the row in three digits.
        specialty: name of the specialty.
        code: its short name in the published tables.
        split: which file the question is from; ``dev`` has the examples for few-shot prompts.
        row: position in the file, from 0.
        question: the text asked.
        options: letter to text, A to D.
        explanations: the two reference explanations.
        answer: letter that the file gives as right, unchanged even where the audit doubts it.
        flags: words of `FLAGS`.
    """

    id: str
    specialty: str
    code: str
    split: Split
    row: int
    question: str
    options: Mapping[str, str] = field(hash=False)
    explanations: tuple[str, str] = field(repr=False)
    answer: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The questions of one or more specialties.

    Attributes:
        root: the folder that holds the test files.
        specialties: those that were read, in published order.
        cases: test questions, specialty by specialty, in file order.
        dev: specialty name to the questions of its dev file; without an entry where there is no such file.
        files: every file read.
        data_hash: SHA-256 over names and hashes of ``files``; the same files give the same hash from any folder.
        notes: sentences for the user where this is not the whole published set.
    """

    root: Path
    specialties: tuple[Specialty, ...]
    cases: tuple[Case, ...]
    dev: Mapping[str, tuple[Case, ...]] = field(repr=False)
    files: tuple[DataFile, ...]
    data_hash: str
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def examples(self, specialty: str, shots: int) -> tuple[Case, ...]:
        """The first ``shots`` questions of a specialty's dev file.

        Raises:
            DataError: the file is not there, or has fewer.
        """
        found = self.dev.get(specialty, ())
        if shots > len(found):
            have = f"its dev file has {len(found)}" if specialty in self.dev else "there is no dev file of it"
            raise DataError(f"{self.root}: {shots} example(s) of {specialty} are asked for, but {have}")
        return found[:shots]


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the files are; ``dev`` is None where there are no examples."""

    test: Path
    dev: Path | None

    def file(self, specialty: Specialty, split: Split) -> Path | None:
        """A specialty's file, None if it is not there; a folder of that name is left to the reader to refuse."""
        folder = self.test if split == "test" else self.dev
        file = folder / specialty.file_name(split) if folder else None
        return file if file and file.exists() else None

    @property
    def unknown(self) -> list[str]:
        """Names of test files of no known specialty."""
        known = {specialty.file_name("test") for specialty in SPECIALTIES}
        return sorted(file.name for file in self.test.glob("*_test.tsv") if file.name not in known)


def load_cases(data: Path, names: Sequence[str] = ()) -> CaseSet:
    """Read and check the test questions, and the dev questions beside them.

    Args:
        data: the folder that holds ``test`` and ``dev``, the ``test`` folder itself, or one folder with all files.
        names: names or codes of specialties; without any, all whose test file is there.

    Raises:
        SpecError: a name is not known.
        DataError: anything missing or malformed.
    """
    chosen = choose_specialties(names)
    folders = find_folders(data)
    present = tuple(specialty for specialty in chosen if folders.file(specialty, "test"))
    if names and len(present) < len(chosen):
        missing = next(specialty for specialty in chosen if specialty not in present)
        raise DataError(f"{folders.test / missing.file_name('test')}: this file is missing; fetch the data set again")
    test, test_files = _read_split(folders, present, "test")
    dev, dev_files = _read_split(folders, present, "dev")
    files = (*test_files, *dev_files)
    cases = tuple(case for read in test.values() for case in read)
    notes = tuple(_notes(folders, chosen, test))
    return CaseSet(folders.test, present, cases, dev, files, combined_hash(files), notes)


def choose_specialties(names: Sequence[str]) -> tuple[Specialty, ...]:
    """The specialties of these names or codes in published order; all of them without any name.

    Capitals do not matter, and spaces or hyphens may stand for the underscores of a name.

    Raises:
        SpecError: a name is not known.
    """
    wanted = {_specialty(name).name for name in names}
    return tuple(specialty for specialty in SPECIALTIES if not wanted or specialty.name in wanted)


def _specialty(name: str) -> Specialty:
    plain = "_".join(name.casefold().replace("-", " ").replace("_", " ").split())
    for specialty in SPECIALTIES:
        if plain in (specialty.name, specialty.code.casefold()):
            return specialty
    known = ", ".join(f"{specialty.name} ({specialty.code})" for specialty in SPECIALTIES)
    raise SpecError(f"specialty {name!r} is not known; choose from {known}")


def find_folders(data: Path) -> Folders:
    """Where the test and dev files are.

    Raises:
        DataError: there is no test file of a known specialty.
    """
    data = Path(data)
    below = Folders(data / "test", _folder(data / "dev"))
    beside = data.parent / "dev" if data.resolve().name == "test" else data
    for folders in (below, Folders(data, _folder(beside))):
        if any(folders.file(specialty, "test") for specialty in SPECIALTIES):
            return folders
    name = SPECIALTIES[0].file_name("test")
    raise DataError(
        f"{data}: MedExQA is not here, neither {data / 'test' / name} nor {data / name} nor the file of another "
        "specialty exists; give the folder that holds the data set's folders 'test' and 'dev'"
    )


def _folder(path: Path) -> Path | None:
    return path if path.is_dir() else None


def _read_split(
    folders: Folders, specialties: Sequence[Specialty], split: Split
) -> tuple[dict[str, tuple[Case, ...]], list[DataFile]]:
    cases: dict[str, tuple[Case, ...]] = {}
    files: list[DataFile] = []
    for specialty in specialties:
        path = folders.file(specialty, split)
        if path is None:
            continue
        lines, file = read_lines(path, id_prefix(specialty, split))
        cases[specialty.name] = tuple(case_of(parse_line(line), specialty, split) for line in lines)
        files.append(file)
    return cases, files


def id_prefix(specialty: Specialty, split: Split) -> str:
    """What the ids of a file's cases begin with."""
    return f"{specialty.name}-{split}"


def case_of(row: Row, specialty: Specialty, split: Split) -> Case:
    """The case that a checked row holds."""
    question, *rest = row.fields
    options = dict(zip(LETTERS, rest[:4], strict=True))
    explanations = (rest[4], rest[5])
    return Case(
        id=row.line.case_id,
        specialty=specialty.name,
        code=specialty.code,
        split=split,
        row=row.line.number - 1,
        question=question,
        options=options,
        explanations=explanations,
        answer=rest[6],
        flags=tuple(_flags(row, list(options.values()), explanations)),
    )


def _flags(row: Row, options: list[str], explanations: tuple[str, str]) -> Iterator[str]:
    if row.quoted:
        yield "quoted"
    first, second = (" ".join(text.split()) for text in explanations)
    if not first or not second:
        yield "empty_explanation"
    elif first == second:
        yield "same_explanations"
    texts = {" ".join(text.split()) for text in options}
    if len(texts) < len(options):
        yield "same_options"
    if len({text.casefold() for text in texts}) < len(texts):
        yield "options_differ_in_case"


def _notes(folders: Folders, chosen: Sequence[Specialty], test: Mapping[str, tuple[Case, ...]]) -> Iterator[str]:
    """Why a mean over these cases is not one over the published set."""
    missing = [specialty.name for specialty in chosen if specialty.name not in test]
    if missing:
        number = f"{len(test)} of {len(chosen)} specialties"
        yield f"There is no test file of {', '.join(missing)}: a macro average is over {number} only"
    other = [
        f"{specialty.name} has {len(test[specialty.name])} (published {specialty.rows})"
        for specialty in chosen
        if specialty.name in test and len(test[specialty.name]) != specialty.rows
    ]
    if other:
        yield f"These test files do not have the published number of rows: {', '.join(other)}"
    if folders.unknown:
        yield f"Not read, because the specialty is not known: {', '.join(folders.unknown)}"


def to_record(case: Case) -> dict[str, Any]:
    """Every field of a case in JSON types."""
    record = {item.name: getattr(case, item.name) for item in fields(case)}
    return record | {
        "options": dict(case.options),
        "explanations": list(case.explanations),
        "flags": list(case.flags),
    }


def from_record(record: Mapping[str, Any]) -> Case:
    """The inverse of `to_record`."""
    first, second = record["explanations"]
    return Case(**{**record, "explanations": (first, second), "flags": tuple(record["flags"])})
