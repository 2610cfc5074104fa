"""The run itself: one SQLite file that holds cases, exchanges, transcripts and scores."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from judge.benchmark import PENDING, Benchmark, Case, Transcript, Unit, registry
from judge.database import Database, Operation
from judge.errors import RunError
from judge.locks import lock_folder
from judge.models.exchange import Exchange
from judge.outcome import ERROR_REASONS, Outcome, Scored, Unscored
from judge.runs import judge_store, texts
from judge.runs.judge_store import JudgeStore
from judge.settings import RunSpec

T = TypeVar("T")

FILE = "run.sqlite"
DRAFT = f"{FILE}.new"
LOCK = ".lock"
APPLICATION_ID = 0x6D6A7267  # "mjrg"
FORMAT = 2

#: Stands for every error status in a list of statuses to ask again.
ERRORS = "errors"

#: Why a unit's explanation has no value, though it has a reference: it was written after explanations were compared.
NOT_MEASURED = "not_measured"

#: Why a unit that has not been played has no value.
NOT_RUN = "not_run"

SCHEMA = (
    texts.SCHEMA
    + judge_store.SCHEMA
    + """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (id TEXT PRIMARY KEY, position INTEGER NOT NULL, cluster TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE units (
    key TEXT PRIMARY KEY, position INTEGER NOT NULL, setting TEXT NOT NULL, case_id TEXT NOT NULL,
    epoch INTEGER NOT NULL, status TEXT NOT NULL, detail TEXT NOT NULL DEFAULT '', flags TEXT NOT NULL DEFAULT '[]',
    transcript BLOB, finished REAL
);
CREATE TABLE exchanges (
    address TEXT NOT NULL, attempt INTEGER NOT NULL, unit TEXT NOT NULL, role TEXT NOT NULL, model TEXT NOT NULL,
    endpoint TEXT NOT NULL, body BLOB NOT NULL, status INTEGER NOT NULL, response BLOB NOT NULL, error TEXT NOT NULL,
    tries INTEGER NOT NULL, seconds REAL NOT NULL, source TEXT NOT NULL, prompt_tokens INTEGER,
    completion_tokens INTEGER, reasoning_tokens INTEGER, cached_tokens INTEGER, superseded INTEGER NOT NULL DEFAULT 0,
    at REAL NOT NULL, PRIMARY KEY (address, attempt)
);
CREATE INDEX exchanges_unit ON exchanges (unit);
CREATE TABLE measured (
    unit TEXT NOT NULL, metric TEXT NOT NULL, value REAL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (unit, metric)
);
CREATE TABLE scores (
    judge TEXT NOT NULL, unit TEXT NOT NULL, metric TEXT NOT NULL, value REAL, reason TEXT NOT NULL DEFAULT '',
    detail TEXT NOT NULL DEFAULT '', PRIMARY KEY (judge, unit, metric)
);
"""
)


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """A unit and where it stands."""

    unit: Unit
    status: str
    detail: str
    flags: tuple[str, ...]
    transcript: Transcript | None


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What one role and model cost in one run; every attempt counts, answers from a cache or replay do not."""

    role: str
    model: str
    source: str
    calls: int
    prompt: int
    completion: int
    reasoning: int
    unreported: int
    cached: int


class RunStore:
    """An open run. Use `create_run` or `open_run`.

    Attributes:
        judging: what judges said.
    """

    def __init__(self, folder: Path, database: Database, lock: FileLock | None) -> None:
        self.folder = folder
        self._database = database
        self._lock = lock
        self.judging = JudgeStore(folder, database)

    def close(self) -> None:
        self._database.close()
        if self._lock is not None:
            self._lock.release()

    # -- what the run is ---------------------------------------------------------------------------------------------

    def spec(self) -> RunSpec:
        return RunSpec.model_validate_json(self.meta("spec"))

    def meta(self, key: str) -> str:
        """A stored text; empty when there is none."""
        row = self._database.run(lambda db: db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone())
        return row[0] if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self._database.run(lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)))

    def run(self, operation: Operation[T]) -> T:
        """Run an operation of another module of this package on the file, in one transaction."""
        return self._database.run(operation)

    def cases(self) -> dict[str, Case]:
        """All cases by id, in the order of the data."""

        def read(db: sqlite3.Connection) -> dict[str, Case]:
            rows = db.execute("SELECT id, cluster, record FROM cases ORDER BY position").fetchall()
            return {
                case_id: Case(case_id, cluster, json.loads(texts.unpack(db, blob))) for case_id, cluster, blob in rows
            }

        return self._database.run(read)

    # -- exchanges: the door's store ---------------------------------------------------------------------------------

    async def find(self, address: str) -> Exchange | None:
        return await self._database.run_async(lambda db: _find_exchange(db, address))

    async def keep(self, exchange: Exchange) -> Exchange:
        return await self._database.run_async(lambda db: self._insert_exchange(db, exchange))

    async def superseded(self, address: str) -> bool:
        query = "SELECT EXISTS (SELECT 1 FROM exchanges WHERE address = ? AND superseded AND error = '')"
        return bool(await self._database.run_async(lambda db: db.execute(query, (address,)).fetchone()[0]))

    def exchanges(self, unit: Unit) -> list[Exchange]:
        """Every exchange of a unit, all attempts, in the order in which they were kept."""

        def read(db: sqlite3.Connection) -> list[Exchange]:
            rows = db.execute(f"SELECT {_EXCHANGE} FROM exchanges WHERE unit = ? ORDER BY at", (unit.key,)).fetchall()
            return [_exchange(db, row) for row in rows]

        return self._database.run(read)

    def all_exchanges(self) -> Iterator[Exchange]:
        """Every exchange of the run, all attempts, in the order in which they were kept; read a few at a time."""
        last = 0
        while True:
            batch = self._database.run(partial(_exchanges_after, row=last))
            yield from (exchange for _, exchange in batch)
            if not batch:
                return
            last = batch[-1][0]

    def tokens(self) -> list[TokenCount]:
        """Tokens by role, model and source."""
        query = """SELECT role, model, source, count(*), coalesce(sum(prompt_tokens), 0),
            coalesce(sum(completion_tokens), 0), coalesce(sum(reasoning_tokens), 0), sum(prompt_tokens IS NULL),
            coalesce(sum(cached_tokens), 0)
            FROM exchanges WHERE error = '' GROUP BY role, model, source ORDER BY role, model, source"""
        return self._database.run(lambda db: [TokenCount(*row) for row in db.execute(query)])

    def has_answers(self) -> bool:
        """Whether a model ever answered, i.e. whether deleting the run would lose something."""
        query = "SELECT EXISTS (SELECT 1 FROM exchanges WHERE error = '' AND source = 'server')"
        return bool(self._database.run(lambda db: db.execute(query).fetchone()[0]))

    def _insert_exchange(self, db: sqlite3.Connection, exchange: Exchange) -> Exchange:
        unit = exchange.address.rsplit("/", 3)[0]
        (last,) = db.execute("SELECT max(attempt) FROM exchanges WHERE address = ?", (exchange.address,)).fetchone()
        kept = replace(exchange, attempt=(last or 0) + 1)
        usage = kept.usage
        body = texts.pack(db, json.dumps(kept.body, ensure_ascii=False))
        db.execute("UPDATE exchanges SET superseded = 1 WHERE address = ?", (kept.address,))
        db.execute(
            f"INSERT INTO exchanges VALUES ({','.join('?' * 19)})",
            (kept.address, kept.attempt, unit, kept.role, kept.model, kept.endpoint, body, kept.status,
             texts.pack(db, kept.response), kept.error, kept.tries, kept.seconds, kept.source, usage.prompt,
             usage.completion, usage.reasoning, usage.cached, 0, time.time()),
        )  # fmt: skip
        return kept

    # -- units -------------------------------------------------------------------------------------------------------

    def units(self, *, with_transcripts: bool = True) -> list[StoredUnit]:
        """All units in order."""

        def read(db: sqlite3.Connection) -> list[StoredUnit]:
            rows = db.execute(f"SELECT {_UNIT} FROM units ORDER BY position").fetchall()
            return [_stored_unit(db, row, self.benchmark_name(db), with_transcripts) for row in rows]

        return self._database.run(read)

    @staticmethod
    def benchmark_name(db: sqlite3.Connection) -> str:
        return str(db.execute("SELECT value FROM meta WHERE key = 'benchmark'").fetchone()[0])

    async def finish(self, unit: Unit, transcript: Transcript) -> None:
        """Keep a unit's transcript and status."""

        def write(db: sqlite3.Connection) -> None:
            self._write_transcript(db, unit, transcript)

        await self._database.run_async(write)

    def finish_many(self, transcripts: Iterable[tuple[Unit, Transcript]]) -> None:
        """Like `finish`, for many units in one transaction."""

        def write(db: sqlite3.Connection) -> None:
            for unit, transcript in transcripts:
                self._write_transcript(db, unit, transcript)

        self._database.run(write)

    def reopen(self, statuses: Sequence[str]) -> int:
        """Make the units with these statuses pending again, so that they are asked with the next attempt numbers.

        ``errors`` stands for every error status. Of a unit that an error ended, only the call that it failed at is
        asked again, and the other answers stay valid. Of any other unit, all calls are asked again. What a judge said
        of a reopened unit is about a transcript that is gone, so the unit counts as not judged; and what its
        explanation got is `NOT_MEASURED`, until explanations are compared again.

        Returns:
            How many units were reopened.
        """
        wanted = {name for status in statuses for name in (ERROR_REASONS if status == ERRORS else (status,))}
        wanted -= {PENDING}  # open already, and the answers that an interrupted unit has are still good

        def write(db: sqlite3.Connection) -> int:
            marks = ",".join("?" * len(wanted))
            rows = db.execute(f"SELECT key, status FROM units WHERE status IN ({marks})", sorted(wanted)).fetchall()
            for key, status in rows:
                _supersede(db, key, status)
                db.execute(
                    "UPDATE units SET status = ?, detail = '', flags = '[]', transcript = NULL WHERE key = ?",
                    (PENDING, key),
                )
                db.execute("DELETE FROM scores WHERE unit = ?", (key,))
                db.execute("UPDATE measured SET value = NULL, reason = ?, detail = '' WHERE unit = ?",
                           (NOT_MEASURED, key))  # fmt: skip
                judge_store.withdraw(db, key)
            return len(rows)

        return self._database.run(write)

    def _write_transcript(self, db: sqlite3.Connection, unit: Unit, transcript: Transcript) -> None:
        blob = texts.pack(db, json.dumps(transcript.data, ensure_ascii=False))
        db.execute(
            "UPDATE units SET status = ?, detail = ?, flags = ?, transcript = ?, finished = ? WHERE key = ?",
            (transcript.status, transcript.detail, json.dumps(transcript.flags), blob, time.time(), unit.key),
        )

    # -- scores ------------------------------------------------------------------------------------------------------

    def write_scores(self, judge: str, scores: Mapping[str, Mapping[str, Outcome]]) -> None:
        """Replace the scores that rest on a judge (or, with an empty name, on none): unit key -> metric -> outcome."""
        rows = [
            (judge, unit, name, *_score_row(outcome))
            for unit, outcomes in scores.items()
            for name, outcome in outcomes.items()
        ]

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM scores WHERE judge = ?", (judge,))
            db.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?)", rows)

        self._database.run(write)


