"""What a paper must state of a run: a paragraph of methods, and a manifest of everything the numbers rest on."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import judge
from judge.benchmark import Benchmark
from judge.report.tables import counted

#: Libraries whose version may matter to a number or figure of the report.
LIBRARIES = ("medjudge", "numpy", "krippendorff", "matplotlib", "jinja2")

#: Method of `judge.stats.intervals` -> how a paper says it.
INTERVALS: Mapping[str, str] = {
    "logit_t": "Student's t about the logit of the mean over clusters, with HC3 errors and degrees of freedom from the "
    "sizes of clusters and the spread of their residuals, for metrics that have a smallest and a largest value",
    "mid_p": "mid-p binomial where single cases are either right or wrong",
    "exact": "exact where all values are the lowest, or all the highest",
    "t": "Student's t about the mean for counts",
}

#: Of any mean over cases.
MEANS = (
    "Means are over scored cases, a case counting once by the mean of its epochs; a unit without a score enters none. "
    f"Standard errors are clustered (CR1). 95 % intervals are {'; '.join(INTERVALS.values())}."
)

STATISTICS = (
    f"{MEANS} Means of group means have no interval. Bounds say where a mean would lie if all unscored units had got "
    "the lowest, or the highest, value."
)

_SECTIONS = ("summaries", "metrics", "asides")

_GIT_TIMEOUT = 10


def methods(benchmark: Benchmark, report: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Paragraphs for a paper, made from the facts of the run alone.

    Args:
        report: without a judge, as `judge.runs.scoring.report_of` makes it.
        judges: the ``judge`` of such reports, one for each judge.
    """
    spec = report["spec"]
    parts = [_evaluated(benchmark, spec), _asked(spec), _others(spec), _options(spec), _data(report), _outcome(report)]
    return [
        " ".join(part for part in parts if part),
        *(" ".join(judged_by(facts)) for facts in judges),
        STATISTICS,
    ]


def _evaluated(benchmark: Benchmark, spec: Mapping[str, Any]) -> str:
    model, kind = spec["model"], spec["model"]["kind"]
    source = f"cases of {benchmark.title} (as published: {benchmark.about}; {benchmark.licence})"
    settings = f"in {listed('the setting', spec['settings'])}"
    if kind == "imported":
        return f"Outputs of {model['name']}, made elsewhere, were scored on {source}, {settings}."
    if kind == "human":
        return f"A person was evaluated on {source}, {settings}."
    return f"The model {model['name']} (asked as {model['text']}) was evaluated on {source}, {settings}."


def _asked(spec: Mapping[str, Any]) -> str:
    if spec["model"]["kind"] in ("imported", "human"):
        return ""
    epochs = f"; each case was asked {spec['epochs']} times" if spec["epochs"] > 1 else ""
    return f"It was asked with {generation_told(spec['generation'])}{epochs}."


def generation_told(generation: Mapping[str, Any]) -> str:
    """Temperature and reply length, which are always stated, and whatever else was sent."""
    temperature, most = generation["temperature"], generation["max_tokens"]
    parts = [
        "the server's default temperature" if temperature is None else f"temperature {temperature:g}",
        "the server's default reply length" if most is None else f"at most {most:,} tokens a reply",
    ]
    if generation["extra_body"]:
        parts.append(f"the further request fields {generation['extra_body']}")
    return " and ".join(parts)


def _others(spec: Mapping[str, Any]) -> str:
    return " ".join(f"The {role.replace('_', ' ')} was {model['text']}." for role, model in spec["others"].items())


def _options(spec: Mapping[str, Any]) -> str:
    chosen = [f"{name} {value}" for name, value in spec["options"].items() if isinstance(value, str | int)]
    replaced = spec["replaced_prompts"]
    own = f" The prompts {', '.join(replaced)} were replaced by the authors' own." if replaced else ""
    return (f"Options: {', '.join(chosen)}." if chosen else "") + own


def _data(report: Mapping[str, Any]) -> str:
    spec = report["spec"]
    few = " Only chosen cases were used." if spec["cases"] else ""
    first = f" Only the first {spec['limit']} cases were used." if spec["limit"] is not None else ""
    sizes = ", ".join(
        f"{setting['setting']}: {counted(setting['n_cases'], 'case')}, {counted(setting['n_units'], 'unit')}"
        for setting in report["settings"]
    )
    return f"The data have SHA-256 {spec['data_hash']} ({sizes}).{few}{first}"


def _outcome(report: Mapping[str, Any]) -> str:
    scored = set(report["scored_statuses"])
    ended = {status: count for status, count in report["statuses"].items() if status not in scored}
    total = sum(report["statuses"].values())
    if not ended:
        return f"All {total} units came to a transcript that can be scored."
    named = ", ".join(f"{'not_run' if status == 'pending' else status} {count}" for status, count in ended.items())
    return f"Of {total} units {sum(ended.values())} came to none that can be scored ({named})."


