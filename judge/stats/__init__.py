"""Uncertainty and agreement: errors, intervals and coefficients that know about clusters and missing values."""

from judge.stats.agreement import AgreementReport, Comparison, Confusion, agreement
from judge.stats.corrected import Corrected, misclassification_corrected, prediction_powered, rogan_gladen
from judge.stats.correlation import Correlation, correlation
from judge.stats.epochs import Components, EpochRate, all_of, any_of, mean_of_epochs, variance_components
from judge.stats.estimates import REASONS, Estimate
from judge.stats.intervals import FEW_CLUSTERS, Interval, few_clusters, mean_interval
from judge.stats.means import Mean, bootstrap_interval, clustered_mean
from judge.stats.multiple import Holm, holm
from judge.stats.paired import McNemar, Paired, mcnemar, paired, pairwise
from judge.stats.power import Detectable, clusters_needed, detectable_difference
from judge.stats.ranking import Concordance, Order, RankChange, Rankings, rankings

__all__ = [
    "FEW_CLUSTERS",
    "REASONS",
    "AgreementReport",
    "Comparison",
    "Components",
    "Concordance",
    "Confusion",
    "Corrected",
    "Correlation",
    "Detectable",
    "EpochRate",
    "Estimate",
    "Holm",
    "Interval",
    "McNemar",
    "Mean",
    "Order",
    "Paired",
    "RankChange",
    "Rankings",
    "agreement",
    "all_of",
    "any_of",
    "bootstrap_interval",
    "clustered_mean",
    "clusters_needed",
    "correlation",
    "detectable_difference",
    "few_clusters",
    "holm",
    "mcnemar",
    "mean_interval",
    "mean_of_epochs",
    "misclassification_corrected",
    "paired",
    "pairwise",
    "prediction_powered",
    "rankings",
    "rogan_gladen",
    "variance_components",
]