def create_run(
    folder: Path, spec: RunSpec, cases: Iterable[Case], units: Iterable[Unit], facts: Mapping[str, Any]
) -> RunStore:
    """Make a run folder with every planned unit pending.

    Raises:
        RunError: there is a run already, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}") from None
    lock = _locked(folder)
    if (folder / FILE).exists():
        lock.release()
        raise RunError(f"{folder} holds a run already; continue it with --resume {folder}, or name another folder")
    try:
        _write_new(folder, spec, cases, units, facts)
        return RunStore(folder, _database(folder / FILE, create=False), lock)
    except RunError:
        _remove_files(folder)
        lock.release()
        raise


def _write_new(
    folder: Path, spec: RunSpec, cases: Iterable[Case], units: Iterable[Unit], facts: Mapping[str, Any]
) -> None:
    """Write the file under another name and rename it: what is killed in between leaves no half-made run."""
    for leftover in folder.glob(f"{DRAFT}*"):
        leftover.unlink()

    def write(db: sqlite3.Connection) -> None:
        meta = {"format": str(FORMAT), "benchmark": spec.benchmark, "spec": spec.model_dump_json(),
                "facts": json.dumps(facts), "created": str(time.time())}  # fmt: skip
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
        for position, case in enumerate(cases):
            record = texts.pack(db, json.dumps(case.record, ensure_ascii=False))
            db.execute("INSERT INTO cases VALUES (?, ?, ?, ?)", (case.id, position, case.cluster, record))
        rows = ((u.key, position, u.setting, u.case, u.epoch, PENDING) for position, u in enumerate(units))
        db.executemany("INSERT INTO units (key, position, setting, case_id, epoch, status) VALUES (?,?,?,?,?,?)", rows)

    database = _database(folder / DRAFT, create=True)
    try:
        database.run(write)
    finally:
        database.close()
    if (folder / f"{DRAFT}-wal").exists():  # SQLite keeps its log where it cannot write all of it into the file
        raise RunError(f"{folder / FILE} cannot be written: is the disk full?")
    (folder / DRAFT).rename(folder / FILE)


def _database(path: Path, *, create: bool, read_only: bool = False) -> Database:
    return Database(path, application_id=APPLICATION_ID, schema=SCHEMA, create=create, read_only=read_only)


def open_run(folder: Path, *, write: bool) -> RunStore:
    """Open a run folder, for reading only or to continue it.

    Raises:
        RunError: it is no run, another process is writing to it, or a newer version wrote it.
    """
    if not (folder / FILE).is_file():
        raise RunError(f"{folder} is no run: it has no {FILE}")
    lock = _locked(folder) if write else None
    try:
        database = _database(folder / FILE, create=False, read_only=not write)
    except RunError:
        if lock is not None:
            lock.release()
        raise
    store = RunStore(folder, database, lock)
    if (version := store.meta("format")) != str(FORMAT):
        store.close()
        raise RunError(f"{folder} is of run format {version or 'unknown'}; this version reads {FORMAT}")
    return store


def delete_run(store: RunStore) -> None:
    """Remove a run that never got an answer: only its own files, and the folder when nothing else is in it."""
    store.close()
    _remove_files(store.folder)


def _remove_files(folder: Path) -> None:
    for path in folder.glob(f"{FILE}*"):
        path.unlink()
    (folder / LOCK).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        shutil.rmtree(folder)


def _locked(folder: Path) -> FileLock:
    return lock_folder(folder, LOCK, "is being written")


_EXCHANGE = "address, attempt, role, model, endpoint, body, status, response, error, tries, seconds, source"
_UNIT = "setting, case_id, epoch, status, detail, flags, transcript"


def _find_exchange(db: sqlite3.Connection, address: str) -> Exchange | None:
    row = db.execute(
        f"SELECT {_EXCHANGE} FROM exchanges WHERE address = ? AND NOT superseded ORDER BY attempt DESC", (address,)
    ).fetchone()
    return _exchange(db, row) if row else None


def _exchanges_after(db: sqlite3.Connection, row: int) -> list[tuple[int, Exchange]]:
    query = f"SELECT rowid, {_EXCHANGE} FROM exchanges WHERE rowid > ? ORDER BY rowid LIMIT 200"
    return [(number, _exchange(db, rest)) for number, *rest in db.execute(query, (row,)).fetchall()]


def _supersede(db: sqlite3.Connection, unit: str, status: str) -> None:
    """Set exchanges of a unit aside: all, or for an error those that failed.

    If none failed, the last answer was of no use and is set aside; not so after a fault of ours, when all were good.
    """
    if status not in ERROR_REASONS:
        db.execute("UPDATE exchanges SET superseded = 1 WHERE unit = ?", (unit,))
        return
    failed = "UPDATE exchanges SET superseded = 1 WHERE unit = ? AND error != '' AND NOT superseded"
    if not db.execute(failed, (unit,)).rowcount and status != "internal_error":
        last = "SELECT address, max(at) FROM exchanges WHERE unit = ? AND NOT superseded"
        (address, _) = db.execute(last, (unit,)).fetchone()
        db.execute("UPDATE exchanges SET superseded = 1 WHERE address = ?", (address,))


def _exchange(db: sqlite3.Connection, row: Sequence[Any]) -> Exchange:
    address, attempt, role, model, endpoint, body, status, response, error, tries, seconds, source = row
    return Exchange(address, attempt, role, model, endpoint, json.loads(texts.unpack(db, body)), status,
                    texts.unpack(db, response), error, tries, seconds, source)  # fmt: skip


def _stored_unit(db: sqlite3.Connection, row: tuple[Any, ...], benchmark: str, with_transcripts: bool) -> StoredUnit:
    setting, case_id, epoch, status, detail, flags_text, blob = row
    flags = tuple(json.loads(flags_text))
    transcript = None
    if with_transcripts and blob is not None:
        transcript = Transcript(status, detail, flags, json.loads(texts.unpack(db, blob)))
    return StoredUnit(Unit(benchmark, setting, case_id, epoch), status, detail, flags, transcript)


def _score_row(outcome: Outcome) -> tuple[float | None, str, str]:
    if isinstance(outcome, Scored):
        return outcome.value, "", ""
    assert isinstance(outcome, Unscored)
    return None, outcome.reason, outcome.detail


def benchmark_of(store: RunStore) -> Benchmark:
    """The benchmark a run belongs to.

    Raises:
        RunError: it is not installed here.
    """
    name = store.meta("benchmark")
    benchmark = registry().get(name)
    if benchmark is None:
        raise RunError(f"{store.folder} is a run of the benchmark {name!r}, which is not installed here")
    return benchmark
