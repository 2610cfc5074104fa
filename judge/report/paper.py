"""What a paper must state of a comparison of models, or of judges: paragraphs of methods, and a manifest.

Only what was done is told: every sentence stands for numbers that the report has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.report.methods import (
    MEANS,
    generation_told,
    judge_rows,
    judged_by,
    listed,
    policies,
    served_rows,
    software,
)
from judge.report.provenance import shown_as
from judge.report.statistics_told import compared_models, draws_of, moved_by_judges
from judge.report.tables import counted
from judge.sensitivity.material import SEED

Row = Mapping[str, Any]

#: Libraries whose version may matter to a number or figure of either page.
_COMPARISON = ("medjudge", "numpy", "matplotlib", "jinja2")
_SENSITIVITY = ("medjudge", "numpy", "krippendorff", "jinja2")

#: Longer lists of files are told by their number.
_MOST_FILES = 12


@dataclass(frozen=True, slots=True)
class Paper:
    """The last part of a page.

    Attributes:
        methods: paragraphs.
        manifest: section -> key -> value; values may be nested.
        licence: of the data.
    """

    methods: tuple[str, ...]
    manifest: Mapping[str, Mapping[str, Any]]
    licence: str

    def facts(self) -> dict[str, Any]:
        """As plain data."""
        return {"methods": list(self.methods), "manifest": {key: dict(rows) for key, rows in self.manifest.items()}}


def comparison_paper(report: Row, origin: Row) -> Paper:
    """Of models on the same cases.

    Args:
        report: as `judge.runs.comparing.compare_runs`.
        origin: as `judge.report.provenance.provenance` of the same runs.
    """
    names = [one["model"] for one in report["models"]]
    signed = {f"{entry['setting']}, {row['title']}": row["signature"] for entry in report["settings"]
              for row in entry["tests"]}  # fmt: skip
    drawn = {"seed": report["seed"], "resamples": report["resamples"], "interval": "expanded percentile, 95 %",
             "correction": "Holm, over all metrics and pairs of models of a setting",
             "difference to find": report["detect"], "forced": "yes" if report["forced"] else None}  # fmt: skip
    return _paper(report, origin, names, [*compared_models(report), MEANS], signed, drawn, _COMPARISON)


def sensitivity_paper(report: Row, origin: Row) -> Paper:
    """Of judges on the same outputs.

    Args:
        report: as `judge.sensitivity.sensitivity`.
        origin: as `judge.report.provenance.provenance` of the same runs.
    """
    names = [one["model"] for one in report["runs"]]
    signed = {f"{row['setting']}, {row['title']}, {row['model']} by {row['judge']}": row["signature"]
              for row in report["scores"]}  # fmt: skip
    drawn = {"seed": SEED, "resamples": draws_of(report), "interval": "expanded percentile, 95 %",
             "correction": f"Holm, over {counted(report['tests']['n'], 'test')}",
             "forced": "yes" if report["forced"] else None}  # fmt: skip
    return _paper(report, origin, names, [MEANS, *moved_by_judges(report)], signed, drawn, _SENSITIVITY)


def _paper(
    report: Row,
    origin: Row,
    names: Sequence[str],
    statistics: Sequence[str],
    signatures: Row,
    drawn: Row,
    libraries: Sequence[str],
) -> Paper:
    benchmark, runs = origin["benchmark"], origin["runs"]
    people = {one["name"] for one in report.get("judges", ()) if one["kind"] == "person"}
    judges = list(_judges(runs, names, people))
    settings = [one if isinstance(one, str) else one["setting"] for one in report["settings"]]
    subject = (
        f"{_subject(names, runs)} on cases of {benchmark['title']} (as published: {benchmark['about']}; "
        f"{benchmark['licence']}), in {listed('the setting', settings)}."
    )
    methods = (" ".join([subject, *_asked(names, runs), _data(runs)]), *(_judged(one) for one in judges), *statistics)
    manifest = {
        "what is compared": {"benchmark": benchmark["name"], "licence": benchmark["licence"], **_same_data(runs),
                             "settings": ", ".join(settings), **drawn},
        **{f"run of {name}": _run(run, runs) for name, run in zip(names, runs, strict=True)},
        **{f"judge {one.name}": _judge_rows(one) for one in judges},
        "signatures": signatures,
        "software of this report": software(libraries),
    }  # fmt: skip
    return Paper(methods, manifest, benchmark["licence"])


# -- models ------------------------------------------------------------------------------------------------------------


def _subject(names: Sequence[str], runs: Sequence[Row]) -> str:
    asked = [
        name
        if run["spec"]["model"]["kind"] in ("imported", "human")
        else f"{name} (asked as {run['spec']['model']['text']})"
        for name, run in zip(names, runs, strict=True)
    ]
    if len(asked) == 1:
        return f"Outputs of {asked[0]} were judged"
    return f"Outputs of {', '.join(asked[:-1])} and {asked[-1]} were compared"


def _asked(names: Sequence[str], runs: Sequence[Row]) -> Iterator[str]:
    """How each model was asked; models that were asked alike together."""
    told: dict[str, list[str]] = {}
    for name, run in zip(names, runs, strict=True):
        told.setdefault(_how(run["spec"]), []).append(name)
    for how, of in told.items():
        yield f"{', '.join(of)}: {how}."


def _how(spec: Row) -> str:
    if spec["model"]["kind"] == "imported":
        return "made elsewhere"
    if spec["model"]["kind"] == "human":
        return "a person"
    others = [f"the {role.replace('_', ' ')} was {model['text']}" for role, model in spec["others"].items()]
    epochs = [f"each case was asked {spec['epochs']} times"] if spec["epochs"] > 1 else []
    replaced = ["prompts were replaced by the authors' own: " + ", ".join(spec["replaced_prompts"])]
    return "; ".join(
        [
            f"asked with {generation_told(spec['generation'])}",
            *epochs,
            *others,
            *(replaced * bool(spec["replaced_prompts"])),
        ]
    )


def _data(runs: Sequence[Row]) -> str:
    hashes = list(dict.fromkeys(run["spec"]["data_hash"] for run in runs))
    few = " Only chosen cases were used." if any(run["spec"]["cases"] for run in runs) else ""
    limits = dict.fromkeys(run["spec"]["limit"] for run in runs if run["spec"]["limit"] is not None)
    first = f" Only the first {', '.join(map(str, limits))} cases were used." if limits else ""
    if len(hashes) > 1:
        return f"The data are not the same: SHA-256 {', '.join(hashes)}.{few}{first}"
    return f"The data have SHA-256 {hashes[0]}.{few}{first}"


def _same_data(runs: Sequence[Row]) -> dict[str, Any]:
    """What all runs have in common of the data."""
    hashes = {run["spec"]["data_hash"] for run in runs}
    files = [run["facts"].get("files", {}) for run in runs]
    found: dict[str, Any] = {"data, SHA-256": hashes.pop()} if len(hashes) == 1 else {}
    return {**found, **(_files(files[0]) if all(of == files[0] for of in files) else {})}


def _files(files: Mapping[str, str]) -> dict[str, Any]:
    if len(files) > _MOST_FILES:
        return {"files": f"{len(files)}, their hashes are in the run's own report"}
    return {f"file {name}, SHA-256": digest for name, digest in files.items()}


def _run(run: Row, runs: Sequence[Row]) -> dict[str, Any]:
    spec, facts = run["spec"], run["facts"]
    same = _same_data(runs)
    return {
        "folder": run["folder"],
        "model as asked": spec["model"]["text"],
        **{f"{role.replace('_', ' ')} as asked": model["text"] for role, model in spec["others"].items()},
        **{f"as served: {key}": value for key, value in served_rows(run["served"]).items()},
        "generation": spec["generation"],
        "policies": {key: value for key, value in policies(spec).items() if key != "setting"},
        "epochs": spec["epochs"],
        "limit": spec["limit"],
        "chosen cases": f"{len(spec['cases'])}, their ids are in the run's own report" if spec["cases"] else None,
        **({} if "data, SHA-256" in same else {"data, SHA-256": spec["data_hash"]}),
        **({} if _files(facts.get("files", {})).items() <= same.items() else _files(facts["files"])),
        "prompts, SHA-256": spec["prompts"],
        "software": facts.get("versions", {}),
    }


# -- judges ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judge:
    """A judge with the same settings in all of some runs.

    Attributes:
        name: with the models in brackets where it has other settings for others.
        facts: of the first of these runs, with the units of all.
        files: of labels from elsewhere -> SHA-256.
    """

    name: str
    facts: dict[str, Any]
    files: Mapping[str, str]


def _judges(runs: Sequence[Row], names: Sequence[str], people: set[str]) -> Iterator[_Judge]:
    found: dict[tuple[str, str], list[tuple[str, Row]]] = {}
    for name, run in zip(names, runs, strict=True):
        for judge, facts in run["judges"].items():
            what = {key: facts.get(key) for key in ("source", "spec", "rule", "judges") if key in facts}
            found.setdefault((judge, json.dumps(what, sort_keys=True)), []).append((name, facts))
    several = [judge for judge, _ in found]
    for (judge, _), of in found.items():
        models = f" ({', '.join(model for model, _ in of)})" if several.count(judge) > 1 else ""
        facts = {**of[0][1], "name": f"{judge}{models}", "units": sum(one["units"] for _, one in of)}
        if any(shown_as(judge, shown) for shown in people):
            facts["source"] = "person"
        files = {one["file"]: one["sha256"] for _, one in of if one.get("file")}
        yield _Judge(facts["name"], facts, files)


def _judge_rows(judge: _Judge) -> dict[str, Any]:
    left_out = {"file", "sha256", "models", "judge_key"}
    own = {key: value for key, value in judge_rows(judge.facts).items() if key not in left_out}
    if judge.files:
        own.pop("judges", None)
    return own | {f"file {name}, SHA-256": digest for name, digest in judge.files.items()}


def _judged(judge: _Judge) -> str:
    facts = {key: value for key, value in judge.facts.items() if key != "file"}
    files = [f"{file} (SHA-256 {digest})" for file, digest in judge.files.items()]
    told = [f"They are from {listed('the file', files)}."] if files else []
    return " ".join([*judged_by(facts), *told])
