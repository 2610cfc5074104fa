"""How often 95 % intervals of agreement and of rank correlation cover the truth, over simulated steps of cases.

    python -m benchmarks.agreement_coverage [--replications 2000] [--bootstrap 0] [--clusters 20 30 50 100]
        [--labels-only] [--seed 1]

*Labels.* Steps come in cases, 1, 2 to 8 or 8 to 16 a case. A step has a true label, whose frequencies differ from case
to case (Dirichlet) so that two steps of a case correlate by `icc`. Two or three judges see another label with an error
of their own, the second one half as often again as the first, the third a quarter; in every other case all of them err
three times as often as in the rest, so that disagreements come in clusters too. The error is such that the first two
judges have the wanted kappa. Expected tables, and so the true coefficients, are computed without sampling. *Ratings*
are grades of two judges, or numbers without ties, from correlated normal distributions with a part that cases share;
the truth is that of some half million cases.

The intervals measured are those that reports show: `judge.stats.mean_interval` for raw agreement, else
`judge.stats.jackknife.jackknife_interval`. Coverage is over the samples that have an interval; how many have none,
since all labels agree or one case decides, stands beside it. With --bootstrap N, N replications compare other intervals
over some of the cells. A coverage near 95 % is known to about `1.96 sqrt(.05 .95 / replications)`, .01 for 2000.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from judge.stats import mean_interval
from judge.stats.coefficients import (
    alpha_of_coincidences,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    least_gwet_ac,
    quadratic_weights,
    raw_agreement,
)
from judge.stats.correlation import kendall_of_clusters, spearman_of_clusters
from judge.stats.distributions import t_quantile
from judge.stats.draws import expanded_interval
from judge.stats.intervals import effective_degrees
from judge.stats.jackknife import jackknife_interval, without_each

CLUSTERS = (20, 30, 50, 100)
SIZES = {"1": (1, 1), "2-8": (2, 8), "8-16": (8, 16)}
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
KAPPAS = (0.2, 0.4, 0.6, 0.8, 0.9)
CORRELATIONS = (0.2, 0.5, 0.8, 0.95)
ICC = 0.3

#: How much more often than the first each judge errs, and how often in easy and in hard cases.
ERRS, HARD = (1.0, 1.5, 1.25), (0.5, 1.5)

#: Shares of five grades up to each but the last: most are good.
GRADES = (0.05, 0.15, 0.35, 0.65)

DRAWS = 1000

_FIGURES = f"{'least':>6} {'mean':>6} {'most':>6} {'< .93':>6} {'> .97':>6} {'cells':>6}"

Array = NDArray[np.float64]
Ends = tuple[float, float] | None


class Design(NamedTuple):
    """Who labels with how many labels; in order if there are grades."""

    judges: int
    labels: int
    missing: float
    ordered: bool = False


DESIGNS = {
    "2 judges, 2 labels": Design(2, 2, 0.0),
    "2 judges, 4 labels, .15 missing": Design(2, 4, 0.15),
    "3 judges, 2 labels, .15 missing": Design(3, 2, 0.15),
    "2 judges, 3 grades": Design(2, 3, 0.0, ordered=True),
}


class Cell(NamedTuple):
    """What is simulated; ``share`` is that of the first label, the others are equally frequent."""

    clusters: int
    size: str
    icc: float
    design: str
    share: float
    kappa: float


class RatingCell(NamedTuple):
    """Two judges' numbers, ``grades`` or ``numbers``."""

    clusters: int
    size: str
    icc: float
    design: str
    correlation: float


class Coverage(NamedTuple):
    """Shares of samples: with an interval, those covering the truth; without one; and the mean width."""

    covered: float
    none: float
    width: float


class Tables(NamedTuple):
    """As `judge.stats.coefficients` takes them, shape (..., labels, labels)."""

    confusion: Array
    pairs: Array
    coincidences: Array


# --- labels: the truth --------------------------------------------------------------------------------------------


def frequencies(cell: Cell) -> Array:
    k = DESIGNS[cell.design].labels
    return np.array([cell.share] + [(1.0 - cell.share) / (k - 1)] * (k - 1))


