"""The command `medjudge`; kept apart from the packages so that it can refuse when one of them is somebody else's."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

PACKAGES = ("judge", "graphs", "prompts")


def foreign_package() -> str:
    """A sentence about the first of our packages that is not ours; empty when all are."""
    home = Path(__file__).resolve().parent
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except (Exception, SystemExit) as error:  # somebody else's package may do anything on import
            return f"the package {name!r} cannot be imported ({error}); install medjudge in an environment of its own"
        place = Path(next(iter(package.__path__), "")).resolve()
        if getattr(package, "DISTRIBUTION", "") != "medjudge" or place.parent != home:
            return (
                f"the package {name!r} that Python finds ({place}) is not medjudge's; "
                "install medjudge in an environment of its own, or run it from another folder"
            )
    return ""


def main() -> None:
    """Run the command line."""
    try:
        if problem := foreign_package():
            sys.exit(f"medjudge: {problem}")
        from judge.cli.main import run

        run()
    except KeyboardInterrupt:  # while importing; later on the command line sees to it
        sys.exit(130)


if __name__ == "__main__":
    main()
