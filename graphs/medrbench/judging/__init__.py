"""Judging MedR-Bench: the evaluator graph and the questions that are its own."""
