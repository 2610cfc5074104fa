"""How much of a result is the judge, in at most six sentences.

Every number is one of the report's, with its n and its interval; each sentence says among how many its example was
picked, so that none says more than the tables do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judge.report.sensitivity_labels import measures, share, what
from judge.report.sheets import estimate, explained, named, p_value, percent, signed, signed_span, word
from judge.report.tables import counted, number
from judge.sensitivity.labels import JUDGES, PEOPLE, WITH_PERSON
from judge.sensitivity.settings import SAME

Row = Mapping[str, Any]

MOST = 6

#: With fewer labels a comparison tells nothing of how far two agree.
ENOUGH = 10


def summary(report: Row) -> list[str]:
    """The sentences, what matters most first."""
    found = [
        _alone(report),
        _largest(report),
        _orders(report),
        _judges(report),
        _people(report),
        _consistency(report),
        "; ".join(filter(None, (_refused(report), _missing(report)))),
    ]
    return [f"{sentence}." for sentence in found if sentence][:MOST]


def _alone(report: Row) -> str:
    if len(report["judges"]) > 1:
        return ""
    return f"Only {report['judges'][0]['name']} judged these outputs, so that there is no other to compare it with"


def _where(report: Row, row: Row) -> str:
    """Model and setting of a row, as far as there are several."""
    model = f" of {row['model']}" if len(report["runs"]) > 1 else ""
    return model + _in(report, row)


def _in(report: Row, row: Row) -> str:
    return f" in {row['setting']}" if len(report["settings"]) > 1 else ""


# -- scores ------------------------------------------------------------------------------------------------------------


def between_judges(report: Row) -> list[Row]:
    """Differences between two judges that could be computed; not between one and itself, nor with a person."""
    return [row for row in report["differences"] if row["axis"] != SAME and not _with_person(report, row)
            and row["compared"] and row["compared"]["difference"] is not None]  # fmt: skip


def _with_person(report: Row, row: Row) -> bool:
    people = {judge["name"] for judge in report["judges"] if judge["kind"] == "person"}
    return bool(people & set(row["judges"]))


def is_clear(report: Row, compared: Row) -> bool:
    """Whether a difference is clear after correction for all tests of the report."""
    return compared["p_holm"] is not None and compared["p_holm"] < report["tests"]["level"]


def _largest(report: Row) -> str:
    rows = between_judges(report)
    if not rows:
        return ""
    clear = [row for row in rows if is_clear(report, row["compared"])]
    row = max(clear or rows, key=lambda row: abs(row["compared"]["difference"]))
    compared, flips = row["compared"], row["flips"]
    (first, second), (a, b) = row["judges"], compared["means"]
    return (
        f"{_lead(rows, clear, row)} {row['title']}{_where(report, row)}: {number(a)} by {first} and {number(b)} "
        f"by {second} on the {counted(row['n_units'], 'unit')} that both scored ({_tested(report, compared)}); "
        f"{counted(flips['count'], 'score')} differ{'s' * (flips['count'] == 1)}, {_share(flips)}"
    )


def _share(flips: Row) -> str:
    return share({**flips, "value": flips["share"]})


def _lead(rows: Sequence[Row], clear: Sequence[Row], row: Row) -> str:
    among = f"of {counted(len(rows), 'difference')} between judges"
    if clear:
        are = "is" if len(clear) == 1 else "are"
        return f"{len(clear)} {among} {are} clear; the judge matters most for"
    if not row["compared"]["difference"]:
        return f"No two judges' means differ in any {among}, e.g. in"
    if all(one["compared"]["p_holm"] is None for one in rows):
        return f"The largest {among}, none of which can be tested, is in"
    return f"No difference between judges is shown to be clear; the largest {among} is in"


def _tested(report: Row, compared: Row) -> str:
    """A difference with its interval and its p, or why there are none."""
    ends, p = compared["interval"], compared["p_holm"]
    interval = f"95 % interval {signed_span(ends)}" if ends else f"no interval: {_reason(compared['interval_reason'])}"
    corrected = f", p {p_value(p)} corrected for {counted(report['tests']['n'], 'test')}" if p is not None else ""
    return f"{signed(compared['difference'])}, {interval}{corrected}"


def _reason(reason: str) -> str:
    """What a reason means, without the word for it."""
    return explained([reason]).removeprefix(f"{word(reason)}: ")


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranked_pairs(report: Row) -> list[tuple[Row, Row]]:
    """Pairs of judges, none of them a person, that both rank the models on cases they share."""
    return [(entry, pair) for entry in report["ranks"] for pair in entry["pairs"]
            if pair["between"] == JUDGES and pair["concordance"]]  # fmt: skip


def _orders(report: Row) -> str:
    """Whether the order of the models hangs on the judge."""
    pairs = ranked_pairs(report)
    if not pairs:
        return ""
    changes = [(entry, pair, change) for entry, pair in pairs for change in pair["changes"]]
    if not changes:
        least, most = min(pair["n"] for _, pair in pairs), max(pair["n"] for _, pair in pairs)
        n = counted(least, "case") if least == most else f"{least} to {most} cases"
        return f"No two judges put any two models in opposite orders, on the {n} that both scored for all models"
    entry, pair, change = max(changes, key=lambda found: found[2]["p_change"] or 0.0)
    first, second = change["judges"]
    (a, b), (c, d) = (_means(pair, change, judge) for judge in pair["judges"])
    again = ", asked under equal settings," * (pair["axis"] == SAME)
    n = counted(pair["n"], "case")
    picked = f", the clearest of {len(changes)} such reversals," if len(changes) > 1 else ","
    return (
        f"On {entry['title']}{_in(report, entry)} {first} puts {change['above']} above {change['below']} ({a}, {b}) "
        f"and {second}{again} the reverse ({c}, {d}) on the {n} that both scored for all models"
        f"{picked} {_noise(change)}"
    )


def _means(pair: Row, change: Row, judge: str) -> tuple[str, str]:
    means = pair["means"][judge]
    return number(means[change["above"]]), number(means[change["below"]])


def _noise(change: Row) -> str:
    if change["p_change"] is None:
        return f"of which it cannot be said whether it is noise: {_reason(change['reason'])}"
    draws = f"both orders hold together in a share of {number(change['p_change'])} of draws of the cases"
    verdict = {
        True: "which is more than noise",
        False: "which may be noise",
        None: f"of which it cannot be said whether it is noise as {_reason(change['reason'])}",
    }[change["outside_noise"]]
    return f"{verdict}: {draws}"


# -- labels ------------------------------------------------------------------------------------------------------------


def compared_pairs(report: Row, between: str) -> list[tuple[Row, Row]]:
    """Pairs of raters with a value over all items of a kind, none of them one judge twice, nor a panel."""
    return [(entry, pair) for entry in report["agreement"] if entry["items"] == "all" for pair in entry["pairs"]
            if pair["between"] == between and pair["axis"] != SAME and not pair["panel"]
            and _raw(pair)["value"] is not None]  # fmt: skip


def _raw(one: Row) -> Row:
    found: Row = one["estimates"]["raw_agreement"]
    return found


def beyond_chance(entry: Row, one: Row) -> Row:
    """Gwet's AC1, of grades AC2, by which comparisons are picked: a kappa may be low where nearly all labels agree."""
    found: Row = one["estimates"]["gwet_ac2_quadratic" if entry["ordinal"] else "gwet_ac1"]
    return found


