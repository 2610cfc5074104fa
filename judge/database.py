"""One SQLite file, one thread that owns its connection, commits batched over a few milliseconds.

Every read and write of a file goes through its one thread, so there is never a second connection in this process and
"database is locked" can only come from another process. A write's future resolves after the commit that holds it.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
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
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _submit(self, operation: Operation[T]) -> Future[T]:
        if self._closed:
            raise RunError(f"{self.path} is closed already")
        future: Future[T] = Future()
        self._queue.put((operation, future))
        return future

    def _serve(self, application_id: int, schema: str, create: bool, read_only: bool, ready: Future[str]) -> None:
        try:
            connection = _connect(self.path, create=create, read_only=read_only)
            mode = _prepare(connection, self.path, application_id, schema, create=create)
        except (sqlite3.Error, RunError) as error:
            ready.set_exception(
                error if isinstance(error, RunError) else RunError(f"{self.path} cannot be opened: {error}")
            )
            return
        ready.set_result(mode)
        while (first := self._queue.get()) is not None:
            if not self._commit_batch(connection, first):
                break
        connection.close()

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
        connection.execute("BEGIN")
        settle = [self._attempt(connection, operation, future) for operation, future in batch]
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:  # a full disk, say: nobody may use what was not kept
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            failure = RunError(f"{self.path} cannot be written: {error}")
            settle = [lambda future=future: future.set_exception(failure) for _, future in batch]  # type: ignore[misc]
        for report in settle:
            report()
        return open_

    @staticmethod
    def _attempt(connection: sqlite3.Connection, operation: Operation[Any], future: Future[Any]) -> Callable[[], None]:
        """Run one operation in its own savepoint, so that its failure leaves its neighbours alone."""
        connection.execute("SAVEPOINT operation")
        try:
            result = operation(connection)
        except Exception as error:
            failure = error
            connection.execute("ROLLBACK TO operation")
            connection.execute("RELEASE operation")
            return lambda: future.set_exception(failure)
        connection.execute("RELEASE operation")
        return lambda: future.set_result(result)


def _connect(path: Path, *, create: bool, read_only: bool) -> sqlite3.Connection:
    mode = "ro" if read_only else "rwc" if create else "rw"
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30, cached_statements=256)


def _prepare(connection: sqlite3.Connection, path: Path, application_id: int, schema: str, *, create: bool) -> str:
    """Check whose file this is, create the tables, and use write-ahead logging where the file system allows it."""
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if found != application_id and not (create and tables == 0):
        raise RunError(f"{path} was not written by medjudge")
    if tables == 0:
        wanted = "DELETE" if on_network_file_system(path) else "WAL"
        mode = connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0]
        connection.execute(f"PRAGMA application_id={application_id}")
        connection.executescript(schema)
    else:
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    connection.execute("PRAGMA synchronous=NORMAL" if mode == "wal" else "PRAGMA synchronous=FULL")
    return str(mode)


#: File systems over which write-ahead logging is not safe, since it needs memory shared between processes.
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gpfs", "beegfs", "fuse.sshfs")


def on_network_file_system(path: Path, mounts: Path = Path("/proc/mounts")) -> bool:
    """Whether `path` lies on a network file system, read from Linux's table of mounts; False where there is none."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    target = path.absolute()
    kinds = {
        Path(fields[1].replace("\\040", " ")): fields[2]
        for fields in (line.split() for line in lines)
        if len(fields) > 2
    }
    closest = next((kinds[place] for place in (target, *target.parents) if place in kinds), "")
    return closest.startswith(NETWORK_FILE_SYSTEMS)
