"""How numbers of a comparison were computed, in sentences with their sources; only of numbers that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from judge.report.tables import counted
from judge.sensitivity.material import RESAMPLES, SEED
from judge.stats import FEW_CLUSTERS

Row = Mapping[str, Any]

#: Coefficient that tables show, for labels without and with an order -> how a paper says it.
NOMINAL: Mapping[str, str] = {
    "cohen_kappa": "Cohen's kappa (Cohen 1960, Educ. Psychol. Meas. 20(1):37-46)",
    "gwet_ac1": "Gwet's AC1 (Gwet 2008, Br. J. Math. Stat. Psychol. 61(1):29-48)",
    "krippendorff_alpha_nominal": "Krippendorff's alpha for nominal labels (Krippendorff 2011)",
}
ORDINAL: Mapping[str, str] = {
    "cohen_kappa_quadratic": "Cohen's kappa with quadratic weights (Cohen 1968, Psychol. Bull. 70(4):213-220)",
    "gwet_ac2_quadratic": "Gwet's AC2 with quadratic weights (Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed.)",
    "krippendorff_alpha_interval": "Krippendorff's alpha for intervals (Krippendorff 2011)",
}

#: Of more than two raters.
FLEISS: Mapping[str, str] = {"fleiss_kappa": "Fleiss' kappa (Fleiss 1971, Psychol. Bull. 76(5):378-382)"}

_HOLM = "Holm 1979, Scand. J. Stat. 6(2):65-70"


# -- models against each other -----------------------------------------------------------------------------------------


def compared_models(report: Row) -> Iterator[str]:
    """Paragraphs on paired comparisons of models.

    Args:
        report: as `judge.runs.comparing.compare_runs`.
    """
    tests = [row for entry in report["settings"] for row in entry["tests"]]
    yield " ".join(_paired(report, tests))
    if found := " ".join(_detectable(tests)):
        yield found


def _paired(report: Row, tests: list[Row]) -> Iterator[str]:
    yield (
        "Two models are compared on the cases that both have a score on, a case counting once by the mean of its "
        f"epochs ({_sizes(tests)})."
    )
    yield from _drawn("Differences of means", tests, report["seed"], f"{report['resamples']:,}")
    made = [entry for entry in report["settings"] if entry["n_tests"]]
    if families := ", ".join(f"{counted(entry['n_tests'], 'test')} in {entry['setting']}" for entry in made):
        yield (
            "P values are corrected for all metrics and pairs of models of a setting by Holm's step-down method "
            f"({_HOLM}): {families}."
        )
    yield "Win rates are the cases won and half of those that came out even; their intervals are those of means."
    yield from _mcnemar(row["mcnemar"] for row in tests if row["mcnemar"])
    if any(entry["unscored"] for entry in report["settings"]):
        yield (
            "Shares of cases without a score are compared in the same way, over the cases that both models were asked; "
            "their p values are not corrected."
        )


def _mcnemar(tables: Iterable[Row]) -> Iterator[str]:
    found = list(tables)
    if any(one["p_exact"] is not None for one in found):
        yield (
            "For scores of 0 and 1, McNemar's exact test is given beside it, uncorrected (Fagerland, Lydersen & Laake "
            "2013, BMC Med. Res. Methodol. 13:91)."
        )
    if any(one["reason"] == "clustered" for one in found):
        yield "McNemar's test was not made where cases come in clusters, since it takes all cases for independent."


def _detectable(tests: list[Row]) -> Iterator[str]:
    """Which differences the comparison could find."""
    known = [row["detectable"] for row in tests if row["detectable"]["difference"] is not None]
    if not known:
        return
    yield (
        f"The least difference that a two-sided test at alpha {known[0]['alpha']:g} finds with power "
        f"{known[0]['power']:g} is (t(1 - alpha/2) + t(power)) standard errors of the paired difference, with clusters "
        "- 1 degrees of freedom (Bloom 1995, Evaluation Review 19(5):547-556) and errors clustered (CR1; Cameron & "
        "Miller 2015, J. Human Resources 50(2):317-372); it is before correction for the number of tests."
    )
    if needed := next((row["needed"] for row in tests if row["needed"]), None):
        yield (
            f"The number of cases to find a difference of {needed['difference']:g} is the least that meets the same "
            "condition, at the spread between clusters and the cases in a cluster that were seen."
        )


# -- judges against each other -----------------------------------------------------------------------------------------


def moved_by_judges(report: Row) -> list[str]:
    """Paragraphs on what a report of sensitivity computed.

    Args:
        report: as `judge.sensitivity.sensitivity`.
    """
    parts = (_differences(report), _agreement(report), _orders(report), _people(report), _preference(report))
    return [" ".join(part) for part in map(list, parts) if part]


def _differences(report: Row) -> Iterator[str]:
    found = [row for row in report["differences"] if row["compared"] and row["compared"]["n"]]
    rows = [row["compared"] for row in found]
    if not rows:
        return
    yield (f"Judges are compared on the units that both scored, a case counting once ({_sizes(rows)}).")
    yield from _drawn("Differences of means", rows, SEED, draws_of(report))
    if report["tests"]["n"]:
        yield (
            "P values are corrected for all paired tests of the report by Holm's step-down method "
            f"({_HOLM}): {counted(report['tests']['n'], 'test')}."
        )
    if any(row["flips"]["interval"] for row in found):
        yield "Shares of scores that differ have the intervals of means."
    if report["unscored"]:
        yield (
            "Shares of units without a score are compared in the same way as means, over the units that both judges "
            "were asked about."
        )


def draws_of(report: Row) -> str:
    """How many draws paired tests of judges are made with; more for those of which fewer could not tell."""
    most = report["tests"]["resamples"]
    return f"{RESAMPLES:,}" if most <= RESAMPLES else f"{RESAMPLES:,} to {most:,}"


def _agreement(report: Row) -> Iterator[str]:
    found: dict[str, None] = {}
    methods: set[str] = set()
    raw = False
    for estimate, ordinal, group in _estimates(report):
        raw |= estimate["name"] == "raw_agreement" and estimate["value"] is not None
        shown = {**(ORDINAL if ordinal else NOMINAL), **(FLEISS if group else {})}
        if estimate["name"] in shown and estimate["value"] is not None:
            found[shown[estimate["name"]]] = None
            methods.add(estimate["method"])
    if not raw:
        return
    *first, last = ["the share of equal labels, with the interval of a mean", *found]
    yield f"Agreement on single labels is {''.join(f'{one}; ' for one in first)}{'and ' * bool(first)}{last}."
    if "jackknife_t" in methods:
        yield (
            "95 % intervals of the coefficients are Student's t about their logit in units of their range, with "
            "errors by a jackknife over clusters (MacKinnon, Nielsen & Webb 2023, J. Appl. Econometrics 38(5):671-694)."
        )
    if report["self_consistency"]["pooled"]:
        yield "A judge that labelled the same output more than once is also compared with itself."


def _estimates(report: Row) -> Iterator[tuple[Row, bool, bool]]:
    """Every coefficient, whether its labels have an order, and whether it is of more than two raters."""
    for entry in report["agreement"]:
        for group, compared in ((False, entry["pairs"]), (True, entry["groups"])):
            for one in compared:
                yield from ((estimate, entry["ordinal"], group) for estimate in one["estimates"].values())
    for row in report["self_consistency"]["pooled"]:
        several = row["compared"]["raters"][2:]
        yield from ((estimate, row["ordinal"], bool(several)) for estimate in row["compared"]["estimates"].values())


def _orders(report: Row) -> Iterator[str]:
    pairs = [pair for entry in report["ranks"] for pair in entry["pairs"]]
    concordances = [pair["concordance"] for pair in pairs if pair["concordance"]]
    if not any(one["tau_b"] is not None for one in concordances):
        return
    yield (
        "Two judges' orders of the models are compared on the cases that both scored for all models, by Kendall's "
        "tau-b (Kendall 1945, Biometrika 33(3):239-251)."
    )
    if any(one["interval"] for one in concordances):
        yield (
            f"Its intervals are expanded percentiles of {RESAMPLES:,} draws of whole clusters (seed {SEED}; Hesterberg "
            "2015), and are about other cases, not other models."
        )
    if any(pair["changes"] for pair in pairs):
        yield (
            "A reversal of two models is outside noise if both orders occur together in at least 95 % of "
            f"{RESAMPLES:,} draws of whole clusters (seed {SEED}); of fewer than {FEW_CLUSTERS} clusters it is unknown."
        )


def _people(report: Row) -> Iterator[str]:
    powered = [row["prediction_powered"] for row in report["people"]]
    by_rates = [row["misclassification"] for row in report["people"]]
    if any(one["value"] is not None for one in powered):
        yield (
            "Judged means are corrected by the labels that people gave some of the units: by prediction-powered "
            "inference with tuned weight (Angelopoulos et al. 2023, Science 382:669-674; Angelopoulos, Duchi & Zrnic "
            "2023, PPI++, arXiv 2311.01453), with variances over clusters."
        )
    if any(one["value"] is not None for one in by_rates):
        draws = f", with intervals from {RESAMPLES:,} draws of whole clusters (seed {SEED})"
        yield (
            "By the judge's error rates against people, judged rates are corrected as by Rogan & Gladen (1978, Am. J. "
            f"Epidemiol. 107(1):71-76){draws * any(bool(one['interval']) for one in by_rates)}."
        )
    if any(one["value"] is not None for one in (*powered, *by_rates)):
        yield "Corrections take for granted that the units that people labelled are a random part of all."


def _preference(report: Row) -> Iterator[str]:
    rows = [row["compared"] for row in report["self_preference"] if row["compared"]]
    if any(row["difference"] is not None for row in rows):
        yield (
            "Self-preference is the difference between a judge's own model, or family, and the other models under this "
            "judge, less the same difference under the other judges, on the same cases, tested as above."
        )


# -- shared ------------------------------------------------------------------------------------------------------------


def _drawn(what: str, rows: Iterable[Row], seed: int, draws: str) -> Iterator[str]:
    """How paired differences got their intervals and p values."""
    rows = list(rows)
    if any(row["interval"] for row in rows):
        yield (
            f"{what} have 95 % intervals from {draws} draws of whole clusters with replacement (seed {seed}): "
            "percentiles, taken further out so that few clusters make them as wide as Student's t would (Hesterberg "
            "2015, Am. Stat. 69(4):371-386). P values are two-sided and from the same draws, and none is 0 (Davison & "
            "Hinkley 1997, Bootstrap Methods and their Application, section 4.2)."
        )
    if any(row["interval"] is None and row["p"] is not None for row in rows):
        yield "Where all clusters differ by the same, p is of the exact sign test over clusters."


def _sizes(rows: Sequence[Row]) -> str:
    cases, clusters = ([row[count] for row in rows] for count in ("n", "n_clusters"))
    return f"{_between(cases, 'case')} in {_between(clusters, 'cluster')}"


def _between(counts: Sequence[int], noun: str) -> str:
    low, high = min(counts, default=0), max(counts, default=0)
    return counted(low, noun) if low == high else f"{low} to {counted(high, noun)}"
