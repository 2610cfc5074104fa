"""medjudge check --model SPEC"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from judge.cli.groups import FiniteRange, json_option, print_json

if TYPE_CHECKING:
    from judge.models.check import EndpointCheck


def _check(model: str, api_key_env: str | None, timeout: float, as_json: bool) -> int:
    import asyncio

    from judge.models.check import check_endpoint
    from judge.settings import parse_model

    found = asyncio.run(check_endpoint(parse_model(model, key_variable=api_key_env), patience=timeout))
    if as_json:
        print_json(_document(found))
    else:
        from judge.report.text import printable

        for line in _lines(found):
            click.echo(printable(line))
    return 1 if found.failure else 0


def _document(found: EndpointCheck) -> dict[str, Any]:
    return asdict(found) | {"structured_mode": found.structured_mode}


def _lines(found: EndpointCheck) -> list[str]:
    lines = [f"model              {found.model}", "reachable          yes"]
    if found.listing is not None:
        lines.append(f"models listed      {', '.join(found.listing.models[:8]) or 'none'}")
        lines.append(f"context window     {found.listing.window or 'not told'}")
        lines += [f"note               {note}" for note in found.listing.notes]
    if found.reply is None:
        return [*lines, f"chat               FAILS: {found.failure}"]
    reply = found.reply
    thinking = (
        f"in {reply.reasoning_key!r}" if reply.reasoning_key else "in the text" if reply.thinking else "none seen"
    )
    said = reply.unscored.reason if reply.unscored else " ".join(reply.text.split())[:60]
    lines += [
        f"chat               works, said: {said}",
        f"served model       {reply.served_model or 'not told'} {reply.fingerprint}".rstrip(),
        f"thinking           {thinking}",
        f"token counts       {'reported' if reply.usage.prompt is not None else 'not reported'}",
    ]
    if found.temperature is not None:
        lines.append(f"temperature 0      {'accepted' if found.temperature else 'refused: do not give --temperature'}")
        lines.append(f"logprobs           {'returned' if found.logprobs else 'not returned'}")
    for probe in found.modes:
        lines.append(f"{probe.mode:18} {'works' if probe.works else 'fails'}: {probe.detail}")
    if found.modes:
        lines.append(f"structured output  {found.structured_mode or 'no mode was found: not usable as a judge now'}")
    return lines


check = click.Command(
    "check",
    callback=_check,
    params=[
        click.Option(["--model"], required=True, metavar="SPEC", help="The model to check; any SPEC but replay:FILE."),
        click.Option(["--api-key-env"], metavar="NAME", help="Environment variable that holds the key."),
        click.Option(["--timeout"], type=FiniteRange(min=0, min_open=True), default=120.0, show_default=True,
                     metavar="SECONDS", help="Longest time one request may take."),
        json_option(),
    ],
    help="Is a model's endpoint reachable, and what does it support? Asks a few short questions.",
)  # fmt: skip
