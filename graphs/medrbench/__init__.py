"""MedR-Bench: case reports that a doctor works up step by step (arXiv 2503.04691)."""
