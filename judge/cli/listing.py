"""medjudge list"""

from __future__ import annotations

from typing import Any

import click

from judge.cli.groups import json_option, print_json


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
        }
        for benchmark in registry().values()
    ]


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
        names = max(len(metric["name"]) for metric in benchmark["metrics"])
        titles = max(len(metric["title"]) for metric in benchmark["metrics"])
        for metric in benchmark["metrics"]:
            click.echo(f"  metric    {metric['name']:{names}}  {metric['title']:{titles}}  {metric['signature']}")


list_command = click.Command(
    "list", callback=_list, params=[json_option()], help="Benchmarks, their settings and their metrics."
)
