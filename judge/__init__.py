"""medjudge's framework: models, replies, judge chains, metrics, statistics, runs and reports.

It knows no benchmark; those live in the package `graphs` or in plugins.
"""

DISTRIBUTION = "medjudge"
