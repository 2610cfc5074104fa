"""What a run is doing, on standard error: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Set
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from judge.benchmark import Unit
from judge.models.door import Door
from judge.runs.launch import Watcher

#: Seconds between plain lines; a last one always comes at the end.
PLAIN_EVERY = 10.0
#: A request under way for longer than this is named.
SLOW = 20.0


class Progress(Watcher):
    """Counts and rates of one run.

    Args:
        stream: where to write; a terminal gets a display that is redrawn, anything else a line now and then.
    """

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._total = self._done_before = self._played = 0
        self._unscored: Counter[str] = Counter()
        self._scored: Set[str] = frozenset()
        self._door: Door | None = None
        self._since = time.monotonic()
        self._live: Live | None = None
        self._stop = threading.Event()
        self._ticker: threading.Thread | None = None

    def begin(self, total: int, done: int, door: Door, scored: Set[str]) -> None:
        self._scored = scored
        self._total, self._done_before, self._door = total, done, door
        self._since = time.monotonic()
        if self._console.is_terminal:
            self._live = Live(get_renderable=self._display, console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        else:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()

    def finished(self, unit: Unit, status: str) -> None:
        self._played += 1
        if status not in self._scored:
            self._unscored[status] += 1

    def end(self) -> None:
        self._stop.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._live is not None:
            self._live.stop()
        self._console.print(self.line(ended=True), soft_wrap=True)

    def _tick(self) -> None:
        while not self._stop.wait(PLAIN_EVERY):
            self._console.print(self.line(), soft_wrap=True)
            for text in self.slow():
                self._console.print(f"  {text}", soft_wrap=True)

    def _display(self) -> Text:
        return Text("\n".join([self.line(), *(f"  {text}" for text in self.slow())]))

    def line(self, *, ended: bool = False) -> str:
        """One line: units, calls a second, tokens, unscored so far, time left."""
        assert self._door is not None
        traffic = self._door.traffic
        seconds = max(time.monotonic() - self._since, 1e-6)
        done = self._done_before + self._played
        parts = [
            f"{done}/{self._total} units",
            f"{traffic.answered} calls ({traffic.answered / seconds:.1f}/s)",
            f"tokens {traffic.prompt_tokens:,} in, {traffic.completion_tokens:,} out",
            f"unscored {sum(self._unscored.values())}{_reasons(self._unscored)}",
        ]
        if traffic.stored:
            parts.append(f"{traffic.stored} from store")
        if traffic.retries:
            parts.append(f"{traffic.retries} retries")
        if ended:
            return " · ".join(parts)
        if self._door.stopping:
            parts.append("stopping: waiting for what is in flight")
        elif left := self._time_left(seconds):
            parts.append(f"{left} left")
        return " · ".join(parts)

    def slow(self) -> list[str]:
        """The requests that have been under way for long, longest first."""
        assert self._door is not None
        now = time.monotonic()
        waiting = sorted(self._door.traffic.outstanding.values(), key=lambda call: call.since)
        late = [call for call in waiting if call.state != "queued" and now - call.since > SLOW]
        lines = [f"{call.address}: {call.state}, since {now - call.since:.0f} s" for call in late[:3]]
        return [*lines, f"and {len(late) - 3} more"] if len(late) > 3 else lines

    def _time_left(self, seconds: float) -> str:
        remaining = self._total - self._done_before - self._played
        if not self._played or not remaining:
            return ""
        return _duration(seconds / self._played * remaining)


def _reasons(counts: Counter[str]) -> str:
    if not counts:
        return ""
    return f" ({', '.join(f'{reason} {count}' for reason, count in counts.most_common(3))})"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def watcher_for(stream: TextIO) -> Watcher:
    """The display for a stream."""
    return Progress(stream)
