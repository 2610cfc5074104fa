"""People's ratings of explanations: which units, in which order, and what becomes of each rating.

A rating is kept at once, as a judgement by a judge of the person's name; taking it back leaves nothing of it. Which
cases are chosen, and in which order they come, depends on the seed and their ids alone, so that the outputs of several
models are rated on the same cases, and a bigger sample holds a smaller one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.benchmark import PENDING, Benchmark, Case, Transcript, Unit
from judge.errors import RunError, SpecError
from judge.explanations import KIND, Exhibit, ExplainedAnswers, Grade
from judge.judgements import Judgement, UnitJudgements
from judge.outcome import Unscored
from judge.runs.explanation_labels import grade_in
from judge.runs.sheets import Row, read_sheet, write_sheet
from judge.runs.store import RunStore, StoredUnit

#: Source of a judge that is a person, among its facts.
PERSON = "person"

#: Columns of a sheet; the last two are for the person who rates.
COLUMNS = (
    "key", "case_id", "question", "options", "right_answer", "reference_1", "reference_2", "answer", "explanation",
    "rating", "note",
)  # fmt: skip

_KEY_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which units a person is asked about, and in which order.

    Attributes:
        size: cases of each group; None for all.
        by: breakdown of the benchmark whose groups these are; empty without a size.
    """

    seed: int = 0
    size: int | None = None
    by: str = ""

    def rank(self, text: str) -> bytes:
        """Where something comes in the order of this seed."""
        return hmac.digest(str(self.seed).encode(), text.encode("utf-8", errors="surrogatepass"), hashlib.sha256)

    def facts(self, rater: str) -> dict[str, Any]:
        """What the run keeps of a rater."""
        return {"source": PERSON, "rater": rater, "seed": self.seed, "sample": self.size, "by": self.by}


@dataclass(frozen=True, slots=True)
class Question:
    """A unit to be rated, and what is shown of it."""

    unit: Unit
    shown: Exhibit

    def rated(self, grade: Grade, note: str) -> UnitJudgements:
        return UnitJudgements((Judgement(KIND, 0, self.shown.explanation, grade, note, self.shown.rubric()),))

    def contradicts(self, grade: Grade) -> str:
        """Why a grade is not what the rubric says of the answer; empty if it may be."""
        ruled = self.shown.by_rule()
        if ruled is not None and grade != ruled.label:
            what = "nothing explains the right answer" if self.shown.right else "the answer is not the right one"
            return f"{what}, which is {ruled.label} by the rubric and counts as that"
        if self.shown.right and grade == "0":
            return "the answer is right, which is at least 0.5 by the rubric"
        return ""


def explained(benchmark: Benchmark) -> ExplainedAnswers:
    """The benchmark as one whose explanations can be rated.

    Raises:
        SpecError: it is none.
    """
    if not isinstance(benchmark, ExplainedAnswers):
        raise SpecError(f"{benchmark.name} has no explanations that a person could rate")
    return benchmark


def sampling_for(
    store: RunStore, benchmark: Benchmark, rater: str, seed: int | None, size: int | None, by: str | None
) -> Sampling:
    """The sample a rater works on: as begun, or else as wanted.

    Raises:
        RunError: the rater has begun with another one, or is no person.
        SpecError: the benchmark has no such breakdown.
    """
    known = store.judging.judges().get(rater)
    if known is None:
        return Sampling(seed or 0, size, _breakdown(store, benchmark, by) if size is not None else "")
    if known.get("source") != PERSON:
        raise RunError(f"{store.folder} has labels by {rater!r} that no person gave here; give another --rater")
    begun = Sampling(known["seed"], known["sample"], known["by"])
    for option, wanted, there in (("seed", seed, begun.seed), ("sample", size, begun.size), ("by", by, begun.by)):
        if wanted is not None and wanted != there:
            shown = "all" if there in (None, "") else there
            raise RunError(
                f"{rater} has begun with --{option} {shown}, not {wanted}; leave it out, or give another --rater"
            )
    return begun


