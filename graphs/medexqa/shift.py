"""Do the answer letters stand in the right rows? The explanations are asked, file by file.

A file whose letters slipped by a row cannot be seen in any single row, and every model scores near chance on it. So
the option that the explanations support is compared with the letter of the row itself and of its neighbours, up to
three rows away. Nothing here knows which file is faulty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from graphs.medexqa.chance import binomial_tail, holm, sign_test
from graphs.medexqa.support import supported_option

#: Offsets examined: the letter of row + offset.
OFFSETS = (-3, -2, -1, 0, 1, 2, 3)

#: A shift is believed only below this, after Holm's correction.
ALPHA = 0.001

#: A shift is believed only if the shifted letter is the supported one in at least this share of rows.
LEAST_SHARE = 0.5

#: The parts of a file that must agree before its letters are read from another row.
PARTS = 3

Verdict = Literal["own", "shifted", "partly_shifted", "unclear"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often the supported option is the letter some rows away.

    Attributes:
        offset: 0 is the row's own letter, 1 the next row's.
        matches: rows where it is.
        n: rows where the explanations support an option and there is such a row.
        chance: expected share if letters and explanations had nothing to do with each other, from how often each letter
            is supported and given.
        p: of at least so many matches by chance (binomial), adjusted.
        wins: rows where this letter is the supported one and the own is not; 0 for the own.
        losses: rows where the own letter is the supported one and this is not; 0 for the own.
        p_paired: that it beats the own letter so clearly by chance (sign test), adjusted; 1 for the own.
    """

    offset: int
    matches: int
    n: int
    chance: float
    p: float
    wins: int
    losses: int
    p_paired: float

    @property
    def share(self) -> float:
        """Matches by rows, 0 without rows."""
        return self.matches / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True)
class LabelShift:
    """What the explanations of one specialty say about its answer letters.

    Attributes:
        specialty: name.
        rows: that were examined.
        decided: rows whose explanations support one option.
        agreements: one for each of `OFFSETS`.
        verdict: ``own`` letters agree beyond chance; all letters are ``shifted``; some stretch is (``partly_shifted``);
            or ``unclear``.
        offset: of the letters that agree best where the verdict is a shift, else 0.
        shifted_parts: which thirds of the file are shifted on their own, from 1.
        perfect_matches: where ``shifted``, rows in which the right letter, read at `offset`, equals the own one.
        perfect_n: rows that have a letter at `offset`; their ratio is what perfect knowledge scores on the letters as
            published.
    """

    specialty: str
    rows: int
    decided: int
    agreements: tuple[Agreement, ...]
    verdict: Verdict
    offset: int
    shifted_parts: tuple[int, ...]
    perfect_matches: int
    perfect_n: int

    def at(self, offset: int) -> Agreement:
        """The agreement at one of `OFFSETS`."""
        return self.agreements[OFFSETS.index(offset)]


@dataclass(frozen=True, slots=True)
class _Column:
    """Letters and supported options by row; rows may be missing. `own` restricts the rows looked at."""

    letters: Mapping[int, str]
    supported: Mapping[int, str | None]
    own: Sequence[int]

    def pairs(self, offset: int) -> list[tuple[str, str, str]]:
        """(supported option, letter at the offset, own letter) of every row that has all three."""
        found = []
        for row in self.own:
            option, other = self.supported[row], self.letters.get(row + offset)
            if option is not None and other is not None:
                found.append((option, other, self.letters[row]))
        return found


def label_shifts(records: Iterable[Mapping[str, Any]]) -> dict[str, LabelShift]:
    """The test for every specialty among these records, by name.

    For each specialty and offset: a binomial test against chance, and a sign test against the own letter; both are
    corrected by Holm over all specialties and offsets. A file is shifted if, at the offset with the most matches, both
    are below `ALPHA`, the share is at least `LEAST_SHARE`, and each third of the file has that offset as its best with
    more matches than the own letters. A third that passes the tests alone, where the file does not, makes it partly
    shifted.

    Args:
        records: test questions with ``specialty``, ``row``, ``answer`` and what `supported_option` needs; all rows of a
            file, for neighbours count.
    """
    columns = _columns(records)
    whole = _agreements(columns)
    thirds = _agreements({(name, part): column for name in columns for part, column in _parts(columns[name])})
    return {name: _judge(name, columns[name], whole[name], thirds) for name in columns}


