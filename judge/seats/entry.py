"""What a person types: commands, which begin with a slash, and entries of one or more lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.models.exchange import clean
from judge.seats.terminal import Terminal

_COMMAND = re.compile(r"\s*/([A-Za-z]+)\s*")

#: More than anybody types or pastes; the rest of an entry is not kept.
LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Command:
    """A line such as ``/undo``."""

    name: str


class Entry:
    """The lines typed so far; they outlast commands in between.

    Args:
        complete: whether these lines are a whole entry, asked after each line.
    """

    def __init__(self, terminal: Terminal, complete: Callable[[Sequence[str]], bool]) -> None:
        self.lines: list[str] = []
        self._terminal = terminal
        self._complete = complete

    def read(self) -> Command | list[str]:
        """The next command, or the next whole entry, which is then no longer kept here.

        Raises:
            EndOfInput: no more lines; those of an unfinished entry are still in `lines`.
        """
        while True:
            line = clean(self._terminal.ask())
            if command := _COMMAND.fullmatch(line):
                return Command(command.group(1).lower())
            self._keep(line)
            if self._complete(self.lines):
                return self.take()

    def take(self) -> list[str]:
        """The lines, as if they were complete."""
        taken, self.lines = self.lines, []
        return taken

    def _keep(self, line: str) -> None:
        room = LONGEST - sum(map(len, self.lines))
        if len(line) > room:
            self._terminal.say(f"An entry holds {LONGEST:,} characters at most; the rest is dropped.", "yellow")
        self.lines.append(line[: max(room, 0)])