def _breakdown(store: RunStore, benchmark: Benchmark, by: str | None) -> str:
    there = list(dict.fromkeys(name for case in store.cases().values() for name in benchmark.groups(case.record)))
    if by is None:
        return there[0]
    if by not in there:
        raise SpecError(f"--by {by}: there is no such breakdown; there are: {', '.join(there)}")
    return by


class Desk:
    """One person's ratings in one run.

    Attributes:
        questions: all that the person is to rate, in order; none that was answered in no way.
    """

    def __init__(self, store: RunStore, benchmark: Benchmark, rater: str, sampling: Sampling) -> None:
        self.rater = rater
        self.questions: list[Question] = []
        self._store = store
        self._sampling = sampling
        self._unanswered: list[tuple[Unit, Unscored]] = []
        shows, cases = explained(benchmark), store.cases()
        for stored in chosen(benchmark, cases, store.units(), sampling):
            self._place(stored, shows.exhibit(cases[stored.unit.case].record, _transcript(stored)))

    def _place(self, stored: StoredUnit, shown: Exhibit | Unscored) -> None:
        if isinstance(shown, Exhibit):
            self.questions.append(Question(stored.unit, shown))
        elif stored.status != PENDING:
            self._unanswered.append((stored.unit, shown))

    @property
    def unanswered(self) -> int:
        """Units that were to be rated and have nothing to rate."""
        return len(self._unanswered)

    def grades(self) -> dict[str, Grade]:
        """Unit key -> the rating that is there."""
        return {key: one.label for key, said in self._said().items() for one in said.view.of(KIND)}  # type: ignore[misc]

    def open(self) -> list[Question]:
        """What is not rated yet, in order."""
        rated = self.grades()
        return [question for question in self.questions if question.unit.key not in rated]

    def rate(self, question: Question, grade: Grade, note: str = "") -> None:
        """Keep one rating for good."""
        self.rate_all([(question, grade, note)])

    def rate_all(self, ratings: Sequence[tuple[Question, Grade, str]]) -> None:
        """Keep several ratings, all or none."""
        if ratings:
            self._begin()
            said = [(question.unit, question.rated(grade, note)) for question, grade, note in ratings]
            self._store.judging.keep_all(self.rater, said)

    def undo(self) -> Question | None:
        """Take back the last rating, of an earlier sitting too; None if there is none."""
        last = self._store.judging.last_labelled(self.rater)
        return self.take_back(last) if last is not None else None

    def take_back(self, key: str) -> Question | None:
        """Take back the rating of a unit; nothing of it stays."""
        self._store.judging.take_back(self.rater, key)
        return next((question for question in self.questions if question.unit.key == key), None)

    def key_of(self, question: Question) -> str:
        """Of this output in this run and no other; it says nothing about either."""
        material = "\0".join([question.unit.key, question.shown.answer, question.shown.explanation])
        nonce = self._store.spec().nonce.encode()
        digest = hmac.digest(nonce, material.encode("utf-8", errors="surrogatepass"), hashlib.sha256)
        return digest.hex()[:_KEY_DIGITS]

    def note_sheet(self, file: Path, sha256: str) -> None:
        """Keep from which file ratings came."""
        facts = self._store.judging.judges()[self.rater]
        sheets = [*facts.get("sheets", []), {"file": file.name, "sha256": sha256}]
        self._store.judging.set_facts(self.rater, facts | {"sheets": sheets})

    def leave(self) -> None:
        """Forget the rater altogether where no rating is there."""
        if self.rater in self._store.judging.judges() and not self.grades():
            for key in self._said():
                self._store.judging.take_back(self.rater, key)
            self._store.judging.remove_judge(self.rater)

    def _begin(self) -> None:
        """The rater, and of each unit that has nothing to rate, why."""
        if self.rater not in self._store.judging.judges():
            self._store.judging.add_judge(self.rater, self._sampling.facts(self.rater))
        said = self._said()
        gone = ((unit, why) for unit, why in self._unanswered if unit.key not in said)
        self._store.judging.keep_all(self.rater, [(unit, UnitJudgements(missing={KIND: why})) for unit, why in gone])

    def _said(self) -> dict[str, UnitJudgements]:
        return self._store.judging.judged(self.rater)


def _transcript(stored: StoredUnit) -> Transcript:
    return stored.transcript or Transcript(stored.status, stored.detail)


