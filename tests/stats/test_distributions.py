"""Quantiles and tails against tables and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from judge.stats.distributions import chi_square_tail, sign_test, t_cdf, t_quantile


@pytest.mark.parametrize(
    ("df", "published"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)]
)
def test_t_quantiles_are_those_of_the_printed_table(df: int, published: float) -> None:
    # the .975 column of any textbook's table of Student's t
    assert t_quantile(0.975, df) == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("df", [1, 2, 3, 7, 8, 29, 30, 299, 999, 1000, 1001, 5000, 1_000_000])
def test_t_quantiles_are_those_of_scipy(df: int) -> None:
    for p in (0.0001, 0.025, 0.3, 0.6, 0.95, 0.995, 0.9999):
        assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-8)


@pytest.mark.parametrize("df", [1, 2, 3, 4, 11, 12, 200])
def test_t_probabilities_are_those_of_scipy(df: int) -> None:
    for t in np.linspace(-12, 12, 25):
        assert t_cdf(float(t), df) == pytest.approx(scipy.stats.t.cdf(t, df), abs=1e-12)


def test_tails_are_those_of_scipy() -> None:
    assert chi_square_tail(3.841459) == pytest.approx(0.05, abs=1e-6)
    for statistic in (0.0, 0.5, 10.0, 40.0):
        assert chi_square_tail(statistic) == pytest.approx(scipy.stats.chi2.sf(statistic, 1), rel=1e-10)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 7), (5, 5), (150, 86), (3000, 3100)])
def test_the_sign_test_is_the_exact_binomial_one(first: int, second: int) -> None:
    expected = scipy.stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert sign_test(first, second) == pytest.approx(expected, rel=1e-9)


def test_what_has_no_quantile_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(1.0, 5)
    with pytest.raises(ValueError, match="degrees of freedom"):
        t_quantile(0.9, 0)
