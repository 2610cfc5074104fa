"""The report in a real browser: it shows what it must, can be used by keyboard, and hostile text does nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import DESKTOP, PHONE, Opened
from tests.medrbench.examinations import ENDOCARDITIS, PURPURA, THYROID
from tests.report.runs import HOSTILE_JUDGE, IMAGE, SCRIPT

Open = Callable[..., Opened]

#: Overflow of the page to the side, in CSS pixels.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ids(opened: Opened) -> list[str]:
    return opened.texts("#list .id")


def filtered(opened: Opened, count: str) -> None:
    opened.page.locator("#count", has_text=count).wait_for()


def test_it_opens_from_a_file_without_a_word_on_the_console(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page)
    assert shown.page.title() == "synthetic-doctor on MedR-Bench"
    assert shown.texts(".tile-mean") == ["0.500", "0.500", "0.667"]
    assert len(ids(shown)) == 9
    assert shown.deeds == []


def test_figures_have_the_colours_of_the_theme(opened: Open, demo_page: Path) -> None:
    def ink(**settings: Any) -> str:
        page = opened(demo_page, **settings).page
        found: str = page.evaluate("getComputedStyle(document.querySelector('.drawing path[style*=\"--s0\"]')).stroke")
        assert page.locator(".drawing svg").first.bounding_box()["height"] > 50
        return found

    assert ink(color_scheme="light") == "rgb(0, 103, 165)"
    assert ink(color_scheme="dark") == "rgb(95, 176, 232)"


def test_the_theme_can_be_chosen(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert shown.page.evaluate(ground) == "rgb(255, 255, 255)"
    button = shown.page.get_by_role("button", name="Theme: auto")
    button.click()
    shown.page.get_by_role("button", name="Theme: light").click()
    assert shown.page.evaluate(ground) == "rgb(20, 23, 27)"


# -- finding cases ---------------------------------------------------------------------------------------------------


def test_a_search_finds_ids_and_words_of_transcripts(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page)
    shown.page.get_by_label("Search ids and texts").fill(PURPURA.lower())
    filtered(shown, "3 of 9 units")
    assert set(ids(shown)) == {PURPURA}
    shown.page.get_by_label("Search ids and texts").fill("no such words")
    filtered(shown, "0 of 9 units")
    shown.page.get_by_label("Search ids and texts").fill("SCHISTOCYTES")
    filtered(shown, "3 of 9 units")
    assert set(ids(shown)) == {PURPURA}


@pytest.mark.parametrize(
    ("chip", "found"),
    [
        ("looped", [PURPURA]),
        ("wrong", [PURPURA, ENDOCARDITIS, ENDOCARDITIS]),
        ("unscored", [ENDOCARDITIS, PURPURA]),
        ("before the cut-off", [THYROID, THYROID, THYROID]),
    ],
)
def test_units_can_be_filtered_by_what_they_are(opened: Open, demo_page: Path, chip: str, found: list[str]) -> None:
    shown = opened(demo_page)
    shown.page.locator(".chip", has_text=chip).locator("input").check()
    filtered(shown, f"{len(found)} of 9 units")
    assert ids(shown) == found


def test_filters_combine_with_setting_and_status(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page)
    shown.page.get_by_label("Setting", exact=True).select_option("one_turn")
    filtered(shown, "3 of 9 units")
    shown.page.get_by_label("Status", exact=True).select_option("truncated")
    filtered(shown, "1 of 9 units")
    assert ids(shown) == [PURPURA]


def test_everything_can_be_done_by_keyboard(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page)
    page = shown.page
    page.get_by_label("Search ids and texts").focus()
    for _ in range(3):  # setting, status, first chip
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator(".chip input").first.is_checked()
    assert page.evaluate("getComputedStyle(document.activeElement.closest('.chip')).outlineStyle") == "solid"
    page.locator("#list button").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "case"
    assert page.locator("#list button[aria-current='true']").count() == 1


# -- one case --------------------------------------------------------------------------------------------------------


def test_a_case_shows_transcript_scores_labels_and_reasons(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page)
    shown.page.locator("#list button", has_text=PURPURA).first.click()
    case = shown.page.locator("#case")
    headings = shown.texts("#case summary")
    assert {"Scores", "case as the doctor saw it", "turn 1, doctor", "reference", "Answer"} <= set(headings)
    assert any(heading.startswith("Reference steps (") for heading in headings)
    assert any(heading.startswith("Steps (") for heading in headings)
    labels = shown.texts("#case .label")
    assert {"reasoning", "correct", "wrong", "found", "not found"} <= set(labels)  # words, not colours alone
    assert case.locator("details", has_text="thinking").first.get_attribute("open") is None
    assert "because: " in case.inner_text()
    assert shown.deeds == []


def test_a_case_can_be_linked_to(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page, "#case-1")
    assert shown.texts("#case h3") == [PURPURA]


def test_judges_that_differ_are_named_at_the_label(opened: Open, hostile_page: Path) -> None:
    shown = opened(hostile_page, "#case-0")
    assert f"judges differ ({HOSTILE_JUDGE}: correct, plain: wrong)" in shown.texts("#case .differ")


# -- hostile text ----------------------------------------------------------------------------------------------------


def test_hostile_text_is_shown_and_does_nothing(opened: Open, hostile_page: Path) -> None:
    shown = opened(hostile_page)
    for place in range(3):
        shown.page.locator("#list button").nth(place).click()
        shown.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    shown.page.locator("#list button").first.click()
    text = shown.page.locator("#case").inner_text()
    assert SCRIPT in text
    assert IMAGE in text
    assert "\\u202eright to left\\u202c" in text
    shown.page.get_by_label("Search ids and texts").fill("</script>")
    filtered(shown, "1 of 3 units")
    assert shown.page.evaluate("window.hacked") is None
    assert shown.page.locator("#case img, #case script, #case svg, h1 script").count() == 0
    assert shown.deeds == []


def test_the_policy_would_stop_a_script_and_a_request_that_got_in(opened: Open, hostile_page: Path) -> None:
    """The second line of defence, tried by putting in what the first keeps out."""
    shown = opened(hostile_page)
    with shown.page.expect_event("requestfailed") as stopped:
        shown.page.evaluate("image => document.body.insertAdjacentHTML('beforeend', image)", IMAGE)
    assert stopped.value.failure == "csp"
    with shown.page.expect_console_message(lambda line: "inline event handler" in line.text):
        shown.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onclick=\"window.hacked = 1\">b</b>')")
        shown.page.evaluate("document.querySelector('b[onclick]').click()")
    assert shown.page.evaluate("window.hacked") is None
    assert not [deed for deed in shown.deeds if deed.startswith("dialog")]


def test_a_very_long_reply_is_cut_with_a_note(opened: Open, hostile_page: Path) -> None:
    shown = opened(hostile_page, "#case-1")
    shown.page.evaluate("for (const part of document.querySelectorAll('#case details')) part.open = true")
    (note,) = shown.texts("#case .cut")
    assert "characters are left out of this file. Whole: medjudge show " in note
    assert note.endswith(PURPURA)
    assert shown.page.evaluate(OVERFLOW) == 0


# -- phone and paper -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["demo_page", "hostile_page"])
def test_on_a_phone_the_page_does_not_overflow(opened: Open, request: pytest.FixtureRequest, name: str) -> None:
    shown = opened(request.getfixturevalue(name), viewport=PHONE, has_touch=True)
    page = shown.page
    assert page.evaluate(OVERFLOW) == 0
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.evaluate(OVERFLOW) == 0
    page.locator("#list button").first.click()
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    assert page.evaluate(OVERFLOW) == 0
    assert not page.locator("#list").is_visible()
    page.get_by_role("button", name="Back to the list").click()
    assert page.locator("#list").is_visible()


def test_on_paper_controls_are_gone_and_the_page_is_light(opened: Open, demo_page: Path) -> None:
    shown = opened(demo_page, viewport=DESKTOP, color_scheme="dark")
    shown.page.emulate_media(media="print", color_scheme="dark")
    assert shown.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for selector in ("#filters", "#theme", "nav", "#list-side", "#cases"):
        assert not shown.page.locator(selector).is_visible()
    assert shown.page.locator("table.results").first.is_visible()
    assert shown.page.pdf().startswith(b"%PDF")
