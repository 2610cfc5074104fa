"""Uncertainty and agreement: errors, intervals, bounds and coefficients that know about clusters and missing values."""

from judge.stats.agreement import AgreementReport, Comparison, Confusion, agreement
from judge.stats.correlation import Correlation, correlation
from judge.stats.estimates import REASONS, Estimate
from judge.stats.means import Mean, bootstrap_interval, bounds, clustered_mean

__all__ = [
    "REASONS",
    "AgreementReport",
    "Comparison",
    "Confusion",
    "Correlation",
    "Estimate",
    "Mean",
    "agreement",
    "bootstrap_interval",
    "bounds",
    "clustered_mean",
    "correlation",
]
