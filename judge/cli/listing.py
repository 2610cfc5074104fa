"""medjudge list"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import json_option, print_json

if TYPE_CHECKING:
    from judge.benchmark import Benchmark
    from judge.metrics.signature import Metric


def _document() -> list[dict[str, Any]]:
    from judge.benchmark import registry

    return [
        {
            "name": benchmark.name,
            "title": benchmark.title,
            "about": benchmark.about,
            "licence": benchmark.licence,
            "options": [
                {
                    "name": option.name,
                    "help": option.help,
                    "choices": list(option.choices),
                    "default": option.default,
                    "setting": option.setting,
                }
                for option in benchmark.options
            ],
            "metrics": [
                {"name": metric.name, "title": metric.title, "signature": metric.signature, "source": metric.source}
                for metric in benchmark.metrics()
            ],
            "judged_metrics": [
                {"name": metric.name, "title": metric.title, "signature": metric.signature, "source": metric.source}
                for metric in _judged_metrics(benchmark)
            ],
        }
        for benchmark in registry().values()
    ]


def _judged_metrics(benchmark: Benchmark) -> list[Metric]:
    """Those that rest on a judge, in any of the benchmark's settings."""
    from judge.benchmark import JudgedBenchmark

    if not isinstance(benchmark, JudgedBenchmark):
        return []
    options = {option.name: option.default for option in benchmark.options}
    settings = [choice for option in benchmark.options if option.setting for choice in option.choices] or [""]
    found = (metric for setting in settings for metric in benchmark.judged_metrics(setting, options))
    return list({metric.name: metric for metric in found}.values())


def _list(as_json: bool) -> None:
    document = _document()
    if as_json:
        print_json({"benchmarks": document})
        return
    for benchmark in document:
        click.echo(f"{benchmark['name']}: {benchmark['about']}")
        click.echo(f"  licence   {benchmark['licence']}")
        for option in benchmark["options"]:
            kind = "setting  " if option["setting"] else "option   "
            choices = f" {'|'.join(option['choices'])}" if option["choices"] else ""
            default = "" if option["default"] is None else f"  [default: {option['default']}]"
            click.echo(f"  {kind} --{option['name']}{choices}  {option['help']}{default}")
        metrics = [*benchmark["metrics"], *benchmark["judged_metrics"]]
        names = max(len(metric["name"]) for metric in metrics)
        titles = max(len(metric["title"]) for metric in metrics)
        for metric in benchmark["metrics"]:
            click.echo(f"  metric    {metric['name']:{names}}  {metric['title']:{titles}}  {metric['signature']}")
        for metric in benchmark["judged_metrics"]:
            click.echo(f"  judged    {metric['name']:{names}}  {metric['title']:{titles}}  {metric['signature']}")


list_command = click.Command(
    "list", callback=_list, params=[json_option()], help="Benchmarks, their settings and their metrics."
)