def chosen(
    benchmark: Benchmark, cases: Mapping[str, Case], units: Iterable[StoredUnit], sampling: Sampling
) -> list[StoredUnit]:
    """The units of a sample in the order in which they are shown.

    Of each group the cases that come first in the order of the seed; one that is in several groups counts in each.
    """
    shows = explained(benchmark)
    wanted = {case.id for case in cases.values() if shows.has_reference(case.record)}
    if sampling.size is not None:
        wanted = set(_sample(benchmark, [cases[case_id] for case_id in wanted], sampling, sampling.size))
    found = [stored for stored in units if stored.unit.case in wanted]
    return sorted(found, key=lambda stored: sampling.rank(stored.unit.key))


def _sample(benchmark: Benchmark, cases: Iterable[Case], sampling: Sampling, size: int) -> Iterable[str]:
    groups: dict[str, list[str]] = {}
    for case in sorted(cases, key=lambda case: sampling.rank(case.id)):
        for name in benchmark.groups(case.record).get(sampling.by, ()):
            groups.setdefault(name, []).append(case.id)
    return (case_id for members in groups.values() for case_id in members[:size])


# -- sheets ------------------------------------------------------------------------------------------------------------


def export_sheet(desk: Desk, file: Path) -> int:
    """Write what is not rated yet as a sheet to be filled in; it says neither whose output it is nor others' labels.

    Returns:
        How many rows.

    Raises:
        UserError: the file is there already, or cannot be written.
    """
    questions = desk.open()
    write_sheet(file, COLUMNS, (_cells(desk, question) for question in questions))
    return len(questions)


def _cells(desk: Desk, question: Question) -> tuple[str, ...]:
    shown = question.shown
    first, second = (*shown.references, "", "")[:2]
    return (
        desk.key_of(question), question.unit.case, shown.question, shown.options, shown.right_answer, first, second,
        shown.answer, shown.explanation, "", "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filled:
    """What came of a sheet.

    Attributes:
        added: ratings that are new.
        unchanged: that were there already.
        empty: rows without a rating.
        contradicting: new ratings that are not what the rubric says of the answer.
    """

    added: int
    unchanged: int
    empty: int
    contradicting: int


def import_sheet(desk: Desk, file: Path) -> Filled:
    """Read a filled sheet; only key, case_id, rating and note count, and nothing is kept unless all of it is right.

    Raises:
        DataError: with file, line and column.
    """
    sheet = read_sheet(file, ("case_id", "rating"))
    there = desk.grades()
    new: dict[str, tuple[Question, Grade, str]] = {}
    lines: dict[str, int] = {}
    unchanged = empty = 0
    for row in sheet.rows:
        question = _question_of(row, desk)
        if not row["rating"]:
            empty += 1
            continue
        key, grade = question.unit.key, grade_in(row, "rating")
        if key in lines:
            row.fail("case_id", f"{question.unit.case} is rated at line {lines[key]} already")
        lines[key] = row.line
        if key not in there:
            new[key] = question, grade, row["note"]
        elif there[key] == grade:
            unchanged += 1
        else:
            row.fail("rating", f"{desk.rater} has rated it {there[key]}, not {grade}; to change that, --undo "
                               f"{question.unit.case} first, or else")  # fmt: skip
    desk.rate_all(list(new.values()))
    if new:
        desk.note_sheet(file, sheet.sha256)
    contradicting = sum(bool(question.contradicts(grade)) for question, grade, _ in new.values())
    return Filled(len(new), unchanged, empty, contradicting)


def _question_of(row: Row, desk: Desk) -> Question:
    """The unit that a row is about."""
    of_case = [question for question in desk.questions if question.unit.case == row["case_id"]]
    if not of_case:
        row.fail("case_id", f"no explanation of a case {row['case_id']!r} is to be rated here")
    if row["key"]:
        of_case = [question for question in of_case if desk.key_of(question) == row["key"]]
        if not of_case:
            row.fail("key", f"{row['key']!r} is not the output that this run has for the case; export the sheet again")
    if len(of_case) > 1:
        row.fail("key", f"it is empty, and the run has {len(of_case)} outputs for this case; export the sheet again")
    return of_case[0]
