"""Tables made once, for the terminal and for the HTML report; the first columns of a table name what a row is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from judge.report.tables import number
from judge.report.text import one_line
from judge.stats import FEW_CLUSTERS, REASONS

#: Labels are folded to at least this, and to their longest word up to the other; numbers are never cut or folded.
NARROW, WIDE = 11, 20

#: Between two columns, and about the table.
_GAP, _EDGE = 3, 2

#: Of a label below another.
_INDENT = 2


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table.

    Attributes:
        columns: headings, those of labels first.
        labels: how many of the columns name what a row is about.
        note: a line below; may be empty.
        folded: whether a page shows it only when asked.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int
    note: str = ""
    folded: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"the table {self.title!r} has rows of other lengths than its {len(self.columns)} columns")

    def without_constant(self, *columns: str) -> Sheet:
        """Without those of these label columns that say the same in every row."""
        return self._without(
            {
                place
                for place, column in enumerate(self.columns)
                if column in columns and len({row[place] for row in self.rows}) < 2
            }
        )

    def with_constant_in_title(self, *columns: str) -> Sheet:
        """Without those of these label columns that say the same in every row; the title says it instead."""
        said = [
            self.rows[0][place]
            for place, column in enumerate(self.columns[: self.labels])
            if column in columns and self.rows and len({row[place] for row in self.rows}) == 1
        ]
        if not said or self.labels == len(said):
            return self
        return replace(self.without_constant(*columns), title=f"{self.title}: {', '.join(said)}")

    def without_empty(self) -> Sheet:
        """Without columns that say nothing in any row."""
        return self._without({place for place in range(len(self.columns)) if not any(row[place] for row in self.rows)})

    def without_zero(self, *columns: str) -> Sheet:
        """Without those of these columns that count nothing in any row."""
        return self._without(
            {
                place
                for place, column in enumerate(self.columns)
                if column in columns and all(row[place] == "0" for row in self.rows)
            }
        )

    def _without(self, gone: set[int]) -> Sheet:
        def kept(cells: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(cell for place, cell in enumerate(cells) if place not in gone)

        return replace(
            self,
            columns=kept(self.columns),
            rows=tuple(map(kept, self.rows)),
            labels=self.labels - sum(place < self.labels for place in gone),
        )

    def data(self) -> dict[str, Any]:
        """As `judge.report.sensitivity.sensitivity_section` takes it."""
        return {"title": self.title, "columns": list(self.columns), "labels": self.labels,
                "rows": [list(row) for row in self.rows], "note": self.note, "folded": self.folded}  # fmt: skip


def sheet(
    title: str, labels: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]], *notes: str
) -> Sheet:
    """A table from its parts; notes that are empty are left out."""
    note = "; ".join(filter(None, notes))
    return Sheet(title, (*labels, *numbers), tuple(tuple(row) for row in rows), len(labels), note)


def print_sheets(sheets: Iterable[Sheet], out: Console) -> None:
    """Every table that has rows.

    Labels stand in columns of their own if all numbers fit beside them; else below each other in one column, and the
    numbers in as many parts as they need.
    """
    for one in sheets:
        if not one.rows:
            continue
        numbers = list(range(one.labels, len(one.columns)))
        if sum(_label_widths(one)) + _needed(one, numbers) + _GAP * (one.labels - 1) <= out.width:
            out.print(_flat(one, out.width))
        else:
            for table in _trees(one, out.width):
                out.print(table)
        if one.note:
            out.print(f"  {one_line(one.note)}\n")


def _needed(one: Sheet, numbers: Sequence[int]) -> int:
    """Width of some columns of numbers, with what is between them, before them and about the table."""
    return sum(max(len(row[place]) for row in (one.columns, *one.rows)) + _GAP for place in numbers) + _EDGE


def _label_widths(one: Sheet) -> list[int]:
    """The least width of each label column: its longest word, within limits."""
    found = []
    for place in range(one.labels):
        cells = [row[place] for row in (one.columns, *one.rows)]
        word = max((len(word) for cell in cells for word in cell.split()), default=0)
        found.append(min(max(map(len, cells)), WIDE, max(word, NARROW)))
    return found


def _flat(one: Sheet, width: int) -> Table:
    table = _table(one)
    numbers = list(range(one.labels, len(one.columns)))
    spare = width - sum(_label_widths(one)) - _needed(one, numbers) - _GAP * (one.labels - 1)
    for place, least in enumerate(_label_widths(one)):
        natural = max(len(row[place]) for row in (one.columns, *one.rows))
        more = max(0, min(natural - least, spare))
        spare -= more
        table.add_column(one.columns[place], overflow="fold", width=least + more)  # exact: rich would cut numbers first
    for place in numbers:
        longest = max(len(row[place]) for row in (one.columns, *one.rows))
        table.add_column(one.columns[place], justify="right", no_wrap=True, min_width=longest)
    before: tuple[str, ...] = ()
    for row in one.rows:
        names = row[: one.labels]
        cells = ("",) * _shared(names, before) + names[_shared(names, before) :] + row[one.labels :]
        table.add_row(*map(one_line, cells))
        before = names
    return table


def _trees(one: Sheet, width: int) -> Iterator[Table]:
    """Tables of as many columns of numbers as fit beside the one with all labels."""
    labels = min(max(_INDENT * depth + len(text) for depth, text, _ in _lines(one, [])), width * 2 // 5)
    numbers = list(range(one.labels, len(one.columns)))
    while numbers:
        fitting = [n for n in range(1, len(numbers) + 1) if labels + _needed(one, numbers[:n]) <= width]
        part, numbers = numbers[: max(fitting, default=1)], numbers[max(fitting, default=1) :]
        table = _table(one)
        table.add_column(" · ".join(one.columns[: one.labels]), overflow="fold", min_width=labels, max_width=labels)
        for place in part:
            table.add_column(one.columns[place], justify="right", no_wrap=True)
        for depth, text, cells in _lines(one, part):
            table.add_row(Padding(Text(one_line(text)), (0, 0, 0, _INDENT * depth)), *map(one_line, cells))
        yield table


def _lines(one: Sheet, numbers: Sequence[int]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Every label where it changes, with its depth; the last of a row has the numbers beside it."""
    before: tuple[str, ...] = ()
    for row in one.rows:
        names = row[: one.labels]
        for depth in range(_shared(names, before), one.labels):
            last = depth == one.labels - 1
            yield depth, names[depth], tuple(row[place] for place in numbers) if last else ("",) * len(numbers)
        before = names