def judged_by(facts: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on who judged, and how.

    Args:
        facts: as `judge.runs.judged.shown_facts`.
    """
    if "spec" not in facts:
        yield from _labels(facts)
        return
    spec = facts["spec"]
    yield (
        f"{facts['name']} judged {counted(facts['units'], 'unit')}: the model {spec['model']['name']} (asked as "
        f"{spec['model']['text']}), protocol {spec['protocol']}, structured output by {facts.get('mode', 'no call')}, "
        f"with {generation_told(spec['generation'])}."
    )
    if facts.get("dropped"):
        yield f"It does not accept {', '.join(facts['dropped'])}, which therefore was not sent."
    version = f" (version {spec['evidence_version']})" if spec["evidence_version"] else ""
    yield "Nothing was looked up." if spec["evidence"] == "none" else f"Evidence: {spec['evidence']}{version}."
    if facts.get("references") is not None:
        yield (
            f"Reasoning was read in the {spec['reasoning_source']} and split by {spec['step_splitter']}; reference "
            f"steps are by {spec['reference']} (SHA-256 {spec['reference_hash']})."
        )
    yield "Prompts: " + ", ".join(f"{name} ({digest[:12]})" for name, digest in spec["prompts"].items()) + "."
    if spec["replaced_prompts"]:
        yield f"Of these, {', '.join(spec['replaced_prompts'])} were replaced by the authors' own."


def _labels(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts.get("source") == "panel":
        yield f"{facts['name']} is a panel: {facts['rule']} of {', '.join(facts['judges'])}, label by label."
        return
    whose = "are a person's" if facts.get("source") == "person" else "were made elsewhere"
    yield f"The labels by {facts['name']} ({counted(facts['units'], 'unit')}) {whose}."
    if facts.get("file"):
        yield f"They are from the file {facts['file']} (SHA-256 {facts['sha256']})."


def listed(noun: str, names: Sequence[str]) -> str:
    return f"{noun} {names[0]}" if len(names) == 1 else f"{noun}s {', '.join(names[:-1])} and {names[-1]}"


# -- manifest --------------------------------------------------------------------------------------------------------


def manifest(
    benchmark: Benchmark, reports: Sequence[Mapping[str, Any]], served: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Section -> key -> value: everything by which another laboratory can tell whether it has the same.

    Args:
        reports: without a judge, then one for each judge.
        served: as `judge.report.served.served_models`.
    """
    own = reports[0]
    spec, facts = own["spec"], own["facts"]
    return {
        "run": {
            "benchmark": benchmark.name,
            "licence": benchmark.licence,
            "state": own["state"],
            "data, SHA-256": spec["data_hash"],
            **{f"file {name}, SHA-256": digest for name, digest in facts.get("files", {}).items()},
            "settings": ", ".join(spec["settings"]),
            "epochs": spec["epochs"],
            "limit": spec["limit"],
            "chosen cases": ", ".join(spec["cases"]),
            "counts tokens": spec["tokenizer"],
        },
        "models as asked": {
            role: model["text"] for role, model in [("doctor", spec["model"]), *spec["others"].items()]
        },
        "generation": spec["generation"],
        "models as served": served_rows(served),
        "policies": policies(spec),
        "prompts, SHA-256": spec["prompts"],
        **{f"judge {report['judge']['name']}": judge_rows(report["judge"]) for report in reports[1:]},
        "signatures": dict(_signatures(reports)),
        "software of the run": facts.get("versions", {}),
        "software of this report": software(),
    }


def policies(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run; a role that a model has is that model."""
    roles = {role.replace("_", "-"): model["text"] for role, model in spec["others"].items()}
    return {name: roles.get(name) if value is None else value for name, value in spec["options"].items()}


def served_rows(served: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    rows: dict[str, list[str]] = {}
    for row in served:
        fingerprint = f", fingerprint {row['fingerprint']}" if row["fingerprint"] else ", no fingerprint"
        said = f"{row['served_model'] or 'not said'}{fingerprint} ({counted(row['answers'], 'answer')})"
        rows.setdefault(f"{row['role']}, asked for {row['model']}", []).append(said)
    return {key: "; ".join(values) for key, values in rows.items()}


def judge_rows(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A judge's facts without what changes while it judges."""
    left_out = {"name", "units", "cost", "splitters", "protocol"}
    return {key: value for key, value in facts.items() if key not in left_out}


def _signatures(reports: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Setting, metric and judge -> signature; what counts without a judge is not repeated for each."""
    own: set[tuple[str, str]] = set()
    for report in reports:
        by = f", {report['judge']['name']}" if report["judge"] else ""
        for setting in report["settings"]:
            for row in (row for section in _SECTIONS for row in setting[section].values()):
                key = setting["setting"], row["metric"]
                if not by:
                    own.add(key)
                if not by or key not in own:
                    yield f"{setting['setting']}, {row['title']}{by}", row["signature"]


def flat(rows: Mapping[str, Any], place: str = "") -> list[tuple[str, str]]:
    """Key and value of a section of a manifest, nested keys joined; what is not set is left out."""
    found: list[tuple[str, str]] = []
    for key, value in rows.items():
        if isinstance(value, Mapping):
            found += flat(value, f"{place}{_words(key)} ")
        elif value not in (None, "", []):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            found.append((f"{place}{_words(key)}", shown))
    return found


def _words(key: str) -> str:
    """A name of ours in words; names of files and prompts as they are."""
    return key.replace("_", " ") if key.isidentifier() else key


def software(libraries: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Versions of what makes the report, and the commit of medjudge where it runs from a checkout."""
    found = {"python": platform.python_version()}
    found |= {name: importlib.metadata.version(name) for name in libraries}
    return found | ({"commit": commit} if (commit := _commit()) else {})


def _commit() -> str:
    folder = Path(judge.__file__).parents[1]
    if not (folder / ".git").exists():
        return ""
    head = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return head + (" with uncommitted changes" if head and changed else "")


def _git(folder: Path, *command: str) -> str:
    """Output of git; empty where there is none, or it does not answer."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *command], capture_output=True, text=True, timeout=_GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
