"""No sentence of the summary says anything but what the labels say: each is worked out anew from random ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from judge.report.sensitivity_summary import summary
from judge.sensitivity import Material, sensitivity
from tests.runs.in_memory import Labels, candidate, judge_of, material, panel

Rows = Mapping[str, Mapping[str, Labels]]
"""Model -> judge -> labels."""

PEOPLE = ("ann", "bob")


class Facts:
    """Random labels, and what follows from them by nothing but counting."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.cases = [f"C{n}" for n in range(int(rng.integers(4, 40)))]
        self.judges = ["x", "y", "z"][: int(rng.integers(2, 4))]
        self.people = list(PEOPLE[: int(rng.integers(0, 3))])
        self.rows: dict[str, dict[str, dict[str, bool | None]]] = {}
        for model in ("alpha", "beta", "gamma")[: int(rng.integers(1, 4))]:
            truth = {case: bool(rng.random() < 0.5) for case in self.cases}
            self.rows[model] = {rater: self._labels(rng, truth, rater) for rater in (*self.judges, *self.people)}
        self.clusters = {case: case if seed % 2 else f"K{n // 2}" for n, case in enumerate(self.cases)}
        self.material = self._material()
        self.report = sensitivity(self.material)

    def _labels(self, rng: np.random.Generator, truth: Mapping[str, bool], rater: str) -> dict[str, bool | None]:
        asked = 0.4 if rater in PEOPLE else 1.0
        wrong = float(rng.choice([0.0, 0.1, 0.5]))
        return {
            case: None if rng.random() < 0.05 else label != (rng.random() < wrong)
            for case, label in truth.items()
            if rng.random() < asked
        }

    def _material(self) -> Material:
        candidates = [
            candidate(model, self._with_jury(of), self.cases, self.clusters) for model, of in self.rows.items()
        ]
        return material(candidates, [panel("jury", *self.judges)], self.people)

    def _with_jury(self, of: Mapping[str, Labels]) -> dict[str, Labels]:
        """A panel beside the others, which has the first judge's labels."""
        return {**of, "jury": of[self.judges[0]]}

    def labels(self, model: str, rater: str) -> dict[str, bool]:
        own = self.judges[0] if rater == "jury" else rater
        return {case: label for case, label in self.rows[model][own].items() if label is not None}

    def shared(self, raters: tuple[str, str]) -> list[str]:
        """Cases that both scored for all models."""
        return [case for case in self.cases
                if all(case in self.labels(model, rater) for model in self.rows for rater in raters)]  # fmt: skip

    def reversals(self, raters: tuple[str, str]) -> list[tuple[str, str]]:
        """Models that the first puts above others and the second below them, on what both scored for all."""
        cases = self.shared(raters)
        means = {(rater, model): sum(self.labels(model, rater)[case] for case in cases)
                 for rater in raters for model in self.rows}  # fmt: skip
        first, second = raters
        return [(a, b) for a in self.rows for b in self.rows
                if means[first, a] > means[first, b] and means[second, a] < means[second, b]]  # fmt: skip

    def ac1(self, model: str, raters: tuple[str, str]) -> tuple[int, float, float | None]:
        """Items, raw agreement and Gwet's AC1 of two labels, by its definition."""
        a, b = (self.labels(model, rater) for rater in raters)
        both = [case for case in a if case in b]
        if not both:
            return 0, 0.0, None
        raw = fmean(a[case] == b[case] for case in both)
        share = fmean([*(a[case] for case in both), *(b[case] for case in both)])
        chance = 2 * share * (1 - share)
        return len(both), raw, None if share in (0, 1) or len(both) == 1 else (raw - chance) / (1 - chance)


def model_in(facts: Facts, text: str | None) -> str:
    return text or next(iter(facts.rows))


def check_largest(facts: Facts, found: re.Match[str]) -> None:
    names = [*facts.judges, "jury"]
    pairs = [(model, pair) for model in facts.rows for pair in combinations(names, 2)]
    differences = {}
    for model, (a, b) in pairs:
        x, y = facts.labels(model, a), facts.labels(model, b)
        both = [case for case in x if case in y]
        if both:
            differences[model, a, b] = (len(both), fmean(x[c] for c in both), fmean(y[c] for c in both))
    p = {(row["model"], *row["judges"]): row["compared"]["p_holm"] for row in facts.report["differences"]}
    clear = [key for key in differences if p[key] is not None and p[key] < 0.05]
    model, first, second = model_in(facts, found["model"]), found["first"], found["second"]
    n, mean, other = differences[model, first, second]
    assert (int(found["units"]), found["a"], found["b"]) == (n, f"{mean:.3f}", f"{other:.3f}")
    most = max(abs(differences[key][1] - differences[key][2]) for key in (clear or differences))
    assert abs(mean - other) == pytest.approx(most)
    assert int(found["among"]) == len(differences)
    assert int(found["clear"] or 0) == len(clear)
    assert ("No two" in found["lead"]) == (not clear and most == 0)


