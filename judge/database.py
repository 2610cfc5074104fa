"""One SQLite file, one thread that owns its connection, commits batched over a few milliseconds.

Every read and write of a file goes through its one thread, so there is never a second connection in this process and
"database is locked" can only come from another process. A write's future resolves after the commit that holds it.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import re
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from judge.errors import RunError

T = TypeVar("T")
Operation = Callable[[sqlite3.Connection], T]

#: How many operations one commit may hold; keeps the wait of the first of them short.
BATCH = 256


class Database:
    """A SQLite file behind one thread.

    Raises:
        RunError: the file cannot be opened, is no SQLite file, or lacks the expected application id.
    """

    def __init__(self, path: Path, *, application_id: int, schema: str, create: bool, read_only: bool = False) -> None:
        self.path = path
        self._queue: queue.SimpleQueue[tuple[Operation[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._closed = False
        self._entrance = threading.Lock()  # nothing may be queued behind the closing mark
        ready: Future[str] = Future()
        self._thread = threading.Thread(
            target=self._serve,
            args=(application_id, schema, create, read_only, ready),
            daemon=True,
            name=f"sqlite {path.name}",
        )
        self._thread.start()
        self.journal_mode = ready.result()

    def run(self, operation: Operation[T]) -> T:
        """Run `operation` in the owning thread and wait for its commit."""
        return self._submit(operation).result()

    async def run_async(self, operation: Operation[T]) -> T:
        """Like `run`, without blocking the event loop."""
        return await asyncio.wrap_future(self._submit(operation))

    def close(self) -> None:
        """Commit what is queued and close the file; further operations raise."""
        with self._entrance:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _submit(self, operation: Operation[T]) -> Future[T]:
        future: Future[T] = Future()
        # what is queued is done even if nobody waits for it any more: an answer was paid for
        future.set_running_or_notify_cancel()
        with self._entrance:
            if self._closed:
                raise RunError(f"{self.path} is closed already")
            self._queue.put((operation, future))
        return future

    def _serve(self, application_id: int, schema: str, create: bool, read_only: bool, ready: Future[str]) -> None:
        try:
            connection = _connect(self.path, create=create, read_only=read_only)
        except sqlite3.Error as error:
            ready.set_exception(RunError(f"{self.path} cannot be opened: {error}"))
            return
        with contextlib.closing(connection):
            try:
                mode = _prepare(connection, self.path, application_id, schema, create=create, read_only=read_only)
            except RunError as error:
                ready.set_exception(error)
                return
            except sqlite3.Error as error:
                ready.set_exception(RunError(f"{self.path} cannot be opened: {error}"))
                return
            ready.set_result(mode)
            while (first := self._queue.get()) is not None:
                if not self._commit_batch(connection, first):
                    break
            if not read_only:
                # one file again, which can be read from where nothing may be written; refused while somebody reads
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("PRAGMA journal_mode=DELETE")

    def _commit_batch(self, connection: sqlite3.Connection, first: tuple[Operation[Any], Future[Any]]) -> bool:
        """Run what is queued in one transaction; False when the closing mark was among it."""
        batch, open_ = [first], True
        while len(batch) < BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                open_ = False
                break
            batch.append(item)
        try:
            connection.execute("BEGIN")
            settle = [self._attempt(connection, operation, future) for operation, future in batch]
            connection.execute("COMMIT")
        except sqlite3.Error as error:  # a full disk, say: nobody may use what was not kept
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            failure = RunError(f"{self.path} cannot be written: {error}")
            settle = [partial(future.set_exception, failure) for _, future in batch]
        for report in settle:
            report()
        return open_

    def _attempt(
        self, connection: sqlite3.Connection, operation: Operation[Any], future: Future[Any]
    ) -> Callable[[], None]:
        """Run one operation in its own savepoint, so that its failure leaves its neighbours alone.

        Raises:
            sqlite3.Error: SQLite gave up the whole transaction, as it does when the disk is full.
        """
        connection.execute("SAVEPOINT operation")
        try:
            result = operation(connection)
        except Exception as error:
            if isinstance(error, sqlite3.Error) and not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO operation")
            connection.execute("RELEASE operation")
            return partial(future.set_exception, self._explained(error))
        connection.execute("RELEASE operation")
        return partial(future.set_result, result)

    def _explained(self, error: Exception) -> Exception:
        """What the disk or another process caused, told to the user; a fault of ours stays as it is."""
        # a damaged file raises the base class itself
        if not isinstance(error, sqlite3.OperationalError) and type(error) is not sqlite3.DatabaseError:
            return error
        explained = RunError(f"{self.path} cannot be read or written: {error}")
        explained.__cause__ = error
        return explained


def _connect(path: Path, *, create: bool, read_only: bool) -> sqlite3.Connection:
    mode = "ro" if read_only else "rwc" if create else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30, cached_statements=256)


def _prepare(
    connection: sqlite3.Connection, path: Path, application_id: int, schema: str, *, create: bool, read_only: bool
) -> str:
    """Check whose file this is, create the tables, and use write-ahead logging where the file system allows it."""
    if create:
        _create_tables(connection, path, application_id, schema)
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    if found != application_id:
        raise RunError(f"{path} was not written by medjudge")
    if not read_only and not on_network_file_system(path):
        # refused while another process has the file open: that one asked for it too
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.execute("PRAGMA synchronous=NORMAL" if mode == "wal" else "PRAGMA synchronous=FULL")
    return str(mode)


def _create_tables(connection: sqlite3.Connection, path: Path, application_id: int, schema: str) -> None:
    """Create the tables of an empty file in one transaction, since another process may be doing the same."""
    connection.execute("BEGIN IMMEDIATE")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables:
        connection.execute("ROLLBACK")
        return
    connection.execute(f"PRAGMA application_id={application_id}")
    for statement in schema.split(";"):
        connection.execute(statement)
    connection.execute("COMMIT")


#: File systems over which write-ahead logging is not safe, since it needs memory shared between processes.
NETWORK_FILE_SYSTEMS = (
    "nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "davfs", "vboxsf", "fuse."
)  # fmt: skip


def on_network_file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether `path` lies on a network file system, read from Linux's table of mounts; False where there is none."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    target = path.resolve()
    kinds = {
        Path(re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), fields[1])): fields[2]
        for fields in (line.split() for line in lines)
        if len(fields) > 2
    }
    closest = next((kinds[place] for place in (target, *target.parents) if place in kinds), "")
    return closest.startswith(NETWORK_FILE_SYSTEMS)
