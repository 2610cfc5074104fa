"""What every registered benchmark must keep to; a new one is picked up by the registry and tested without more ado.

What needs data runs on the benchmark's fixture, the folder `fixtures/<name>`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from judge.benchmark import (
    PENDING,
    BaselinedBenchmark,
    Benchmark,
    Loaded,
    ModelJudgedBenchmark,
    Option,
    Transcript,
    registry,
)
from judge.errors import DataError, SpecError
from judge.metrics.signature import Metric
from judge.outcome import Scored, Unscored
from judge.prompting import load_prompts
from judge.references import ReferencedBenchmark
from judge.settings import JudgeProtocol, JudgeSpec, StepSplitter, parse_model

FIXTURES = Path(__file__).parents[1] / "fixtures"
BENCHMARKS = registry()
NAME = re.compile(r"[a-z][a-z0-9_]*")

#: Options of `medjudge run` itself, which a benchmark's own must not shadow.
TAKEN = {"model", "data", "out", "limit", "case", "epochs", "temperature", "max-tokens", "extra-body", "connections",
         "timeout", "tries", "retry-for", "resume", "retry", "record", "replay", "cache", "prompts", "tokenizer",
         "api-key-env", "json", "help", "judge", "judge-name", "judge-protocol", "evidence", "reasoning-source",
         "step-splitter", "reference", "judge-temperature", "judge-max-tokens", "judge-extra-body", "judge-api-key-env",
         "judge-prompts"}  # fmt: skip


@pytest.fixture(params=BENCHMARKS, scope="module")
def benchmark(request: pytest.FixtureRequest) -> Benchmark:
    return BENCHMARKS[request.param]


@pytest.fixture(scope="module")
def loaded(benchmark: Benchmark) -> Loaded:
    return benchmark.load(FIXTURES / benchmark.name, defaults(benchmark))


def values_of(option: Option) -> list[Any]:
    """The values an option can have in a run: one of its choices, several where it may be repeated."""
    if not option.choices:
        return [option.default]
    if option.multiple:
        return [[choice] for choice in option.choices] + [list(option.choices)]
    return [*option.choices, *([None] if option.default is None and not option.required else [])]


def defaults(benchmark: Benchmark) -> dict[str, Any]:
    """The least a run must be given."""
    return {option.name: values_of(option)[0] if option.default is None else option.default
            for option in benchmark.options}  # fmt: skip


def combinations(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    names = [option.name for option in benchmark.options]
    for values in itertools.product(*(values_of(option) for option in benchmark.options)):
        yield dict(zip(names, values, strict=True))


def allowed(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """The combinations that the benchmark does not refuse."""
    for options in combinations(benchmark):
        try:
            benchmark.settings(options)
        except SpecError:
            continue
        yield options


def test_there_are_benchmarks() -> None:
    assert "caremedeval" in BENCHMARKS


def test_it_has_a_name_for_machines_and_words_for_people(benchmark: Benchmark) -> None:
    assert NAME.fullmatch(benchmark.name)
    assert BENCHMARKS[benchmark.name] is benchmark
    for text in (benchmark.title, benchmark.about, benchmark.licence):
        assert text.strip() == text != ""
        assert "\n" not in text


def test_options_are_sane(benchmark: Benchmark) -> None:
    names = [option.name for option in benchmark.options]
    assert len(set(names)) == len(names)
    assert not set(names) & TAKEN
    for option in benchmark.options:
        assert re.fullmatch("[a-z][a-z0-9-]*", option.name)
        assert option.help
        assert len(set(option.choices)) == len(option.choices)
        assert not (option.required and option.default is not None)
        assert not option.choices or option.default is None or option.default in option.choices
        json.dumps(option.default)


def test_metrics_have_names_and_signatures_of_their_own(benchmark: Benchmark) -> None:
    metrics = benchmark.metrics()
    assert metrics
    assert all(isinstance(metric, Metric) for metric in metrics)
    for values in ([m.name for m in metrics], [m.title for m in metrics], [m.signature for m in metrics]):
        assert len(set(values)) == len(values)
    for metric in metrics:
        assert NAME.fullmatch(metric.name)
        assert metric.signature.startswith(f"{metric.name}|")
        assert metric.signature.endswith(f"|v:{metric.version}")
        assert metric.source
        assert metric.range is None or metric.range[0] < metric.range[1]


def test_flags_are_words_with_a_meaning(benchmark: Benchmark) -> None:
    for flag, meaning in benchmark.flags.items():
        assert NAME.fullmatch(flag)
        assert meaning


def test_settings_are_distinct_ordered_and_the_same_in_whichever_order_they_are_named(benchmark: Benchmark) -> None:
    for options in allowed(benchmark):
        settings = benchmark.settings(options)
        assert settings
        assert len(set(settings)) == len(settings)
        assert all(settings)
    for option in benchmark.options:
        if option.setting and option.multiple:
            twice = defaults(benchmark) | {option.name: [option.choices[0], option.choices[1], option.choices[0]]}
            once = twice | {option.name: list(option.choices[:2])}
            assert benchmark.settings(twice) == benchmark.settings(once)


def test_there_is_a_prompt_file_for_every_combination_of_options(benchmark: Benchmark) -> None:
    for options in allowed(benchmark):
        names = benchmark.prompt_names(options)
        assert len(set(names)) == len(names)
        prompts = load_prompts(benchmark.name, names)
        assert set(prompts) == set(names)
        for name, prompt in prompts.items():
            assert re.search(r"\.v\d+$", name), "released versions are never edited, so each name has one"
            assert prompt.text.strip()
            assert not prompt.replaced


def judge_specs(benchmark: ModelJudgedBenchmark) -> Iterator[JudgeSpec]:
    """Every combination of what decides which prompts a judge needs, one task at a time and all together."""
    tasks = tuple(benchmark.judging_tasks)
    for only, protocol, evidence, splitter in itertools.product(
        [tasks, *((task,) for task in tasks)],
        get_args(JudgeProtocol),
        ["none", "corpus:guidelines"],
        get_args(StepSplitter),
    ):
        yield JudgeSpec(
            name="judge", model=parse_model("http://127.0.0.1:1/v1#m"), only=only, protocol=protocol, evidence=evidence,
            step_splitter=splitter,
        )  # fmt: skip


def judge_prompts(benchmark: Benchmark) -> Iterator[tuple[str, ...]]:
    """The prompts of every judge in every allowed combination of settings; none where no model can judge."""
    if isinstance(benchmark, ModelJudgedBenchmark):
        for settings in {benchmark.settings(options) for options in allowed(benchmark)}:
            for spec in judge_specs(benchmark):
                yield benchmark.judge_prompt_names(spec, settings)


def test_there_is_a_prompt_file_for_every_judge(benchmark: Benchmark) -> None:
    for names in set(judge_prompts(benchmark)):
        assert len(set(names)) == len(names)
        for name, prompt in load_prompts(benchmark.name, names).items():
            assert re.search(r"\.v\d+$", name)
            assert "fence" in prompt.variables, "what is data stands between fences, and the prompt says so"


def test_every_prompt_file_is_used_by_some_combination(benchmark: Benchmark) -> None:
    used = {name for options in allowed(benchmark) for name in benchmark.prompt_names(options)}
    used |= {name for names in judge_prompts(benchmark) for name in names}
    used |= {benchmark.reference_prompt} if isinstance(benchmark, ReferencedBenchmark) else set()
    folder = Path(__file__).parents[1] / "prompts" / benchmark.name
    latest = {re.sub(r"\.v\d+$", "", name) for name in used}
    assert {path.name.removesuffix(".md").rpartition(".v")[0] for path in folder.glob("*.md")} <= latest


def test_cases_have_ids_of_their_own_and_records_that_json_can_carry(loaded: Loaded) -> None:
    ids = [case.id for case in loaded.cases]
    assert ids
    assert len(set(ids)) == len(ids)
    for case in loaded.cases:
        assert case.cluster
        assert json.loads(json.dumps(case.record)) == case.record


def test_the_data_have_one_hash_over_all_files(benchmark: Benchmark, loaded: Loaded) -> None:
    assert re.fullmatch("[0-9a-f]{64}", loaded.data_hash)
    assert loaded.files
    for path, digest in loaded.files.items():
        assert not Path(path).is_absolute()
        assert re.fullmatch("[0-9a-f]{64}", digest)
    assert benchmark.load(FIXTURES / benchmark.name, defaults(benchmark)).data_hash == loaded.data_hash


def test_groups_are_lists_of_names(benchmark: Benchmark, loaded: Loaded) -> None:
    breakdowns = {tuple(benchmark.groups(case.record)) for case in loaded.cases}
    assert len(breakdowns) == 1, "every case has the same breakdowns, if only with no group in them"
    for case in loaded.cases:
        for names in benchmark.groups(case.record).values():
            assert not isinstance(names, str)
            assert all(isinstance(name, str) and name for name in names)


def test_the_best_scores_are_numbers_within_the_metrics_ranges(benchmark: Benchmark, loaded: Loaded) -> None:
    ranges = {metric.name: metric.range for metric in benchmark.metrics()}
    for case in loaded.cases:
        best = benchmark.best(case.record)
        assert set(best) <= set(ranges)
        for name, value in best.items():
            low, high = ranges[name] or (0.0, float("inf"))
            assert low <= value <= high


def test_missing_data_are_a_data_error(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(str(tmp_path))):
        benchmark.load(tmp_path, defaults(benchmark))
    with pytest.raises(DataError):
        benchmark.audit(tmp_path)


def test_a_prediction_of_an_unreadable_type_is_a_data_error(benchmark: Benchmark, loaded: Loaded) -> None:
    with pytest.raises(DataError):
        benchmark.read_prediction(loaded.cases[0].record, object(), thinking="", setting=a_setting(benchmark))


@pytest.mark.parametrize("prediction", [None, "", "A", "A, B", "\x00", "x" * 10_000, "Aucune", [], ["a"], ["?"]])
def test_predictions_become_transcripts_that_can_be_scored_and_described(
    benchmark: Benchmark, loaded: Loaded, prediction: Any
) -> None:
    for case in loaded.cases:
        try:
            read = benchmark.read_prediction(case.record, prediction, thinking="", setting=a_setting(benchmark))
        except DataError:  # a list of letters, say, means nothing to a benchmark of free text
            assert not isinstance(prediction, str | None)
            continue
        check_transcript(benchmark, case.record, read)


def a_setting(benchmark: Benchmark) -> str:
    return benchmark.settings(defaults(benchmark))[0]


def check_transcript(benchmark: Benchmark, record: Mapping[str, Any], transcript: Transcript) -> None:
    assert transcript.status not in ("", PENDING)
    assert transcript.detail or transcript.status in benchmark.scored_statuses
    assert set(transcript.flags) <= set(benchmark.flags)
    assert json.loads(json.dumps(transcript.data)) == transcript.data
    for heading, text in benchmark.describe(record, transcript):
        assert heading
        assert isinstance(text, str)
    if transcript.status in benchmark.scored_statuses:
        outcomes = benchmark.score(record, transcript)
        metrics = benchmark.metrics_in(a_setting(benchmark), defaults(benchmark))
        assert list(outcomes) == [metric.name for metric in metrics]
        for metric in metrics:
            outcome = outcomes[metric.name]
            assert isinstance(outcome, Scored | Unscored)
            low, high = metric.range or (0.0, float("inf"))
            assert isinstance(outcome, Unscored) or low <= outcome.value <= high


def test_a_unit_that_was_not_run_can_be_described(benchmark: Benchmark, loaded: Loaded) -> None:
    assert benchmark.describe(loaded.cases[0].record, Transcript(PENDING))


def test_baselines_have_every_metric(benchmark: Benchmark, loaded: Loaded) -> None:
    if not isinstance(benchmark, BaselinedBenchmark):
        pytest.skip("it has no baselines")
    rows = benchmark.baselines(loaded)
    names = {metric.name for metric in benchmark.metrics()}
    for row in rows:
        assert set(row["metrics"]) == names
        assert row["name"]
        assert row["description"]


def test_an_audit_can_be_printed(benchmark: Benchmark) -> None:
    report = benchmark.audit(FIXTURES / benchmark.name)
    json.dumps(report.to_dict())
    codes = [finding.code for finding in report.findings]
    assert len(set(codes)) == len(codes)


def test_two_benchmarks_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from judge.errors import SpecError

    install_plugin(tmp_path, monkeypatch, "from graphs.caremedeval import BENCHMARK")
    with pytest.raises(SpecError, match="two benchmarks are named 'caremedeval'"):
        registry()


def test_a_plugin_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from judge.errors import SpecError

    install_plugin(tmp_path, monkeypatch, "raise RuntimeError('no')")
    with pytest.raises(SpecError, match=r"the benchmark plugin 'extra' .* cannot be loaded: no"):
        registry()


def install_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """A distribution with an entry point, as an installer would leave it."""
    name = f"extra_{folder.name}"
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    entry = f"[medjudge.benchmarks]\nextra = {name}:BENCHMARK\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
