"""A run in formats that other tools read: JSON Lines, CSV, Parquet, and logs of Inspect."""

from judge.exports.export import FORMATS, Exported, export_run

__all__ = ["FORMATS", "Exported", "export_run"]
