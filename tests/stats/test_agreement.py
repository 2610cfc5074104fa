"""Agreement of raters on items of cases: what is compared, what is missing, and how sure it is."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from graphs.medrbench.labels import read_labels
from judge.stats import AgreementReport, agreement, few_clusters, mean_interval
from judge.stats.coefficients import cohen_kappa
from tests.data import real_data

ORDER = (0, 0.5, 1)

#: Of three labels: agreement 0 where all are as frequent, so that chance is 1/3, 5/9 and 2/3; the others' least is -1.
LEAST = {"raw_agreement": 0.0, "gwet_ac1": -1 / 2, "gwet_ac2_linear": -5 / 4, "gwet_ac2_quadratic": -2.0}

# Krippendorff 2011, section C: four observers, twelve units
OBSERVERS = {
    "A": (1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None),
    "B": (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3),
    "C": (None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None),
    "D": (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None),
}


def own(item: Hashable) -> Hashable:
    """Every item a cluster of its own."""
    return item


def case(item: tuple[Hashable, Hashable]) -> Hashable:
    return item[0]


def by_item(**raters: str) -> dict[str, dict[int, str]]:
    """One letter an item; a dot is a missing label."""
    return {
        rater: {item: label for item, label in enumerate(labels) if label != "."} for rater, labels in raters.items()
    }


def observers() -> AgreementReport:
    return agreement(
        {rater: dict(enumerate(labels)) for rater, labels in OBSERVERS.items()}, own, ordinal=(1, 2, 3, 4, 5)
    )


# --- values -------------------------------------------------------------------------------------------------------


def test_krippendorffs_example_is_reproduced_from_labels_with_missing_ones() -> None:
    together = observers().together
    assert together["krippendorff_alpha_nominal"].value == pytest.approx(0.743, abs=5e-4)
    assert together["krippendorff_alpha_ordinal"].value == pytest.approx(0.815, abs=5e-4)
    assert together["krippendorff_alpha_interval"].value == pytest.approx(0.849, abs=5e-4)


def test_gwets_example_is_reproduced_from_labels_with_missing_ones() -> None:
    # Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., p. 125: five observers, fifteen subjects
    raters = by_item(
        one="112.001122.0131",
        two="1130000.2110231",
        three="203000222100221",
        four=".13....0.10022.",
        five="2..0001.2....31",
    )
    together = agreement(raters, own).together
    expected = {
        "raw_agreement": 0.616,
        "fleiss_kappa": 0.458,
        "gwet_ac1": 0.497,
        "krippendorff_alpha_nominal": 0.481,
    }
    assert {name: together[name].value for name in expected} == pytest.approx(expected, abs=5e-4)


def test_an_item_with_a_single_label_is_not_compared_but_counted_as_missing_for_the_others() -> None:
    report = observers()
    assert (report.n_items, report.together["fleiss_kappa"].n_items) == (12, 11)
    assert report.n_missing == {"A": 3, "B": 1, "C": 2, "D": 1}
    assert report.together["fleiss_kappa"].n_missing == report.n_missing


def test_two_raters_worked_by_hand() -> None:
    report = agreement(by_item(human="yyyynnnnyn", judge="yyynnnnnyy"), own)
    pair = report.pair("judge", "human")
    # confusion: n/n 4, n/y 1, y/n 1, y/y 4; observed .8, chance .5 for all of them
    assert pair.confusion is not None
    assert pair.confusion.labels == ("n", "y")
    assert (pair.confusion.rows, pair.confusion.columns) == ("human", "judge")
    assert pair.confusion.counts == ((4, 1), (1, 4))
    assert pair["raw_agreement"].value == pytest.approx(0.8)
    for name in ("cohen_kappa", "fleiss_kappa", "gwet_ac1"):
        assert pair[name].value == pytest.approx(0.6)
    # 1 - (n - 1) Do / De = 1 - 19 * 4 / 200 with n = 20 labels, o_yn + o_ny = 4, 2 * 10 * 10 by chance
    assert pair["krippendorff_alpha_nominal"].value == pytest.approx(1 - 19 * 4 / 200)


def test_ordinal_labels_get_weighted_coefficients_in_the_order_given() -> None:
    words = {"a": {1: "low", 2: "high", 3: "mid", 4: "low"}, "b": {1: "mid", 2: "high", 3: "mid", 4: "high"}}
    order = ("low", "mid", "high")
    pair = agreement(words, own, ordinal=order).pairs[0]
    codes = [[order.index(labels[item]) for item in labels] for labels in words.values()]
    for weights in ("linear", "quadratic"):
        assert pair[f"cohen_kappa_{weights}"].value == pytest.approx(cohen_kappa_score(*codes, weights=weights))
    assert "krippendorff_alpha_ordinal" in pair.estimates
    assert "krippendorff_alpha_interval" not in pair.estimates  # words have no distances


def test_labels_without_order_get_no_weights() -> None:
    pair = agreement(by_item(a="xyz", b="xyy"), own).pairs[0]
    assert set(pair.estimates) == {
        "raw_agreement",
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac1",
        "krippendorff_alpha_nominal",
    }


def test_a_third_rater_changes_nothing_about_a_pair() -> None:
    two = by_item(a="xxyyx", b="xyyyx")
    three = by_item(a="xxyyx", b="xyyyx", c="zzxy.")
    for name, estimate in agreement(two, own).pairs[0].estimates.items():
        assert agreement(three, own).pair("a", "b")[name] == estimate


def test_of_two_raters_together_is_their_pair() -> None:
    report = agreement(by_item(a="xxyyx.", b="xyyyxx"), own)
    for name, estimate in report.together.estimates.items():
        assert report.pairs[0][name] == estimate


def test_there_is_a_pair_for_every_two_raters() -> None:
    report = agreement(by_item(a="xy", b="xy", c="xx"), own)
    assert [pair.raters for pair in report.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    with pytest.raises(KeyError, match="a and d"):
        report.pair("a", "d")


# --- what has no value --------------------------------------------------------------------------------------------


def test_no_overlap_is_said() -> None:
    estimates = agreement(by_item(a="xy..", b="..xy"), own).pairs[0].estimates
    for found in estimates.values():
        assert (found.value, found.interval, found.reason, found.n_items) == (None, None, "no_overlap", 0)
        assert found.n_missing == {"a": 2, "b": 2}


def test_no_labels_at_all_are_no_overlap() -> None:
    report = agreement({"a": {}, "b": {}}, own)
    assert report.together["gwet_ac1"].reason == "no_overlap"
    assert report.n_items == 0


def test_one_label_only_has_raw_agreement_and_nothing_beyond_chance() -> None:
    for ordinal in (None, ("x", "y")):
        pair = agreement(by_item(a="xxxx", b="xxxx"), own, ordinal=ordinal).pairs[0]
        assert pair["raw_agreement"].value == 1.0
        for name in set(pair.estimates) - {"raw_agreement"}:
            assert (pair[name].value, pair[name].interval, pair[name].reason) == (None, None, "one_label")


def test_one_item_has_nothing_beyond_chance() -> None:
    pair = agreement(by_item(a="x", b="y"), own).pairs[0]
    assert (pair["raw_agreement"].value, pair["raw_agreement"].interval_reason) == (0.0, "one_cluster")
    assert {pair[name].reason for name in set(pair.estimates) - {"raw_agreement"}} == {"one_item"}


def test_a_rater_with_one_label_is_noted_where_kappa_is_zero_because_of_it() -> None:
    pair = agreement(by_item(a="xxxx", b="xxyy"), own).pairs[0]
    assert pair["cohen_kappa"].value == pytest.approx(0.0)
    assert "a gave one label only" in pair["cohen_kappa"].note
    assert pair["cohen_kappa"].interval_reason == "no_variation"
    assert "one label only" not in pair["gwet_ac1"].note


# --- intervals ----------------------------------------------------------------------------------------------------


def test_one_cluster_has_values_and_no_interval() -> None:
    pair = agreement(by_item(a="xyxy", b="xyyy"), lambda _: "case").pairs[0]
    assert (pair["raw_agreement"].value, pair["cohen_kappa"].value) == pytest.approx((0.75, 0.5))
    for found in pair.estimates.values():
        assert (found.interval, found.interval_reason, found.method) == (None, "one_cluster", "")


def test_perfect_agreement_has_no_interval_of_width_zero() -> None:
    pair = agreement(by_item(a="xyxy", b="xyxy"), own).pairs[0]
    for name in set(pair.estimates) - {"raw_agreement"}:
        assert pair[name].value == pytest.approx(1.0)
        assert (pair[name].interval, pair[name].interval_reason) == (None, "no_variation")


def test_perfect_raw_agreement_has_the_interval_of_a_share() -> None:
    found = agreement(by_item(a="xyxy", b="xyxy"), own).pairs[0]["raw_agreement"]
    expected = mean_interval([1, 1, 1, 1], range(4))
    assert (found.interval, found.method) == (expected.ends, expected.method)
    assert found.interval is not None
    assert found.interval[0] < found.interval[1] == 1.0


def test_raters_that_never_agree_vary_by_chance_only_and_have_no_interval() -> None:
    pair = agreement(by_item(a="xyxyz", b="yxyxx"), own).pairs[0]
    for name in set(pair.estimates) - {"raw_agreement"}:
        assert (pair[name].interval, pair[name].interval_reason) == (None, "no_variation")


def test_a_label_given_in_one_cluster_only_leaves_no_interval() -> None:
    labels = {"a": {(1, 0): "x", (2, 0): "x", (2, 1): "y"}, "b": {(1, 0): "x", (2, 0): "y", (2, 1): "y"}}
    found = agreement(labels, case).pairs[0]["cohen_kappa"]
    assert found.value == pytest.approx(0.4)
    assert (found.interval, found.interval_reason) == (None, "one_cluster_decides")


def test_raw_agreement_has_the_interval_of_a_mean_over_items() -> None:
    labels = by_item(a="xyxyxyzzx", b="xyyyxzzzx", c="x.xyxxzyy")
    of_item = [1, 1, 1 / 3, 1, 1, 0, 1, 1 / 3, 1 / 3]
    expected = mean_interval(of_item, [item // 2 for item in range(9)])
    found = agreement(labels, lambda item: item // 2).together["raw_agreement"]
    assert found.value == pytest.approx(np.mean(of_item))
    assert found.interval == pytest.approx(expected.ends)
    assert (found.method, found.note) == ("logit_t", expected.note)


def without(labels: Mapping[tuple[int, int], str], gone: int | None) -> list[str]:
    return [label for (cluster, _), label in labels.items() if cluster != gone]


def test_the_interval_of_kappa_is_that_of_a_jackknife_by_hand() -> None:
    rng = np.random.default_rng(5)
    a = {(g, i): str(rng.choice(list("xyz"))) for g in range(12) for i in range(3)}
    b = {item: label if rng.random() < 0.7 else str(rng.choice(list("xyz"))) for item, label in a.items()}
    found = agreement({"a": a, "b": b}, case).pairs[0]["cohen_kappa"]
    kappa = cohen_kappa_score(without(a, None), without(b, None))
    away = np.array([cohen_kappa_score(without(a, g), without(b, g)) - kappa for g in range(12)])
    # Fisher's z changes by 1 / (1 - kappa²) as kappa does by 1; clusters have one size, so that there are 11 degrees
    reach = scipy.stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * (away**2).sum()) / (1 - kappa**2)
    assert found.interval == pytest.approx(tuple(np.tanh(np.arctanh(kappa) + np.array([-reach, reach]))))
    assert found.method == "jackknife_t"


def test_the_interval_of_kappa_in_many_clusters_is_that_of_a_bootstrap() -> None:
    rng = np.random.default_rng(8)
    a = rng.integers(2, size=400)
    b = np.where(rng.random(400) < 0.8, a, 1 - a)
    found = agreement({"a": dict(enumerate(a.tolist())), "b": dict(enumerate(b.tolist()))}, own)
    table = np.bincount(2 * a + b, minlength=4).reshape(2, 2)
    draws = rng.multinomial(400, table.ravel() / 400, size=20_000).reshape(-1, 2, 2)
    assert found.pairs[0]["cohen_kappa"].interval == pytest.approx(
        tuple(np.quantile(cohen_kappa(draws), [0.025, 0.975])), abs=0.01
    )


def test_the_interval_of_kappa_in_many_items_is_that_of_its_asymptotic_error() -> None:
    table = np.array([[160, 20, 12], [25, 130, 18], [15, 22, 98]])
    cells = [(i, j) for i in range(3) for j in range(3) for _ in range(table[i, j])]
    found = agreement({"a": dict(enumerate(i for i, _ in cells)), "b": dict(enumerate(j for _, j in cells))}, own)
    # Fleiss, Cohen & Everitt 1969, Psychol. Bull. 72(5):323-327, equation 13
    shares = table / table.sum()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = rows @ columns
    kappa = (np.trace(shares) - chance) / (1 - chance)
    off = (shares * (columns[:, None] + rows) ** 2).sum() - (np.diag(shares) * (columns + rows) ** 2).sum()
    on = (np.diag(shares) * (1 - (rows + columns) * (1 - kappa)) ** 2).sum()
    variance = on + (1 - kappa) ** 2 * off - (kappa - chance * (1 - kappa)) ** 2
    reach = 1.96 * np.sqrt(variance / table.sum()) / (1 - chance) / (1 - kappa**2)
    expected = np.tanh(np.arctanh(kappa) + np.array([-reach, reach]))
    assert found.pairs[0]["cohen_kappa"].interval == pytest.approx(tuple(expected), abs=0.001)


def test_few_clusters_carry_a_warning() -> None:
    pair = agreement(by_item(a="xyxyxyxyx", b="xyxxxyxyy"), own).pairs[0]
    assert {found.note for found in pair.estimates.values()} == {few_clusters(9)}
    enough = agreement(by_item(a="xyxyxyxyxy", b="xyxxxyxyyy"), own).pairs[0]
    assert {found.note for found in enough.estimates.values()} == {""}


def test_equal_labels_have_equal_intervals_in_whatever_order_they_come() -> None:
    labels = by_item(a="xyxyzxyxyz", b="xyxxzxyzyy", c="xxxxzxy.yy")
    turned = {rater: dict(reversed(given.items())) for rater, given in labels.items()}
    assert agreement(labels, own) == agreement(labels, own)
    for name, found in agreement(labels, own).together.estimates.items():
        assert agreement(turned, own).together[name].interval == pytest.approx(found.interval)


def test_the_interval_of_kappa_covers_the_truth_about_as_often_as_it_says() -> None:
    # raters agree with probability .6 or by chance of two equal labels: kappa = .6
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        first, other = rng.integers(2, size=(2, 40))
        second = np.where(rng.random(40) < 0.6, first, other)
        labels = {"a": dict(enumerate(first.tolist())), "b": dict(enumerate(second.tolist()))}
        interval = agreement(labels, own).pairs[0]["cohen_kappa"].interval
        covered += interval is not None and interval[0] <= 0.6 <= interval[1]
    # 380 of 400 with a standard deviation of 4.4
    assert 367 <= covered <= 393


def test_items_that_agree_within_their_case_widen_the_interval() -> None:
    a = {(g, i): "xy"[g % 2] for g in range(20) for i in range(5)}
    b = {item: "x" if item[0] % 3 == 0 else label for item, label in a.items()}
    clustered = agreement({"a": a, "b": b}, case).pairs[0]["raw_agreement"].interval
    alone = agreement({"a": a, "b": b}, own).pairs[0]["raw_agreement"].interval
    assert clustered is not None
    assert alone is not None
    assert clustered[1] - clustered[0] > 1.5 * (alone[1] - alone[0])


letters = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 2)), st.sampled_from(["x", "y", "z", None]))


@settings(deadline=None, max_examples=50)
@given(st.fixed_dictionaries({"a": letters, "b": letters, "c": letters}))
def test_every_estimate_is_finite_or_says_why(labels: Mapping[str, Mapping[tuple[int, int], str | None]]) -> None:
    report = agreement(labels, case, ordinal=("x", "y", "z"))
    assert report == agreement(labels, case, ordinal=("x", "y", "z"))
    for comparison in (*report.pairs, report.together):
        for found in comparison.estimates.values():
            assert (found.value is None) == bool(found.reason)
            assert (found.interval is None) == bool(found.interval_reason)
            if found.value is not None:
                assert found.value <= 1.0 + 1e-12
            if found.interval is not None and found.value is not None:
                assert LEAST.get(found.name, -1.0) <= found.interval[0] < found.interval[1] <= 1.0
                assert found.interval[0] <= found.value <= found.interval[1]


# --- labels that are refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "ordinal", "message"),
    [
        ({"a": {1: "x"}}, None, "at least two raters, got a"),
        (
            {"a": {1: True}, "b": {1: 1}},
            None,
            "the label 1 of b for 1 is a number, where other labels are a truth value",
        ),
        ({"a": {1: "yes"}, "b": {1: "Yes "}}, None, "'yes' and 'Yes ' differ in case or spaces only"),
        ({"a": {1: float("nan")}, "b": {1: 1.0}}, None, "the label nan of a for 1"),
        ({"a": {1: 0.3}, "b": {1: 1}}, ORDER, "the label 0.3 of a for 1 is none of 0, 0.5, 1"),
        ({"a": {1: True}, "b": {1: 1}}, ORDER, "the label True of a for 1 is a truth value"),
        ({"a": {1: 1}, "b": {1: 1}}, (1, 1), "each once"),
        ({"a": {1: 1}, "b": {1: 1}}, (0, 1, 0.5), "must rise or fall"),
        ({"a": dict(enumerate(range(51))), "b": {}}, None, "51 different labels .* correlation"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(labels, ordinal, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        agreement(labels, own, ordinal=ordinal)


def test_the_level_must_make_sense() -> None:
    with pytest.raises(ValueError, match="level"):
        agreement(by_item(a="x", b="x"), own, level=1.0)


# --- real labels --------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_two_judges_of_accuracy_agree_on_nine_of_ten() -> None:
    file = real_data("medrbench") / "judged" / "accuracy_o3-mini_two_judges.jsonl"
    labels = {
        judge: {
            found.case_id: found.view.labels("accuracy")[0]
            for found in read_labels(file, judge).records
            if found.view.of("accuracy")
        }
        for judge in ("gpt", "gemma-9b")
    }
    pair = agreement(labels, own).pairs[0]
    first, second = ([given[item] for item in labels["gpt"]] for given in labels.values())
    kappa = pair["cohen_kappa"]
    assert (kappa.n_items, kappa.n_missing) == (400, {"gpt": 0, "gemma-9b": 0})
    assert pair["raw_agreement"].value == pytest.approx(0.900)
    assert kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert round(kappa.value or 0.0, 2) == 0.71
    assert kappa.interval is not None
    assert kappa.interval[0] < 0.71 < kappa.interval[1]


@pytest.mark.data
def test_two_judges_of_the_same_steps_agree_on_their_effectiveness() -> None:
    # 34 outputs were judged by both, split into the same 176 steps, so that effectiveness can be compared step by step.
    # Factuality exists only where a judge called a step reasoning; reference steps were split anew by each judge.
    folder = real_data("medrbench") / "judged"
    files = {
        "gpt-4o": "reasoning_gemini2-ft_gpt-4o-websearch_34.jsonl",
        "qwen": "reasoning_gemini2-ft_qwen2.5-7b_35.jsonl",
    }
    judged = {
        name: {found.case_id: found for found in read_labels(folder / file).records} for name, file in files.items()
    }
    both = judged["gpt-4o"].keys() & judged["qwen"].keys()
    assert len(both) == 34
    assert all(judged["gpt-4o"][case_id].steps == judged["qwen"][case_id].steps for case_id in both)
    labels = {
        name: {
            (case_id, item): label
            for case_id in sorted(both)
            for item, label in found[case_id].view.labels("effectiveness").items()
        }
        for name, found in judged.items()
    }
    pair = agreement(labels, case).pairs[0]
    raw, kappa = pair["raw_agreement"], pair["cohen_kappa"]
    # three of the outputs have no step, and so no part in it
    assert sum(not judged["qwen"][case_id].steps for case_id in both) == 3
    assert (raw.n_items, raw.n_clusters, raw.n_missing) == (176, 31, {"gpt-4o": 0, "qwen": 0})
    first, second = ([given[item] for item in labels["gpt-4o"]] for given in labels.values())
    assert raw.value == pytest.approx(np.mean([x == y for x, y in zip(first, second, strict=True)]))
    assert round(raw.value or 0.0, 3) == 0.926
    assert kappa.value == pytest.approx(cohen_kappa_score(first, second))
    # raw agreement flatters: nearly all steps are reasoning, and kappa is no better than .4
    assert kappa.value == pytest.approx(float(cohen_kappa(np.array([[5, 6], [7, 158]]))))