def _least(found: Sequence[tuple[Row, Row]]) -> tuple[tuple[Row, Row] | None, str]:
    """The comparison with the least agreement beyond chance of those with enough labels, and among how many.

    Where all labels are alike nothing can be said beyond chance; such a comparison is taken only if there is no other,
    and one with fewer labels, the one with most, only where none has enough.
    """
    enough = [one for one in found if _raw(one[1])["n_items"] >= ENOUGH]
    if not enough:
        most = max(found, key=lambda one: _raw(one[1])["n_items"], default=None)
        return most, f" (no comparison has {ENOUGH} labels)"
    known = [one for one in enough if beyond_chance(*one)["value"] is not None]
    if known:
        return min(known, key=lambda one: float(beyond_chance(*one)["value"])), _picked(" beyond chance", len(known))
    return min(enough, key=lambda one: float(_raw(one[1])["value"])), _picked("", len(enough))


def _picked(how: str, n: int) -> str:
    return f" (the least{how} of {n} comparisons of at least {ENOUGH} labels)" if n > 1 else ""


def _agree(entry: Row, one: Row, where: str) -> str:
    """Agreement in words: how often the same label, and what that is beyond chance, with intervals."""
    ordinal, estimates = entry["ordinal"], one["estimates"]
    shown = [(called, estimates[name]) for called, name in measures(ordinal).items() if name in estimates]
    told = [f"{called} {estimate(of)}" for called, of in reversed(shown[:2]) if of["value"] is not None]
    beyond = ", ".join(told) or f"beyond chance nothing can be said: {_reason(beyond_chance(entry, one)['reason'])}"
    noun = "grade" if ordinal else "label"
    n = counted(_raw(one)["n_items"], noun)
    return f"the same {noun} in {share(_raw(one))} of {n} of {what(entry)}{where}: {beyond}"


