"""The options by which explanations are compared with reference texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.runs.measuring import TextRequest

#: Options that mean something only where explanations are compared.
_BESIDE = ("bertscore_model", "bertscore_layers", "explanation_references", "meteor_synonyms")


def explanation_params(default: str | None) -> list[click.Parameter]:
    """The options.

    Args:
        default: what is compared if the user does not say it; None: nothing anew.
    """
    shown = f"  [default: {default}]" if default else "  [default: as it was compared before]"
    return [
        click.Option(["--explanations"], type=click.Choice(["none", "lexical", "all"]),
                     help="Compare explanations with the references: lexical is BLEU, ROUGE-L and METEOR; all adds "
                          f"BERTScore.{shown}"),
        click.Option(["--bertscore-model"], metavar="PATH_OR_ID",
                     help="Encoder of BERTScore.  [default for English: SciBERT; for French: none]"),
        click.Option(["--bertscore-layers"], type=click.IntRange(min=1), metavar="N",
                     help="After how many of its layers; needed for an encoder that is not known by name."),
        click.Option(["--explanation-references"], type=click.Choice(["best", "mean"]), default="best",
                     show_default=True, help="What scores against several references become; BLEU has its own rule."),
        click.Option(["--meteor-synonyms"], type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Synonyms in WordNet's format.  [default for English: WordNet; for French: none]"),
    ]  # fmt: skip


def explanation_request(values: Mapping[str, Any], default: str | None) -> TextRequest | None:
    """What the options say; None where the user says nothing and there is no default.

    Raises:
        SpecError: an option about comparing, and nothing is compared.
    """
    from judge.errors import SpecError
    from judge.runs.measuring import TextRequest

    which: Any = values["explanations"] or default
    if which is None or which == "none":
        context, source = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
        if given := [name for name in _BESIDE if context.get_parameter_source(name) is source]:
            raise SpecError(f"--{given[0].replace('_', '-')} goes with --explanations lexical or all")
    if which is None:
        return None
    return TextRequest(
        which,
        values["bertscore_model"],
        values["bertscore_layers"],
        values["explanation_references"],
        values["meteor_synonyms"],
    )


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
