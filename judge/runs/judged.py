"""What a report says of a judge: its settings in the signatures, what it cost, and what may be wrong."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from judge.chains.tools import SPLITTER_ROLE
from judge.explanations import overruled
from judge.judgements import UnitJudgements
from judge.metrics.reasoning import COMPLETENESS, FACTUALITY, REASONING
from judge.metrics.signature import Metric
from judge.runs.store import TokenCount
from judge.settings import ModelSpec

#: Metrics of whole answers that may rest on what was looked up.
_LOOKED_UP = frozenset({"accuracy", FACTUALITY.name})
_REASONING = frozenset(metric.name for metric in REASONING)


def signed(metric: Metric, facts: Mapping[str, Any], splitters: Iterable[str]) -> Metric:
    """A judged metric with what of the judge's settings moves it; of labels made elsewhere only that they are.

    Args:
        splitters: who split the reasoning, be it in one unit.
    """
    spec = facts.get("spec")
    if spec is None:
        source = f"panel:{facts['rule']}" if facts.get("source") == "panel" else str(facts.get("source") or "unknown")
        return replace(metric, parameters=(*metric.parameters, ("labels", source)))
    extra = [("protocol", spec["protocol"])]
    if metric.name in _REASONING:
        by = "+".join(sorted(splitters))
        extra += [("text", spec["reasoning_source"]), ("steps", f"{spec['step_splitter']}({by})" if by else "none")]
    if metric.name in _LOOKED_UP or (metric.name in _REASONING and spec["protocol"] == "batched"):
        extra.append(("evidence", _evidence(spec)))
    if metric.name == COMPLETENESS.name:
        extra.append(("reference", f"{spec['reference']}@{spec['reference_hash'][:8]}"))
    return replace(metric, parameters=(*metric.parameters, *extra))


def splitters_of(said: Mapping[str, UnitJudgements]) -> Counter[str]:
    """Who split the reasoning of how many units."""
    return Counter(split["by"] for one in said.values() if (split := one.facts.get("splitter")))


def _evidence(spec: Mapping[str, Any]) -> str:
    """What was searched: a tool by its name, a folder by what is in it."""
    if spec["evidence"] == "none":
        return "none"
    kind, _, name = spec["evidence"].partition(":")
    version = hashlib.sha256(spec["evidence_version"].encode()).hexdigest()[:8]
    return f"{kind}:{name}@{version}" if kind == "web" else f"{kind}@{version}"


def shown_facts(
    name: str, facts: Mapping[str, Any], said: Mapping[str, UnitJudgements], tokens: Iterable[TokenCount]
) -> dict[str, Any]:
    """A judge as reports show it: who split the reasoning, and calls and tokens for each unit that it judged."""
    role = f"judge:{name}"
    tokens = list(tokens)
    rows = [row for row in tokens if row.role == role]
    cost = {
        "calls": sum(row.calls for row in rows),
        "prompt_tokens": sum(row.prompt for row in rows),
        "completion_tokens": sum(row.completion for row in rows),
        "calls_without_a_report": sum(row.unreported for row in rows),
        "split_calls": sum(row.calls for row in tokens if row.role == SPLITTER_ROLE),
    }
    protocol = facts["spec"]["protocol"] if "spec" in facts else None
    splitters = splitters_of(said)
    return {
        "name": name,
        **facts,
        "protocol": protocol,
        "units": len(said),
        "splitters": dict(splitters.most_common()),
        "cost": cost if rows else None,
    }


def judge_warnings(
    name: str, facts: Mapping[str, Any], model: ModelSpec, units: int, said: Mapping[str, UnitJudgements]
) -> list[str]:
    """What may be wrong with a judge, or between its labels and the run whose outputs they are taken to be of.

    Args:
        units: of the run.
        said: what the judge said of those of them that it judged.
    """
    found, models = [], facts.get("models", [])
    if models and {other.casefold() for other in models} != {model.name.casefold()}:
        found.append(
            f"the labels by {name} are said to be of outputs by {', '.join(models)}, the run is of {model.text}"
        )
    if against := overruled(said.values()):
        found.append(
            f"{against} labels by {name} are not what the rubric says whatever the explanation, and count as that: "
            "a wrong answer 0, a right one that nothing explains 0.5; agreement is of the labels as given"
        )
    if other := facts.get("other_steps"):
        found.append(f"in {other} units the steps that {name} labelled are not those read from the run")
    if "spec" in facts:
        found += _of_model(name, facts, model)
        if len(said) < units:
            found.append(f"{name} has judged {len(said)} of {units} units so far")
        if alone := sum(one.facts.get("searched") == "steps" for one in said.values()):
            found.append(
                f"of {alone} units only the steps are there, so {name} looked for reference steps in these alone; "
                "completeness is lower than with the conclusion"
            )
    return found


def _of_model(name: str, facts: Mapping[str, Any], model: ModelSpec) -> list[str]:
    spec, found = facts["spec"], []
    if spec["model"]["name"].casefold() == model.name.casefold():
        found.append(
            f"{name} judges outputs of its own model, {model.name}; models tend to prefer what they wrote themselves"
        )
    if spec["replaced_prompts"]:
        found.append(f"the judge's prompts {', '.join(spec['replaced_prompts'])} were replaced by the user's own")
    if facts.get("dropped"):
        found.append(f"{name} does not accept {', '.join(facts['dropped'])}, which therefore was not sent")
    return found + list(facts.get("notes", []))