def _pair(report: Row, found: tuple[Row, Row], picked: str) -> str:
    entry, pair = found
    return f"{' and '.join(pair['raters'])} give {_agree(entry, pair, _where(report, entry))}{picked}"


def _judges(report: Row) -> str:
    least, picked = _least(compared_pairs(report, JUDGES))
    return f"Among judges, {_pair(report, least, picked)}" if least else ""


def _people(report: Row) -> str:
    """Judges against people, and people among themselves."""
    told = [
        f"{called}, {_pair(report, least, picked)}"
        for called, between in (("against people", WITH_PERSON), ("among people", PEOPLE))
        for least, picked in [_least(compared_pairs(report, between))]
        if least is not None
    ]
    sentence = "; ".join(told)
    return sentence[:1].upper() + sentence[1:]


def _consistency(report: Row) -> str:
    """The judge that repeats itself least."""
    rows = [row for row in report["self_consistency"]["pooled"] if row["items"] == "all"
            and _raw(row["compared"])["value"] is not None]  # fmt: skip
    least, picked = _least([(row, row["compared"]) for row in rows])
    if least is None:
        return ""
    row, one = least
    where = f" of {', '.join(row['models'])}" * (len(report["runs"]) > 1) + _in(report, row)
    return f"Asked again under equal settings, {named(row['judges'])} gives {_agree(row, one, where)}{picked}"


# -- what is not compared ----------------------------------------------------------------------------------------------


def _refused(report: Row) -> str:
    rows = [row for row in report["differences"] if row["not_comparable"]]
    if not rows:
        return ""
    titles = ", ".join(dict.fromkeys(row["title"] for row in rows))
    row = rows[0]
    more = ", nor of other pairs" if len({tuple(row["judges"]) for row in rows}) > 1 else ""
    return f"{titles} by {' and by '.join(row['judges'])}{more} is not compared; the notes say why"


def missing(report: Row) -> Iterator[Row]:
    """Rows of two judges that did not leave as much unscored."""
    yield from (row for row in report["unscored"] if row["compared"]["difference"] and not _with_person(report, row))


def _missing(report: Row) -> str:
    row = max(missing(report), key=lambda row: abs(row["compared"]["difference"]), default=None)
    if row is None:
        return ""
    (first, second), (a, b) = row["judges"], row["compared"]["means"]
    return (
        f"{row['title']}{_where(report, row)} has no score in {percent(a)} by {first} and in {percent(b)} by {second} "
        f"of the {counted(row['n_units'], 'unit')} that both were asked about, and such units are in no comparison"
    )