def expected(cell: Cell, error: float, first: int, second: int) -> Array:
    """The shares of pairs of labels by two judges."""
    k = DESIGNS[cell.design].labels
    table = np.zeros((k, k))
    for hard in HARD:
        seen = []
        for judge in (first, second):
            wrong = error * ERRS[judge] * hard
            seen.append((1.0 - wrong) * np.eye(k) + wrong * (1.0 - np.eye(k)) / (k - 1))
        table += np.einsum("t,ta,tb->ab", frequencies(cell), *seen) / len(HARD)
    return table


def error_of(cell: Cell) -> float:
    """The first judge's error at which the first two have the kappa of the cell, by halving."""
    k = DESIGNS[cell.design].labels
    low, high = 0.0, (k - 1) / k / (1.0 + max(ERRS[:2])) * 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if cohen_kappa(expected(cell, middle, 0, 1)) > cell.kappa else (low, middle)
    return low


def truth(cell: Cell, error: float) -> dict[str, float]:
    pairs = list(permutations(range(DESIGNS[cell.design].judges), 2))
    table = np.asarray(sum(expected(cell, error, *pair) for pair in pairs) / len(pairs))
    many = Tables(expected(cell, error, 0, 1), table, table * 1e12)  # alpha of a sample allows for its size
    return {name: float(value) for name, value in coefficients(cell, many).items()}


def coefficients(cell: Cell, tables: Tables) -> dict[str, Array]:
    design = DESIGNS[cell.design]
    found = {"raw_agreement": raw_agreement(tables.pairs)}
    if design.judges == 2:
        found["cohen_kappa"] = cohen_kappa(tables.confusion)
    found["fleiss_kappa"] = fleiss_kappa(tables.pairs)
    found["gwet_ac1"] = gwet_ac(tables.pairs)
    found["alpha_nominal"] = alpha_of_coincidences(tables.coincidences, "nominal")
    if design.ordered:
        weights = quadratic_weights(design.labels)
        found["kappa_quadratic"] = cohen_kappa(tables.confusion, weights)
        found["gwet_ac2_quadratic"] = gwet_ac(tables.pairs, weights)
        found["alpha_ordinal"] = alpha_of_coincidences(tables.coincidences, "ordinal")
        found["alpha_interval"] = alpha_of_coincidences(tables.coincidences, "interval", range(design.labels))
    return found


def least(cell: Cell) -> dict[str, float]:
    """The smallest values of coefficients where these are not -1."""
    k = DESIGNS[cell.design].labels
    return {
        "raw_agreement": 0.0,
        "gwet_ac1": least_gwet_ac(np.eye(k)),
        "gwet_ac2_quadratic": least_gwet_ac(quadratic_weights(k)),
    }


# --- labels: samples ----------------------------------------------------------------------------------------------


class Samples(NamedTuple):
    """Many samples of a cell.

    Attributes:
        tables: shape (samples, clusters, labels, labels).
        sizes: items that two judges labelled, shape (samples, clusters).
        agreeing: share of agreeing pairs of judges by item, shape (samples, clusters, items); NaN where there is none.
    """

    tables: Tables
    sizes: NDArray[np.intp]
    agreeing: Array


def draw(cell: Cell, error: float, samples: int, rng: np.random.Generator) -> Samples:
    design = DESIGNS[cell.design]
    k, (low, high) = design.labels, SIZES[cell.size]
    shape = samples, cell.clusters, high
    there = np.arange(high) < rng.integers(low, high + 1, size=shape[:2])[..., None]
    shares = frequencies(cell)
    if cell.icc:
        gammas = rng.gamma(shares * (1.0 - cell.icc) / cell.icc, size=(*shape[:2], k)) + 1e-300
        shares = gammas / gammas.sum(axis=-1, keepdims=True)
    bounds = np.broadcast_to(np.cumsum(shares, axis=-1)[..., None, :-1], (*shape, k - 1))
    true = (rng.random((*shape, 1)) > bounds).sum(axis=-1)
    hard = rng.choice(HARD, size=(*shape[:2], 1))
    labels, given = [], []
    for judge in range(design.judges):
        wrong = rng.random(shape) < error * ERRS[judge] * hard
        labels.append(np.where(wrong, (true + rng.integers(1, k, size=shape)) % k, true))
        given.append(there & (rng.random(shape) >= design.missing))
    return tables_of(labels, given, k)


