"""The benchmarks that ship with medjudge, one package each; found by scanning this package."""

DISTRIBUTION = "medjudge"
