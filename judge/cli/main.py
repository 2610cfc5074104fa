"""The top-level command: finds subcommands without importing them until they are asked for."""

from __future__ import annotations

import importlib
import io
import sys

import click

from judge.errors import EndpointError, MedjudgeError, ReplayError, UserError

#: name -> (module, attribute, one line of help); the help stands here so that listing imports nothing.
COMMANDS = {
    "list": ("judge.cli.listing", "list_command", "Benchmarks, their settings and their metrics."),
    "check": ("judge.cli.check", "check", "Is a model's endpoint reachable, and what does it support?"),
    "run": ("judge.cli.run", "run_group", "Run a benchmark on a model, or continue a run."),
    "simulate": ("judge.cli.simulate", "simulate_group", "A person is the doctor, or follows a model turn by turn."),
    "judge": ("judge.cli.judging", "judge_command", "Judge a run's stored transcripts with a model."),
    "annotate": ("judge.cli.annotate", "annotate", "A person rates explanations, blind to whose they are."),
    "reference": ("judge.cli.reference", "reference_group", "Split reference solutions into steps, once for all."),
    "score": ("judge.cli.score", "score", "Recompute a run's metrics from what is stored; calls no model."),
    "show": ("judge.cli.show", "show", "A run's tables, or one case with its whole transcript."),
    "report": ("judge.cli.report", "report", "A run as one HTML file, with figures and what a paper must state."),
    "export": ("judge.cli.export", "export", "Write a run as JSON Lines, CSV, Parquet or logs of Inspect."),
    "import": ("judge.cli.imports", "import_group", "Score predictions made elsewhere."),
    "import-judgements": (
        "judge.cli.judgements",
        "import_judgements_command",
        "Add another judge's, or a person's, labels to a run.",
    ),
    "sensitivity": ("judge.cli.sensitivity", "sensitivity", "How much of a result is the judge?"),
    "panel": ("judge.cli.panel", "panel", "Make several judges of a run one judge more."),
    "compare": ("judge.cli.compare", "compare", "Models on the same cases: paired tests and win rates."),
    "baselines": ("judge.cli.baselines", "baselines_group", "What answers that never look at the question score."),
    "graph": ("judge.cli.graph", "graph_group", "Draw a benchmark's state machine, as Mermaid."),
    "data": ("judge.cli.data", "data_group", "Audit a data set; fetch optional models."),
}


class LazyGroup(click.Group):
    """Imports a subcommand's module when it is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="medjudge", message="%(version)s")
def cli() -> None:
    """Language models judge how chat models reason about medicine.

    Start with `medjudge list`, or `medjudge check --model SPEC`. A model SPEC is one of openai:NAME,
    http://HOST:PORT/v1#NAME, hf:PATH, provider:NAME, embedded, replay:FILE.

    Exit codes: 0 done; 1 finished, but errors left cases unscored or ended the run early; 2 usage, bad input or a model
    that cannot be reached; 130 interrupted.
    """


def run() -> None:
    """Run the command line and turn our exceptions into one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal's encoding lacks must not end a run
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit(130)
    except KeyboardInterrupt:
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (UserError, EndpointError, ReplayError) as error:
        _say(error)
        sys.exit(2)
    except MedjudgeError as error:
        _say(error)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _say(error: MedjudgeError) -> None:
    """One line; servers' error messages are quoted in it."""
    from judge.report.text import one_line

    click.echo(f"medjudge: {one_line(str(error))}", err=True)