def tables_of(labels: Sequence[NDArray[np.intp]], given: Sequence[NDArray[np.bool_]], k: int) -> Samples:
    samples, clusters, items = labels[0].shape
    start = np.arange(samples * clusters).reshape(samples, clusters, 1) * k * k
    number = np.sum(given, axis=0)
    found = Tables(*(np.zeros((samples, clusters, k, k)) for _ in range(3)))
    agreeing = np.zeros((samples, clusters, items))
    for first, second in permutations(range(len(labels)), 2):
        both = given[first] & given[second]
        cells = (start + labels[first] * k + labels[second])[both]
        counts = number[both].astype(np.float64)

        def total(weights: Array, cells: NDArray[np.intp] = cells) -> Array:
            return np.bincount(cells, weights, samples * clusters * k * k).reshape(samples, clusters, k, k)

        found.pairs[:] += total(1.0 / (counts * (counts - 1.0)))
        found.coincidences[:] += total(1.0 / (counts - 1.0))
        if (first, second) == (0, 1):
            found.confusion[:] += total(np.ones(len(counts)))
        agreeing[both] += (labels[first] == labels[second])[both] / (counts * (counts - 1.0))
    agreeing[number < 2] = np.nan
    return Samples(found, (number >= 2).sum(axis=-1), agreeing)


def weighted(tables: Tables, weights: Array) -> Tables:
    """Tables of every sample under weights of clusters, shape (samples, weightings, labels, labels)."""
    return Tables(*(np.einsum("wg,sgab->swab", weights, table, optimize=True) for table in tables))


def measure(cell: Cell, replications: int, seed: int) -> dict[str, Coverage]:
    """The coverage of every coefficient by the interval in use."""
    rng = np.random.default_rng([seed, *cell_code(cell)])
    error = error_of(cell)
    samples = draw(cell, error, replications, rng)
    values = coefficients(cell, weighted(samples.tables, np.ones((1, cell.clusters))))
    left_out = coefficients(cell, weighted(samples.tables, 1.0 - np.eye(cell.clusters)))
    lowest = least(cell)
    found = {}
    for name, true in truth(cell, error).items():
        ends = [
            raw(samples, number)
            if name == "raw_agreement"
            else coefficient(
                values[name][number, 0], left_out[name][number], samples.sizes[number], lowest.get(name, -1.0)
            )
            for number in range(replications)
        ]
        found[name] = coverage(ends, true)
    return found


def raw(samples: Samples, number: int) -> Ends:
    items = samples.agreeing[number]
    there = ~np.isnan(items)
    return mean_interval(items[there], np.nonzero(there)[0].tolist()).ends


def coefficient(value: float, left_out: Array, sizes: NDArray[np.intp], lowest: float) -> Ends:
    """The interval in use; none where the coefficient has no value."""
    some = sizes > 0
    return None if math.isnan(value) else jackknife_interval(value, left_out[some], sizes[some], least=lowest)[0]


def coverage(ends: Sequence[Ends], true: float) -> Coverage:
    there = np.array([pair for pair in ends if pair is not None]).reshape(-1, 2)
    if not len(there):
        return Coverage(math.nan, 1.0, math.nan)
    low, high = there.T
    covered = (low - 1e-12 <= true) & (true <= high + 1e-12)
    return Coverage(float(covered.mean()), 1.0 - len(there) / len(ends), float((high - low).mean()))


def cell_code(cell: Cell | RatingCell) -> list[int]:
    names = [*DESIGNS, "numbers", "grades"]
    return [cell.clusters, list(SIZES).index(cell.size), round(100 * cell.icc), names.index(cell.design),
            *(round(100 * number) for number in cell[4:])]  # fmt: skip


def cells(clusters: int) -> Iterator[Cell]:
    for design in DESIGNS:
        for size, icc in sizes():
            for share in SHARES:
                for kappa in KAPPAS:
                    yield Cell(clusters, size, icc, design, share, kappa)


def sizes() -> Iterator[tuple[str, float]]:
    """A single step has no correlation with others of its case."""
    for size, (_, high) in SIZES.items():
        for icc in (0.0, ICC) if high > 1 else (0.0,):
            yield size, icc


# --- ratings ------------------------------------------------------------------------------------------------------


