"""Prompt texts as Markdown files, `<benchmark>/<role>.v1.md`; released versions are never edited."""

DISTRIBUTION = "medjudge"