def check_no_reversal(facts: Facts, found: re.Match[str]) -> None:
    pairs = list(combinations([*facts.judges, "jury"], 2))
    assert not any(facts.reversals(pair) for pair in pairs if facts.shared(pair))
    counts = [len(facts.shared(pair)) for pair in pairs if facts.shared(pair)]
    assert (int(found["least"]), int(found["most"] or found["least"])) == (min(counts), max(counts))


def check_reversal(facts: Facts, found: re.Match[str]) -> None:
    pair = (found["first"], found["second"])
    assert (found["above"], found["below"]) in facts.reversals(pair)
    cases = facts.shared(pair)
    assert int(found["n"]) == len(cases)
    for rater, above, below in ((pair[0], "a", "b"), (pair[1], "c", "d")):
        for model, value in ((found["above"], found[above]), (found["below"], found[below])):
            assert value == f"{fmean(facts.labels(model, rater)[case] for case in cases):.3f}"
    every = [one for two in combinations([*facts.judges, "jury"], 2) for one in facts.reversals(two)]
    assert int(found["of"] or 1) == len(every)


def check_agreement(facts: Facts, found: re.Match[str], pairs: list[tuple[str, str]]) -> None:
    compared = {(model, *pair): facts.ac1(model, pair) for model in facts.rows for pair in pairs}
    n, raw, ac1 = compared[model_in(facts, found["model"]), found["first"], found["second"]]
    assert (int(found["n"]), found["raw"]) == (n, f"{100 * raw:.1f}")
    assert found["ac1"] == (None if ac1 is None else f"{ac1:.3f}")
    assert ("only one item" in found[0]) == (n == 1)
    enough = [one for one in compared.values() if one[0] >= 10]
    if not enough:
        assert n == max(one[0] for one in compared.values())
        assert "(no comparison has 10 labels)" in found[0]
        return
    values = [value for _, _, value in enough if value is not None]
    assert ac1 == (pytest.approx(min(values)) if values else None)
    assert int(found["of"] or 1) == len(values or enough)
    assert (found["how"] is None) == (not values or len(values) == 1)


def check_missing(facts: Facts, found: re.Match[str]) -> None:
    model = model_in(facts, found["model"])
    for rater, share in ((found["first"], found["a"]), (found["second"], found["b"])):
        own = facts.rows[model][facts.judges[0] if rater == "jury" else rater]
        assert share == f"{100 * fmean(label is None for label in own.values()):.1f}"


AGREEMENT = (
    r"(?P<first>\w+) and (?P<second>\w+) give the same label in (?P<raw>[\d.]+) % \([^)]*\) of (?P<n>\d+) labels? of "
    r"accuracy(?: of (?P<model>\w+))?: (?:AC1 (?P<ac1>[-\d.]+) [^;]*?|beyond chance nothing can be said: [^;]*?)"
    r"(?: \(the least(?P<how> beyond chance)? of (?P<of>\d+) comparisons of at least 10 labels\)"
    r"| \(no comparison has 10 labels\))?"
)

LARGEST = (
    r"(?P<lead>(?:(?P<clear>\d+)|No difference between judges is shown to be clear; the largest|The largest"
    r"|No two judges' means differ in any) of (?P<among>\d+) differences? between judges.*?) "
    r"(?:for |is in |e\.g\. in )Accuracy \(judged\)(?: of (?P<model>\w+))?: (?P<a>[\d.]+) by (?P<first>\w+) and "
    r"(?P<b>[\d.]+) by (?P<second>\w+) on the (?P<units>\d+) units? that both scored .*"
)

NO_REVERSAL = (
    r"No two judges put any two models in opposite orders, on the (?P<least>\d+)(?: to (?P<most>\d+))? cases? that "
    r"both scored for all models"
)

REVERSAL = (
    r"On Accuracy \(judged\) (?P<first>\w+) puts (?P<above>\w+) above (?P<below>\w+) \((?P<a>[\d.]+), (?P<b>[\d.]+)\) "
    r"and (?P<second>\w+) the reverse \((?P<c>[\d.]+), (?P<d>[\d.]+)\) on the (?P<n>\d+) cases? that both scored for "
    r"all models, (?:the clearest of (?P<of>\d+) such reversals, )?.*"
)

MISSING = (
    r"Accuracy \(judged\)(?: of (?P<model>\w+))? has no score in (?P<a>[\d.]+) % by (?P<first>\w+) and in "
    r"(?P<b>[\d.]+) % by (?P<second>\w+) of the \d+ units? that both were asked about, and such units are in no "
    r"comparison"
)


def check_judges(facts: Facts, found: re.Match[str]) -> None:
    check_agreement(facts, found, list(combinations(facts.judges, 2)))


def check_against_people(facts: Facts, found: re.Match[str]) -> None:
    check_agreement(facts, found, [(judge, person) for judge in facts.judges for person in facts.people])


def check_people(facts: Facts, found: re.Match[str]) -> None:
    check_agreement(facts, found, [PEOPLE])


CLAIMS: dict[str, Callable[[Facts, re.Match[str]], None]] = {
    LARGEST: check_largest,
    NO_REVERSAL: check_no_reversal,
    REVERSAL: check_reversal,
    f"Among judges, {AGREEMENT}": check_judges,
    f"Against people, {AGREEMENT}": check_against_people,
    f"[Aa]mong people, {AGREEMENT}": check_people,
    MISSING: check_missing,
}