def ratings(cell: RatingCell, clusters: int, rng: np.random.Generator) -> tuple[Array, Array, NDArray[np.intp]]:
    """Two judges' numbers and the cases they are about."""
    low, high = SIZES[cell.size]
    codes = np.repeat(np.arange(clusters), rng.integers(low, high + 1, size=clusters))

    def normal() -> Array:
        shared = rng.normal(size=clusters)[codes]
        return math.sqrt(cell.icc) * shared + math.sqrt(1.0 - cell.icc) * rng.normal(size=len(codes))

    true = normal()
    x, y = (math.sqrt(cell.correlation) * true + math.sqrt(1.0 - cell.correlation) * normal() for _ in range(2))
    if cell.design == "grades":
        bounds = [NormalDist().inv_cdf(share) for share in GRADES]
        x, y = (np.searchsorted(bounds, of).astype(np.float64) for of in (x, y))
    return x, y, codes


def true_correlations(cell: RatingCell) -> dict[str, float]:
    x, y, _ = ratings(cell._replace(size="1", icc=0.0), 500_000, np.random.default_rng([7, *cell_code(cell)]))
    return {"spearman": scipy.stats.spearmanr(x, y).statistic, "kendall_tau_b": scipy.stats.kendalltau(x, y).statistic}


def measure_ratings(cell: RatingCell, true: Mapping[str, float], replications: int, seed: int) -> dict[str, Coverage]:
    rng = np.random.default_rng([seed, *cell_code(cell)])
    ends: dict[str, list[Ends]] = {name: [] for name in true}
    for _ in range(replications):
        x, y, codes = ratings(cell, cell.clusters, rng)
        for name, of_clusters in (("spearman", spearman_of_clusters), ("kendall_tau_b", kendall_of_clusters)):
            of = of_clusters(x, y, codes)
            value = float(of(np.ones((1, cell.clusters)))[0])
            left_out = np.concatenate([of(weights) for weights in without_each(cell.clusters, len(x))])
            ends[name].append(coefficient(value, left_out, np.bincount(codes), -1.0))
    return {name: coverage(found, true[name]) for name, found in ends.items()}


def rating_cells(clusters: int) -> Iterator[RatingCell]:
    for design in ("grades", "numbers"):
        for size, icc in sizes():
            for correlation in CORRELATIONS:
                yield RatingCell(clusters, size, icc, design, correlation)


# --- other intervals ----------------------------------------------------------------------------------------------


def compare(clusters: Iterable[int], replications: int, seed: int) -> None:
    """Print what other intervals cover, over the cells of two judges with two labels."""
    print(f"\nOther intervals, 2 judges with 2 labels, {replications} replications a cell, {DRAWS} draws")
    print(f"{'clusters':>8} {'coefficient':<14} {'interval':<12} {_FIGURES}")
    for number in clusters:
        found: dict[tuple[str, str], list[Coverage]] = {}
        for cell in cells(number):
            if cell.design == "2 judges, 2 labels" and cell.share in (0.1, 0.5) and cell.kappa in (0.2, 0.6, 0.9):
                for name, of in others(cell, replications, seed).items():
                    found.setdefault(name, []).append(of)
        for (name, method), of_cells in found.items():
            print(f"{number:>8} {name:<14} {method:<12} {figures([of.covered for of in of_cells])}", flush=True)


def others(cell: Cell, replications: int, seed: int) -> dict[tuple[str, str], Coverage]:
    rng = np.random.default_rng([seed, *cell_code(cell)])
    error = error_of(cell)
    samples = draw(cell, error, replications, rng)
    weights = rng.multinomial(cell.clusters, [1.0 / cell.clusters] * cell.clusters, size=DRAWS).astype(np.float64)
    values = coefficients(cell, weighted(samples.tables, np.ones((1, cell.clusters))))
    left_out = coefficients(cell, weighted(samples.tables, 1.0 - np.eye(cell.clusters)))
    draws = coefficients(cell, weighted(samples.tables, weights))
    found = {}
    for name, true in truth(cell, error).items():
        ends: dict[str, list[Ends]] = {}
        lowest = least(cell).get(name, -1.0)
        for number in range(replications):
            value, without, drawn = values[name][number, 0], left_out[name][number], draws[name][number]
            in_use = coefficient(value, without, samples.sizes[number], lowest)
            if name == "raw_agreement":
                ends.setdefault("mean", []).append(raw(samples, number))
            ends.setdefault("jackknife z", []).append(in_use)
            for method, interval in (
                ("jackknife t", partial(plain_t, value, without, samples.sizes[number])),
                ("percentile", partial(percentile, drawn)),
                ("expanded", lambda drawn=drawn: expanded_interval(drawn, cell.clusters, 0.95)[0]),
                ("BCa", partial(bca, value, without, drawn)),
            ):
                ends.setdefault(method, []).append(interval() if in_use else None)
        found |= {(name, method): coverage(of, true) for method, of in ends.items()}
    return found


