"""One SQLite file behind one thread: nothing is lost, nobody waits for ever, and foreign files are left alone."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from judge.database import BATCH, Database, on_network_file_system
from judge.errors import RunError

SCHEMA = "CREATE TABLE numbers (n INTEGER PRIMARY KEY);\nCREATE TABLE texts (t TEXT);\n"


def opened(path: Path, **options: bool) -> Database:
    return Database(path, application_id=7, schema=SCHEMA, **({"create": True} | options))


def numbers(database: Database) -> list[int]:
    return database.run(lambda db: [n for (n,) in db.execute("SELECT n FROM numbers ORDER BY n")])


def put(number: int) -> object:
    def write(db: sqlite3.Connection) -> int:
        db.execute("INSERT INTO numbers VALUES (?)", (number,))
        return number

    return write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a file #1?.sqlite"


async def test_given_many_tasks_when_they_write_at_once_then_every_write_is_there(path: Path) -> None:
    database = opened(path)
    count = 3 * BATCH + 5
    results = await asyncio.gather(*(database.run_async(put(n)) for n in range(count)))  # type: ignore[arg-type]
    database.close()

    assert results == list(range(count))
    assert sqlite3.connect(path).execute("SELECT count(*) FROM numbers").fetchone() == (count,)


async def test_given_an_operation_that_raises_when_its_neighbours_share_its_commit_then_they_are_kept(
    path: Path,
) -> None:
    database = opened(path)

    def half_done(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO numbers VALUES (100)")
        raise LookupError("no")

    operations = [put(1), half_done, put(2), put(1), put(3)]
    results = await asyncio.gather(*(database.run_async(o) for o in operations), return_exceptions=True)  # type: ignore[arg-type]

    assert [type(result) for result in results] == [int, LookupError, int, sqlite3.IntegrityError, int]
    assert numbers(database) == [1, 2, 3]
    database.close()


async def test_given_a_task_that_is_cancelled_when_its_write_is_queued_then_it_is_kept_and_others_go_on(
    path: Path,
) -> None:
    database = opened(path)
    gate = threading.Event()
    blocked = asyncio.create_task(database.run_async(lambda db: gate.wait(5)))
    await asyncio.sleep(0.05)
    cancelled = asyncio.create_task(database.run_async(put(1)))  # type: ignore[arg-type]
    await asyncio.sleep(0.05)
    cancelled.cancel()
    blocked.cancel()
    gate.set()
    await asyncio.gather(blocked, cancelled, return_exceptions=True)
    async with asyncio.timeout(5):
        await database.run_async(put(2))  # type: ignore[arg-type]

    assert numbers(database) == [1, 2]
    database.close()


async def test_given_a_full_disk_when_it_is_written_then_all_of_the_commit_fail_and_nothing_hangs(path: Path) -> None:
    database = opened(path)
    database.run(put(1))  # type: ignore[arg-type]
    database.run(lambda db: db.execute("PRAGMA max_page_count=4").fetchall())

    def fill(db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO texts VALUES (?)", ("x" * 100_000,))

    async with asyncio.timeout(10):
        results = await asyncio.gather(*(database.run_async(fill) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, RunError) and "full" in str(result) for result in results)
    assert numbers(database) == [1]
    database.close()


def test_given_a_closed_database_when_it_is_used_then_the_error_says_so_and_closing_again_is_harmless(
    path: Path,
) -> None:
    database = opened(path)
    database.run(put(1))  # type: ignore[arg-type]
    database.close()
    database.close()
    with pytest.raises(RunError, match="closed already"):
        database.run(put(2))  # type: ignore[arg-type]


def test_given_threads_that_write_when_it_closes_then_each_write_is_kept_or_refused(path: Path) -> None:
    database = opened(path)
    kept: list[int] = []

    def work(start: int) -> None:
        for n in range(start, start + 10_000):
            try:
                kept.append(database.run(put(n)))  # type: ignore[arg-type]
            except RunError:
                return

    threads = [threading.Thread(target=work, args=(n * 10_000,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    database.run(lambda db: None)
    database.close()
    for thread in threads:
        thread.join(5)

    assert not any(thread.is_alive() for thread in threads)
    database = opened(path)
    assert sorted(kept) == numbers(database)
    database.close()


def test_given_threads_that_create_one_file_when_all_start_at_once_then_all_can_use_it(path: Path) -> None:
    opened_all: list[Database] = []
    threads = [threading.Thread(target=lambda: opened_all.append(opened(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for n, database in enumerate(opened_all):
        database.run(put(n))  # type: ignore[arg-type]

    assert numbers(opened_all[0]) == list(range(8))
    for database in opened_all:
        database.close()


def foreign_tables(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (a)")
    db.close()


@pytest.mark.parametrize("create", [True, False])
def test_given_the_database_of_another_program_when_it_is_opened_then_it_is_refused_and_unchanged(
    path: Path, create: bool
) -> None:
    foreign_tables(path)
    before = path.read_bytes()
    with pytest.raises(RunError, match="was not written by medjudge"):
        opened(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize("create", [True, False])
def test_given_a_file_that_is_no_database_when_it_is_opened_then_it_is_refused(path: Path, create: bool) -> None:
    path.write_bytes(b"# A title\n" * 200)
    with pytest.raises(RunError, match="cannot be opened: file is not a database"):
        opened(path, create=create)


def test_given_no_file_or_a_folder_when_it_is_opened_then_the_error_names_it(tmp_path: Path) -> None:
    for path, create in ((tmp_path / "none", False), (tmp_path, True)):
        with pytest.raises(RunError, match=f"{path} cannot be opened"):
            opened(path, create=create)
    assert not (tmp_path / "none").exists()


def test_given_a_database_open_for_reading_when_it_is_written_then_it_is_an_error_and_reading_goes_on(
    path: Path,
) -> None:
    writer = opened(path)
    writer.run(put(1))  # type: ignore[arg-type]
    reader = opened(path, create=False, read_only=True)
    with pytest.raises(RunError, match="readonly"):
        reader.run(put(2))  # type: ignore[arg-type]

    assert numbers(reader) == [1]
    writer.run(put(3))  # type: ignore[arg-type]
    assert numbers(reader) == [1, 3]
    reader.close()
    writer.close()


def test_given_a_new_file_when_it_is_created_then_write_ahead_logging_is_used_and_kept(path: Path) -> None:
    for _ in range(2):
        database = opened(path)
        database.run(lambda db: None)
        database.close()
        assert database.journal_mode == "wal" or on_network_file_system(path)


MOUNTS = r"""
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/local xfs rw 0 0
//nas/x /mnt/two\040words cifs rw 0 0
//nas/y /mnt/tab\011here smb3 rw 0 0
u@h: /mnt/ssh fuse.sshfs rw 0 0
systemd-1 /mnt/auto autofs rw 0 0
server:/auto /mnt/auto nfs rw 0 0
/dev/sdc1 /mnt/ntfs fuseblk rw 0 0
tmpfs /scratch tmpfs rw
broken
"""


@pytest.mark.parametrize(
    ("place", "network"),
    [("/srv/run", False), ("/home/u/run", True), ("/home/local/run", False), ("/home", True), ("/homes/u", False),
     ("/mnt/two words/run", True), ("/mnt/tab\there/run", True), ("/mnt/ssh/run", True), ("/mnt/auto/run", True),
     ("/mnt/ntfs/run", False), ("/scratch/run", False)],
)  # fmt: skip
def test_given_the_table_of_mounts_when_a_place_is_looked_up_then_its_closest_mount_decides(
    tmp_path: Path, place: str, network: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS, encoding="utf-8")
    assert on_network_file_system(Path(place), mounts) is network


def test_given_a_link_to_a_network_file_system_when_it_is_looked_up_then_the_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"d / ext4 rw 0 0\ns:/x {tmp_path / 'real'} nfs rw 0 0\n", encoding="utf-8")

    assert on_network_file_system(tmp_path / "link" / "run.sqlite", mounts)
    assert not on_network_file_system(tmp_path / "run.sqlite", mounts)


def test_given_no_table_of_mounts_when_a_place_is_looked_up_then_it_is_local(tmp_path: Path) -> None:
    assert not on_network_file_system(Path("/home/x"), tmp_path / "none")