def _shared(names: tuple[str, ...], before: tuple[str, ...]) -> int:
    """How many leading labels are those of the row above; never the last."""
    same = 0
    while same < len(names) - 1 and names[: same + 1] == before[: same + 1]:
        same += 1
    return same


def _table(one: Sheet) -> Table:
    return Table(title=one_line(one.title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)


# -- cells -------------------------------------------------------------------------------------------------------------


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return "-" if value is None else f"{value:+.3f}"


def signed_span(pair: Sequence[float] | None, reason: str = "") -> str:
    """An interval of a difference, or in a word why there is none."""
    return because(reason) if pair is None else f"{pair[0]:+.3f} to {pair[1]:+.3f}"


def because(reason: str) -> str:
    """What stands in place of a number; `explained` tells what the word means."""
    return f"- ({word(reason)})" if reason else "-"


def word(reason: str) -> str:
    return reason.replace("_", " ")


def explained(reasons: Iterable[str]) -> str:
    """What the words of `because` mean, each once; what has no interval since it has no value needs no word."""
    known = (reason for reason in dict.fromkeys(reasons) if reason in REASONS and reason != "no_value")
    return "; ".join(f"{word(reason)}: {REASONS[reason]}" for reason in known)


def few(n_clusters: Iterable[int | None]) -> str:
    """A warning where rows rest on few clusters; empty if none does."""
    counts = [count for count in n_clusters if count]
    found = [count for count in counts if count < FEW_CLUSTERS]
    if not found:
        return ""
    rows = "" if len(found) == len(counts) else f" in {len(found)} of {len(counts)} rows"
    least = f"only {min(found)}" if min(found) == max(found) else f"only {min(found)} to {max(found)}"
    clusters = "cluster" if max(found) == 1 else "clusters"
    return f"{least} {clusters} of cases{rows}: with fewer than {FEW_CLUSTERS}, intervals and tests tell little"


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def p_value(p: float | None) -> str:
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def estimate(found: Mapping[str, Any] | None) -> str:
    """A coefficient with its interval, or in a word why there is none."""
    if found is None:
        return ""
    if found["value"] is None:
        return because(found["reason"])
    ends = found["interval"]
    told = f"{number(ends[0])} to {number(ends[1])}" if ends else word(found["interval_reason"])
    return f"{number(found['value'])} ({told})"


def named(names: Iterable[str]) -> str:
    return " / ".join(names)