def plain_t(value: float, without: Array, sizes: NDArray[np.intp]) -> Ends:
    """``value ± t se`` with the jackknife's error, whatever the range."""
    away = without - value
    reach = t_quantile(0.975, effective_degrees(sizes)) * math.sqrt((1.0 - 1.0 / len(away)) * float(away @ away))
    return value - reach, value + reach


def percentile(drawn: Array) -> Ends:
    low, high = np.quantile(drawn[~np.isnan(drawn)], [0.025, 0.975])
    return float(low), float(high)


def bca(value: float, without: Array, drawn: Array) -> Ends:
    """Efron & Tibshirani 1993, An Introduction to the Bootstrap, equations 14.9 to 14.15."""
    normal, drawn = NormalDist(), drawn[~np.isnan(drawn)]
    below = float((drawn < value - 1e-12).mean() + (np.abs(drawn - value) <= 1e-12).mean() / 2.0)
    bias = normal.inv_cdf(min(max(below, 0.5 / drawn.size), 1.0 - 0.5 / drawn.size))
    away = without.mean() - without
    skewness = float((away**3).sum()) / (6.0 * float(away @ away) ** 1.5)
    shifted = [bias + normal.inv_cdf(tail) for tail in (0.025, 0.975)]
    low, high = np.quantile(drawn, [normal.cdf(bias + z / (1.0 - skewness * z)) for z in shifted])
    return float(low), float(high)


# --- what is printed ----------------------------------------------------------------------------------------------


def figures(shares: Sequence[float]) -> str:
    below, above = sum(share < 0.93 for share in shares), sum(share > 0.97 for share in shares)
    return f"{min(shares):6.3f} {np.mean(shares):6.3f} {max(shares):6.3f} {below:>6} {above:>6} {len(shares):>6}"


def summary(found: Mapping[str, Sequence[tuple[Cell | RatingCell, Coverage]]], clusters: int) -> None:
    """A row for each coefficient, over all cells and for each number of steps a case."""
    print(f"\n{clusters} clusters")
    print(f"{'coefficient':<19} {'steps':>6} {_FIGURES} {'none':>6}")
    for name, rows in found.items():
        for size in ("all", *SIZES):
            of_size = [of for cell, of in rows if size in ("all", cell.size) and not math.isnan(of.covered)]
            none = max(of.none for of in of_size)
            print(f"{name:<19} {size:>6} {figures([of.covered for of in of_size])} {none:>6.3f}", flush=True)


def worst(found: Mapping[str, Sequence[tuple[Cell | RatingCell, Coverage]]]) -> None:
    """Every cell below .93."""
    for name, rows in found.items():
        for cell, of in rows:
            if of.covered < 0.93:
                about = ", ".join(f"{key} {value}" for key, value in cell._asdict().items())
                print(f"    {name}: {of.covered:.3f}, none in {of.none:.3f} ({about})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--bootstrap", type=int, default=0, help="replications of the comparison with other intervals")
    parser.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--labels-only", action="store_true", help="leave out the correlations of ratings")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    truths: dict[tuple[str, float], dict[str, float]] = {}
    for clusters in arguments.clusters:
        found: dict[str, list[tuple[Cell | RatingCell, Coverage]]] = {}
        for cell in cells(clusters):
            for name, of in measure(cell, arguments.replications, arguments.seed).items():
                found.setdefault(name, []).append((cell, of))
        for rated in () if arguments.labels_only else rating_cells(clusters):
            key = rated.design, rated.correlation
            truths.setdefault(key, true_correlations(rated))
            for name, of in measure_ratings(rated, truths[key], arguments.replications, arguments.seed).items():
                found.setdefault(name, []).append((rated, of))
        summary(found, clusters)
        worst(found)
    if arguments.bootstrap:
        compare(arguments.clusters, arguments.bootstrap, arguments.seed)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
