"""Runs: a folder with one SQLite file, an async runner that fills it, and scores computed from what it holds."""
