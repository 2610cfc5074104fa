"""Names of judges: what can be shown, typed again, and named in a list between commas."""

from __future__ import annotations

from judge.errors import SpecError

#: Characters of a name.
LONGEST = 80


def check_judge_name(option: str, name: str) -> None:
    """Refuse what cannot be the name of a judge, a panel or a person.

    Args:
        option: by which the user gave it.

    Raises:
        SpecError: it is empty or too long, has spaces around it, a comma, or a character that cannot be shown.
    """
    if not name.strip() or name != name.strip() or not name.isprintable() or "," in name or len(name) > LONGEST:
        raise SpecError(
            f"{option} {name[:LONGEST]!r}: a name has at most {LONGEST} printable characters, no comma, and no spaces "
            "around them"
        )