def sentences(report: Mapping[str, Any]) -> Iterator[str]:
    """The parts of the summary that claim one thing each."""
    for sentence in summary(report):
        assert sentence.endswith(".")
        yield from re.split(r"; (?=among people)", sentence[:-1])


@pytest.mark.parametrize("seed", [*range(9), 114])
def test_every_claim_follows_from_the_labels(seed: int) -> None:
    facts = Facts(seed)
    told = list(sentences(facts.report))
    assert len(summary(facts.report)) <= 6
    assert told
    for sentence in told:
        matches = [(check, found) for claim, check in CLAIMS.items() if (found := re.fullmatch(claim, sentence))]
        assert len(matches) == 1, sentence
        ((check, found),) = matches
        check(facts, found)


def test_people_who_rated_a_few_cases_do_not_change_how_judges_are_compared() -> None:
    """Given judges that order two models otherwise on 40 cases, and a person who rated 5 on which they do not."""
    cases = [f"C{n}" for n in range(40)]
    solved = {("alpha", "x"): 30, ("beta", "x"): 20, ("alpha", "y"): 20, ("beta", "y"): 30}
    models = [
        candidate(
            model,
            {judge: {case: n < solved[model, judge] for n, case in enumerate(cases)} for judge in ("x", "y")}
            | {"ann": dict.fromkeys(cases[:5], True)},
            cases,
        )
        for model in ("alpha", "beta")
    ]
    report = sensitivity(material(models, people=["ann"]))
    (entry,) = [entry for entry in report["ranks"] if entry["metric"] == "accuracy"]
    assert {row["judge"]: (row["n"], row["person"]) for row in entry["judges"]} == {
        "x": (40, False),
        "y": (40, False),
        "ann": (5, True),
    }
    assert {tuple(pair["judges"]): (pair["n"], len(pair["changes"])) for pair in entry["pairs"]} == {
        ("x", "y"): (40, 1),
        ("x", "ann"): (5, 0),
        ("y", "ann"): (5, 0),
    }
    said = "x puts alpha above beta (0.750, 0.500) and y the reverse (0.500, 0.750) on the 40 cases that both scored"
    assert any(said in sentence for sentence in summary(report))


def test_a_reversal_between_two_repetitions_of_one_judge_is_called_so() -> None:
    """Given a judge that is asked twice under equal settings, and orders two models otherwise the second time."""
    cases = [f"C{n}" for n in range(12)]
    solved = {("alpha", "once"): 8, ("beta", "once"): 4, ("alpha", "again"): 4, ("beta", "again"): 8}
    models = [
        candidate(
            model,
            {time: {case: n < solved[model, time] for n, case in enumerate(cases)} for time in ("once", "again")},
            cases,
        )
        for model in ("alpha", "beta")
    ]
    report = sensitivity(material(models, [judge_of("once", "m"), judge_of("again", "m")]))
    said = "once puts alpha above beta (0.667, 0.333) and again, asked under equal settings, the reverse (0.333, 0.667)"
    assert any(said in sentence for sentence in summary(report))


def test_comparisons_of_which_nothing_can_be_said_beyond_chance_are_none_of_those_it_is_least_in() -> None:
    """Given three judges of whom two say true of everything, so that chance explains all of their agreement."""
    cases = [f"C{n}" for n in range(12)]
    yes = dict.fromkeys(cases, True)
    said = {"x": yes, "y": yes, "z": {case: n < 9 for n, case in enumerate(cases)}}
    sentence = next(one for one in summary(sensitivity(material([candidate("alpha", said, cases)]))) if "Among" in one)
    assert "(the least beyond chance of 2 comparisons of at least 10 labels)" in sentence
    alike = summary(sensitivity(material([candidate("alpha", {**said, "z": yes}, cases)])))
    (sentence,) = [one for one in alike if "Among" in one]
    assert "beyond chance nothing can be said" in sentence
    assert "(the least of 3 comparisons of at least 10 labels)" in sentence


def test_of_one_judge_the_summary_says_that_there_is_no_other() -> None:
    (sentence,) = summary(sensitivity(material([candidate("alpha", {"x": {"C0": True, "C1": False}}, ["C0", "C1"])])))
    assert sentence == "Only x judged these outputs, so that there is no other to compare it with."


def test_of_two_people_alone_the_summary_says_how_far_they_agree() -> None:
    cases = [f"C{n}" for n in range(12)]
    said = {"ann": {case: n < 6 for n, case in enumerate(cases)}, "bob": {case: n < 9 for n, case in enumerate(cases)}}
    (sentence,) = summary(sensitivity(material([candidate("alpha", said, cases)], people=list(PEOPLE))))
    assert sentence.startswith("Among people, ann and bob give the same label in 75.0 % (")
    assert "of 12 labels of accuracy: AC1 0.529 (" in sentence  # 15 of 24 are true: (3/4 - 15/32) / (1 - 15/32)
