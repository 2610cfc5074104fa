"""One process at a time in a folder."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from judge.errors import RunError


def lock_folder(folder: Path, name: str, taken: str) -> FileLock:
    """Take the lock of a folder, a file of this name in it; the system gives it back when the process ends.

    Raises:
        RunError: another process has it (`taken` says what that one does), or the folder cannot be written.
    """
    lock = FileLock(folder / name, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(f"{folder} {taken} by another process") from None
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from None
    return lock
