"""Uncertainty: standard errors, intervals and bounds that know about clusters and unscored cases."""

from judge.stats.means import Mean, bootstrap_interval, bounds, clustered_mean

__all__ = ["Mean", "bootstrap_interval", "bounds", "clustered_mean"]