def corrected_labels(records: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Id to the letter that the audit takes to be right: the own one, but at the offset where a file is shifted.

    None where there is no row at that offset. These are not the published letters; scores against them must say so and
    stand apart.

    Args:
        records: as for `label_shifts`, with ``id``.
    """
    records = list(records)
    shifts = label_shifts(records)
    letters = {(record["specialty"], record["row"]): record["answer"] for record in records}
    return {
        record["id"]: letters.get((record["specialty"], record["row"] + _applied(shifts[record["specialty"]])))
        for record in records
    }


def _applied(shift: LabelShift) -> int:
    return shift.offset if shift.verdict == "shifted" else 0


def _columns(records: Iterable[Mapping[str, Any]]) -> dict[str, _Column]:
    by_specialty: dict[str, dict[int, Mapping[str, Any]]] = {}
    for record in records:
        rows = by_specialty.setdefault(record["specialty"], {})
        if record["row"] in rows:
            raise ValueError(f"row {record['row']} of {record['specialty']} is given twice")
        rows[record["row"]] = record
    return {
        name: _Column(
            {row: record["answer"] for row, record in rows.items()},
            {row: supported_option(record) for row, record in rows.items()},
            sorted(rows),
        )
        for name, rows in by_specialty.items()
    }


def _parts(column: _Column) -> list[tuple[int, _Column]]:
    size = len(column.own)
    numbered = ((place * PARTS // size, row) for place, row in enumerate(column.own))
    return [
        (part, _Column(column.letters, column.supported, [row for _, row in rows]))
        for part, rows in groupby(numbered, key=lambda item: item[0])
    ]


def _agreements(columns: Mapping[Any, _Column]) -> dict[Any, tuple[Agreement, ...]]:
    pairs = {(key, offset): column.pairs(offset) for key, column in columns.items() for offset in OFFSETS}
    raw = {place: _compare(place[1], found) for place, found in pairs.items()}
    by_chance = holm({place: found.p for place, found in raw.items()})
    paired = holm({place: found.p_paired for place, found in raw.items() if place[1]})
    return {key: tuple(_adjusted(raw[key, offset], by_chance[key, offset], paired.get((key, offset), 1.0))
                       for offset in OFFSETS) for key in columns}  # fmt: skip


def _compare(offset: int, pairs: Sequence[tuple[str, str, str]]) -> Agreement:
    matches = sum(option == other for option, other, _ in pairs)
    wins = sum(option == other != own for option, other, own in pairs)
    losses = sum(option == own != other for option, other, own in pairs)
    chance = _chance(pairs)
    return Agreement(
        offset=offset,
        matches=matches,
        n=len(pairs),
        chance=chance,
        p=binomial_tail(matches, len(pairs), chance),
        wins=wins,
        losses=losses,
        p_paired=sign_test(wins, losses) if offset else 1.0,
    )


def _chance(pairs: Sequence[tuple[str, str, str]]) -> float:
    if not pairs:
        return 0.0
    supported = Counter(option for option, _, _ in pairs)
    given = Counter(letter for _, letter, _ in pairs)
    return sum(supported[letter] * given[letter] for letter in given) / len(pairs) ** 2


def _adjusted(found: Agreement, p: float, p_paired: float) -> Agreement:
    return Agreement(found.offset, found.matches, found.n, found.chance, p, found.wins, found.losses, p_paired)


def _judge(name: str, column: _Column, agreements: tuple[Agreement, ...], thirds: Mapping[Any, Any]) -> LabelShift:
    parts = {part: thirds[name, part] for part, _ in _parts(column)}
    best = _best(agreements)
    shifted_parts = [part for part, found in parts.items() if _is_shift(_best(found))]
    everywhere = all(_best(found).offset == best.offset for found in parts.values())
    verdict: Verdict = "unclear"
    if _is_shift(best) and everywhere:
        verdict = "shifted"
    elif _is_shift(best) or shifted_parts:
        verdict = "partly_shifted"
        best = best if _is_shift(best) else _best(parts[shifted_parts[0]])
    elif best.offset == 0 and best.p < ALPHA:
        verdict = "own"
    offset = best.offset if verdict in ("shifted", "partly_shifted") else 0
    same = [column.letters[row] == column.letters[row + offset] for row in column.own if row + offset in column.letters]
    return LabelShift(
        specialty=name,
        rows=len(column.own),
        decided=sum(option is not None for option in column.supported.values()),
        agreements=agreements,
        verdict=verdict,
        offset=offset,
        shifted_parts=tuple(part + 1 for part in shifted_parts),
        perfect_matches=sum(same),
        perfect_n=len(same),
    )


def _best(agreements: Iterable[Agreement]) -> Agreement:
    """The offset with the highest share, the nearest of several."""
    return max(agreements, key=lambda found: (found.share, -abs(found.offset)))


def _is_shift(best: Agreement) -> bool:
    return best.offset != 0 and best.share >= LEAST_SHARE and max(best.p, best.p_paired) < ALPHA
