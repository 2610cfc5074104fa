"""How often 95 % intervals of a mean cover the truth, over simulated cases that come in clusters.

    python -m benchmarks.interval_coverage [--replications 4000] [--bootstrap 0] [--clusters 5 10 20]
        [--rates .05 .95] [--seed 1]

Every cluster has a success rate of its own, drawn from a beta distribution with the mean `rate` and the variance that
makes two of its cases correlate by `icc`; its cases succeed or fail with it. A cluster has one case (MedR-Bench), 8 to
16 (CareMedEval) or 1 to 9. Scores between 0 and 1 are simulated likewise: a case gets the share of successes in three.
Single cases that succeed or fail need no simulation; their coverage is that of the binomial distribution.

The interval measured is the one that reports show, `judge.stats.mean_interval`. With --bootstrap N the percentile and
BCa bootstraps are measured beside it, over N replications, and the interval of a paired difference. Fewer than 30
clusters are not measured unless asked for; no interval serves them well. A coverage near 95 % is known to about
`1.96 sqrt(.05 .95 / replications)`, .007 for 4000.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.stats import bootstrap_interval, mean_interval, paired

CLUSTERS = (30, 50, 100, 300)
RATES = (0.1, 0.3, 0.5, 0.7, 0.9)
CORRELATIONS = (0.0, 0.1, 0.3, 0.5)
SIZES = {"1": (1, 1), "8-16": (8, 16), "1-9": (1, 9)}

Ends = tuple[float, float] | None
Method = Callable[[NDArray[np.float64], list[int], int], Ends]


class Cell(NamedTuple):
    """What is simulated."""

    clusters: int
    size: str
    rate: float
    icc: float
    tries: int = 1


class Coverage(NamedTuple):
    """Shares of replications in which the interval covers the truth, and in which there is none; and the mean width."""

    covered: float
    none: float
    width: float


def draw(cell: Cell, rng: np.random.Generator) -> tuple[NDArray[np.float64], list[int]]:
    """Scores of cases and their clusters."""
    low, high = SIZES[cell.size]
    sizes = rng.integers(low, high + 1, size=cell.clusters)
    rates = np.full(cell.clusters, cell.rate)
    if cell.icc > 0.0:
        spread = (1 - cell.icc) / cell.icc
        rates = rng.beta(cell.rate * spread, (1 - cell.rate) * spread, size=cell.clusters)
    clusters = np.repeat(np.arange(cell.clusters), sizes)
    return rng.binomial(cell.tries, rates[clusters]) / cell.tries, clusters.tolist()


def shown(values: NDArray[np.float64], clusters: list[int], seed: int) -> Ends:
    return mean_interval(values, clusters).ends


def percentile(values: NDArray[np.float64], clusters: list[int], seed: int) -> Ends:
    return bootstrap_interval(values, clusters, seed=seed, resamples=1000)


def bca(values: NDArray[np.float64], clusters: list[int], seed: int) -> Ends:
    return bootstrap_interval(values, clusters, seed=seed, resamples=1000, method="bca")


def measure(cell: Cell, methods: Sequence[Method], replications: int, seed: int) -> list[Coverage]:
    """The coverage of each method over the same simulated data; a missing interval covers nothing."""
    rng = np.random.default_rng([seed, *cell_code(cell)])
    ends = [[(math.inf, -math.inf)] * replications for _ in methods]
    for number in range(replications):
        values, clusters = draw(cell, rng)
        for found, method in zip(ends, methods, strict=True):
            found[number] = method(values, clusters, number) or found[number]
    return [coverage(np.array(found), cell.rate) for found in ends]


def counted(cell: Cell) -> Coverage | None:
    """The coverage for single cases, right or wrong, which needs no simulation; None for other cells."""
    if SIZES[cell.size] != (1, 1) or cell.tries != 1:
        return None
    chances, ends = outcomes(cell.clusters, np.array([cell.rate]))
    covered = (ends[:, 0] - 1e-12 <= cell.rate) & (cell.rate <= ends[:, 1] + 1e-12)
    return Coverage(float(chances[:, 0] @ covered), 0.0, float(chances[:, 0] @ (ends[:, 1] - ends[:, 0])))


def outcomes(n: int, rates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Chances of 0 to n right, shape (n + 1, rates), and the interval of each, shape (n + 1, 2)."""
    right = np.arange(n + 1)
    ways = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in right]
    logs = np.array(ways)[:, None] + right[:, None] * np.log(rates) + (n - right)[:, None] * np.log1p(-rates)
    ends = [mean_interval(np.arange(n) < k, range(n)).ends or (math.inf, -math.inf) for k in right]
    return np.exp(logs), np.array(ends)


