"""The options by which explanations are compared with reference texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import refuse_alone

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.measuring import TextRequest

#: Options that mean something only where explanations are compared.
_BESIDE = ("bertscore_model", "bertscore_layers", "explanation_references", "meteor_synonyms")

#: Field of the request -> the option that says it.
_FIELDS = dict(zip(("encoder", "layers", "references", "synonyms"), _BESIDE, strict=True))


def explanation_params(default: str | None) -> list[click.Parameter]:
    """The options.

    Args:
        default: what is compared if the user does not say it; None: of a run that is there, nothing anew, and what is
            not said of how is as it was.
    """
    before = "" if default else "as before, else "
    shown = f"  [default: {default}]" if default else "  [default: as it was compared before]"
    return [
        click.Option(["--explanations"], type=click.Choice(["none", "lexical", "all"]),
                     help="Compare explanations with the references: lexical is BLEU, ROUGE-L and METEOR; all adds "
                          f"BERTScore.{shown}"),
        click.Option(["--bertscore-model"], metavar="PATH_OR_ID",
                     help=f"Encoder of BERTScore.  [default: {before}for English SciBERT, for French none]"),
        click.Option(["--bertscore-layers"], type=click.IntRange(min=1), metavar="N",
                     help="After how many of its layers; needed for an encoder that is not known by name."),
        click.Option(["--explanation-references"], type=click.Choice(["best", "mean"]),
                     help="What scores against several references become; BLEU has its own rule.  "
                          f"[default: {before}best]"),
        click.Option(["--meteor-synonyms"], type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help=f"Synonyms in WordNet's format.  [default: {before}for English WordNet, for French none]"),
    ]  # fmt: skip


def explanation_request(
    values: Mapping[str, Any], default: str | None, before: TextRequest | None = None
) -> TextRequest | None:
    """What the options say; None where the user says nothing and there is no default.

    Args:
        before: how a run's explanations were compared, which stays where the options say nothing else.

    Raises:
        SpecError: an option about comparing, and nothing is compared.
    """
    from judge.runs.measuring import TextRequest

    which: Any = values["explanations"] or default
    if which is None or which == "none":
        refuse_alone(_BESIDE, "--explanations lexical or all")
    if which is None:
        return None
    found: dict[str, Any] = {name: values[option] for name, option in _FIELDS.items() if values[option] is not None}
    if "encoder" in found:
        found.setdefault("layers", None)  # of another encoder they would be other ones
    return replace(before or TextRequest(which), which=which, **found)


def check_explanations(benchmark: Benchmark, request: TextRequest, options: Mapping[str, Any]) -> None:
    """Find out, before the doctor is asked anything, whether what the user names for comparing can be used.

    Raises:
        UserError: it cannot; what is merely not installed is said beside the numbers instead.
    """
    from judge.errors import SpecError
    from judge.metrics.text import NotComputed, text_metrics
    from judge.runs.measuring import text_scored

    language = text_scored(benchmark).explanation_language(options)
    found = text_metrics(language, request.names, request.settings(language))
    for named, metric in ((request.encoder, "bertscore"), (request.synonyms, "meteor")):
        if named is not None and isinstance(missing := found.get(metric), NotComputed):
            raise SpecError(missing.reason)


def compare_explanations(folder: Path, request: TextRequest | None, report: dict[str, Any]) -> dict[str, Any]:
    """Compare a finished run's explanations; its report with them, or the one given where nothing is to be done."""
    from judge.runs.measuring import measure
    from judge.runs.scoring import rescore_run
    from judge.runs.store import benchmark_of, open_run

    if request is None or not request.names:
        return report
    store = open_run(folder, write=True)
    try:
        benchmark = benchmark_of(store)
        measure(store, benchmark, request)
        return rescore_run(store, benchmark)
    finally:
        store.close()
