"""Where the person sits: panels in a real terminal, plain text without escape codes over a pipe.

Whatever is shown may be a model's words, so all of it is made harmless to the terminal, and brackets are no markup.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from judge.report.text import one_line, printable

Style = Literal["", "dim", "bold", "yellow", "green", "cyan"]

#: Longer lines are tiring to read, however wide the window is.
WIDEST = 100

#: So much of a piped line is shown again.
ECHOED = 200


class EndOfInput(Exception):
    """The person has gone: end of file on standard input."""


class Terminal:
    """Shows texts and asks for lines.

    Args:
        plain: no escape codes even in a real terminal; anything but a terminal is served so anyway.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self.typed = sys.stdin.isatty()
        self.plain = plain or not (self.typed and sys.stdout.isatty())
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # a stray byte must not end a session
        if self.typed:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - line editing, and lines of any length
        self._console = Console(highlight=False, markup=False, emoji=False)

    def rule(self, title: str) -> None:
        """A line that begins something new."""
        if self.plain:
            self._print(f"\n=== {one_line(title)} ===")
        else:
            self._console.print()
            self._console.print(Rule(Text(one_line(title), style="bold"), align="left"), width=self._width)

    def block(self, title: str, text: str, style: Style = "", *, emphasis: bool = False) -> None:
        """A text of its own under a title.

        Args:
            emphasis: ``**such words**`` are set in bold where that can be.
        """
        shown = printable(text).strip("\n")
        if self.plain:
            self._print(f"--- {one_line(title)}\n{shown}")
        else:
            heading = Text(one_line(title), style="bold")
            inside = _emphasised(shown) if emphasis else Text(shown)
            frame = Panel(inside, title=heading, title_align="left", box=box.ROUNDED, border_style=style or "dim")
            self._console.print(frame, width=self._width)

    def say(self, text: str, style: Style = "", *, wrap: bool = True) -> None:
        """One remark, perhaps of several lines.

        Args:
            wrap: false leaves breaking to the terminal, so that a command can be copied.
        """
        if self.plain:
            self._print(printable(text))
        else:
            self._console.print(
                Text(printable(text), style=style), width=self._width if wrap else None, soft_wrap=not wrap
            )

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows of short texts; all columns but the first are figures."""
        cells = [[one_line(cell) for cell in row] for row in (columns, *rows)]
        if self.plain:
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
            self._print("\n".join([f"--- {one_line(title)}", *lines]))
            return
        table = Table(title=Text(one_line(title), style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
        for number, column in enumerate(cells[0]):
            table.add_column(column, justify="right" if number else "left")
        for row in cells[1:]:
            table.add_row(*row)
        self._console.print()
        self._console.print(table)

    def ask(self, prompt: str = "> ") -> str:
        """The next line, without its end.

        Raises:
            EndOfInput: there is none.
        """
        if self.typed:
            try:
                return input(prompt)
            except EOFError:
                print()
                raise EndOfInput from None
        line = sys.stdin.readline()
        if not line:
            raise EndOfInput
        line = line.rstrip("\r\n")
        self._print(f"{prompt}{_shortened(printable(line))}".rstrip())
        return line

    @property
    def _width(self) -> int:
        return min(self._console.width, WIDEST)

    def _print(self, text: str) -> None:
        print(text, flush=True)


_STRONG = re.compile(r"\*\*([^*\n]+)\*\*")


def _emphasised(text: str) -> Text:
    shown, end = Text(), 0
    for strong in _STRONG.finditer(text):
        shown.append(text[end : strong.start()]).append(strong.group(1), style="bold")
        end = strong.end()
    return shown.append(text[end:])


def _shortened(line: str) -> str:
    return line if len(line) <= ECHOED else f"{line[:ECHOED]}… ({len(line):,} characters)"