def cell_code(cell: Cell) -> tuple[int, ...]:
    return cell.clusters, list(SIZES).index(cell.size), round(cell.rate * 100), round(cell.icc * 100), cell.tries


def coverage(ends: NDArray[np.float64], truth: float) -> Coverage:
    there = np.isfinite(ends[:, 0])
    low, high = ends.T
    covered = there & (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    width = float((high - low)[there].mean()) if there.any() else math.nan
    return Coverage(float(covered.mean()), float((~there).mean()), width)


def cells(clusters: Sequence[int], rates: Sequence[float], tries: int) -> Iterator[Cell]:
    """A single case has no correlation with others of its cluster."""
    for number in clusters:
        for size in SIZES:
            for icc in CORRELATIONS if SIZES[size][1] > 1 else (0.0,):
                for rate in rates:
                    yield Cell(number, size, rate, icc, tries)


def table(
    clusters: Sequence[int], rates: Sequence[float], tries: int, replications: int, seed: int
) -> list[tuple[Cell, Coverage]]:
    """Print a row for each number and size of clusters and icc, a column for each rate."""
    found = []
    print(f"\n{'clusters':>8} {'cases':>6} {'icc':>4} " + " ".join(f"{rate:>6}" for rate in rates) + "   widest")
    row: list[tuple[Cell, Coverage]] = []
    for cell in cells(clusters, rates, tries):
        row.append((cell, counted(cell) or measure(cell, [shown], replications, seed)[0]))
        if len(row) == len(rates):
            shares = " ".join(f"{of.covered:6.3f}" for _, of in row)
            widest = max(of.width for _, of in row)
            print(f"{cell.clusters:>8} {cell.size:>6} {cell.icc:>4} {shares} {widest:8.3f}", flush=True)
            found += row
            row = []
    return found


def summary(found: Sequence[tuple[Cell, Coverage]], replications: int) -> None:
    """What the table says of each number of clusters."""
    error = 1.96 * math.sqrt(0.05 * 0.95 / replications)
    print(f"\n{replications} replications a cell; a coverage of .95 is known to ± {error:.4f}")
    for number in dict.fromkeys(cell.clusters for cell, _ in found):
        rows = [(cell, of) for cell, of in found if cell.clusters == number]
        outside = [(cell, of) for cell, of in rows if not 0.93 <= of.covered <= 0.97]
        shares = [of.covered for _, of in rows]
        print(
            f"{number:>4} clusters: {min(shares):.3f} to {max(shares):.3f}, mean {np.mean(shares):.3f}; "
            f"{len(outside)} of {len(rows)} cells outside .93 to .97; no interval in {max(o.none for _, o in rows):.4f}"
        )
        for cell, of in outside:
            print(f"       cases {cell.size}, icc {cell.icc}, rate {cell.rate}: {of.covered:.3f}")


def exact(clusters: Sequence[int]) -> None:
    """Print the coverage of single cases right or wrong, which needs no simulation, over all rates from .1 to .9.

    It swings with the rate, since counts are whole numbers, for any interval.
    """
    rates = np.linspace(0.1, 0.9, 801)
    print("\nSingle cases, right or wrong, exactly, over rates from .1 to .9")
    for n in clusters:
        chances, ends = outcomes(n, rates)
        low, high = ends[:, :1], ends[:, 1:]
        covered = (chances * ((low - 1e-12 <= rates) & (rates <= high + 1e-12))).sum(axis=0)
        outside = ((covered < 0.93) | (covered > 0.97)).mean()
        print(
            f"{n:>4} clusters: mean {covered.mean():.3f}, {covered.min():.3f} to {covered.max():.3f}; "
            f"{100 * outside:.0f} % of rates outside .93 to .97"
        )


def compare(clusters: Sequence[int], replications: int, seed: int) -> None:
    """Print the bootstrap intervals beside the one in use."""
    print(f"\n{replications} replications a cell, 1000 draws an interval")
    print(f"{'clusters':>8} {'cases':>6} {'icc':>4} {'rate':>5} {'in use':>7} {'percentile':>10} {'BCa':>6}")
    for number in clusters:
        for size, icc in (("1", 0.0), ("8-16", 0.1), ("1-9", 0.5)):
            for rate in (0.1, 0.5):
                found = measure(Cell(number, size, rate, icc), [shown, percentile, bca], replications, seed)
                in_use, plain, corrected = (f"{of.covered:.3f}" for of in found)
                print(f"{number:>8} {size:>6} {icc:>4} {rate:>5} {in_use:>7} {plain:>10} {corrected:>6}", flush=True)


def differences(clusters: Sequence[int], replications: int, seed: int) -> None:
    """Print how often the interval of a paired difference covers it, and how often p is at most .05 where it is 0.

    Two models share the rates of clusters; each solves a case on its own, the second in a share `1 - drop` of cases
    that it would have solved.
    """
    print(f"\nPaired differences, {replications} replications a cell, 1000 draws")
    names = f"{'clusters':>8} {'cases':>6} {'icc':>4} {'rate':>5} {'difference':>10}"
    print(f"{names} {'covered':>8} {'none':>6} {'p <= .05':>9}")
    for number in clusters:
        for size, icc, rate in (("1", 0.0, 0.3), ("1", 0.0, 0.9), ("8-16", 0.3, 0.5), ("1-9", 0.5, 0.9)):
            for drop in (0.0, 0.2):
                cell = Cell(number, size, rate, icc)
                covered, none, found = difference(cell, drop, replications, seed)
                print(
                    f"{number:>8} {size:>6} {icc:>4} {rate:>5} {rate * drop:>10.2f} {covered:>8.3f} {none:>6.3f} "
                    f"{found:>9.3f}",
                    flush=True,
                )


def difference(cell: Cell, drop: float, replications: int, seed: int) -> tuple[float, float, float]:
    """Shares of replications in which the interval covers the difference, there is none, and p is at most .05."""
    rng = np.random.default_rng([seed, *cell_code(cell), round(drop * 100)])
    low, high = SIZES[cell.size]
    covered = none = small = 0
    for number in range(replications):
        sizes = rng.integers(low, high + 1, size=cell.clusters)
        spread = (1 - cell.icc) / cell.icc if cell.icc else math.inf
        rates = rng.beta(cell.rate * spread, (1 - cell.rate) * spread, size=cell.clusters) if cell.icc else cell.rate
        codes = np.repeat(np.arange(cell.clusters), sizes)
        of_cases = np.broadcast_to(rates, cell.clusters)[codes]
        first, second = (rng.random(len(codes)) < of_cases), (rng.random(len(codes)) < of_cases * (1 - drop))
        scores = {"first": dict(enumerate(first.astype(float))), "second": dict(enumerate(second.astype(float)))}
        found = paired(scores, codes.tolist().__getitem__, seed=number, resamples=1000)
        if found.interval is None or found.p is None:
            none += 1
        else:
            covered += found.interval[0] - 1e-12 <= cell.rate * drop <= found.interval[1] + 1e-12
            small += found.p <= 0.05
    return covered / replications, none / replications, small / replications


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=4000)
    parser.add_argument("--bootstrap", type=int, default=0, help="replications of the comparison with bootstraps")
    parser.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    start = time.perf_counter()
    for tries, title in ((1, "Successes and failures"), (3, "Shares of three successes")):
        print(f"\n{title}")
        found = table(arguments.clusters, arguments.rates, tries, arguments.replications, arguments.seed)
        summary(found, arguments.replications)
    exact(arguments.clusters)
    if arguments.bootstrap:
        compare(arguments.clusters, arguments.bootstrap, arguments.seed)
        differences(arguments.clusters, arguments.bootstrap, arguments.seed)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
