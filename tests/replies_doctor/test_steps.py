"""Steps of a reasoning text in every style."""

from __future__ import annotations

import pytest

from judge.replies.steps import Steps, Style, split_steps, split_steps_with_style

CASES = [
    pytest.param(
        "### 推理：\n步骤1：患者发热。\n步骤2：白细胞升高。\n步骤3：考虑感染。\n\n### 答案：\n肺炎",
        ["患者发热。", "白细胞升高。", "考虑感染。"],
        Style("words"),
        id="chinese steps",
    ),
    pytest.param(
        "第一步：患者发热。\n第二步，白细胞升高。\n第三步：考虑感染。",
        ["患者发热。", "白细胞升高。", "考虑感染。"],
        None,
        id="chinese ordinals",
    ),
    pytest.param(
        "第一步：患者发热。第二步：白细胞升高。第三步：考虑感染。",
        ["患者发热。", "白细胞升高。", "考虑感染。"],
        None,
        id="chinese on one line",
    ),
    pytest.param("**步骤一**：甲。\n**步骤二**：乙。", ["甲。", "乙。"], None, id="chinese numerals"),
    pytest.param(
        "### Raisonnement :\nÉtape 1 : Alpha is seen.\nÉtape 2 : "
        "Beta follows.\nÉtape 3 : Gamma fits.\n\n### Réponse :\nX",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="french",
    ),
    pytest.param(
        "Étape 1 : Alpha is seen.\nÉtape 2 : Beta follows.\nÉtape 3 : Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="french decomposed",
    ),
    pytest.param(
        "```\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma fits.\n```\n\n### Answer:\nGIST",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="code fence with tags",
    ),
    pytest.param(
        "### Reasoning:\n```markdown\nStep 1: Alpha is seen.\nStep 2: "
        "Beta follows.\nStep 3: Gamma fits.\n```\n\n### Answer:\nGIST",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="code fence with words",
    ),
    pytest.param(
        "<step 1>Alpha is seen.</step 1>\n<step 2>Beta follows.</step "
        "2>\n<step 3>Gamma fits.</step 3>\n\n### Answer:\nGIST",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="closed by number",
    ),
    pytest.param(
        "<step 1>Alpha is seen.</step><step 2>Beta follows.</step><step 3>Gamma fits.</step>\n### Answer: X",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="closed on one line",
    ),
    pytest.param(
        "<steps><step>Alpha is seen.</step>\n<step>Beta follows.</step>\n<step>Gamma fits.</step></steps>",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="xml without numbers",
    ),
    pytest.param(
        "### Reasoning: <step 1> Alpha is seen. <step 2> Beta follows. <step 3> Gamma fits. ### Answer: X",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="one line",
    ),
    pytest.param(
        "Step 1: Alpha is seen. Step 2: Beta follows. Step 3: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="words on one line",
    ),
    pytest.param(
        "1. Alpha is seen. 2. Beta follows. 3. Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="numbers on one line",
    ),
    pytest.param(
        "### Reasoning:\n<step 1> Alpha is seen.\n1. a\n2. b\n<step "
        "2> Beta follows.\n   1. c\n   2. d\n\n### Answer:\nGIST",
        ["Alpha is seen.\n1. a\n2. b", "Beta follows.\n   1. c\n   2. d"],
        None,
        id="numbered sub-list in a tag",
    ),
    pytest.param(
        "1. Alpha is seen.\n   1. a\n   2. b\n2. Beta follows.\n   - c\n3. Gamma fits.",
        ["Alpha is seen.\n   1. a\n   2. b", "Beta follows.\n   - c", "Gamma fits."],
        None,
        id="indented sub-list",
    ),
    pytest.param(
        "1. Alpha is seen.\n1) a\n2) b\n2. Beta follows.\n3. Gamma fits.",
        ["Alpha is seen.\n1) a\n2) b", "Beta follows.", "Gamma fits."],
        None,
        id="sub-list with another mark",
    ),
    pytest.param(
        "1. Alpha is seen.\n1. a\n2. b\n2. Beta follows.\n3. Gamma fits.",
        ["Alpha is seen.\n1. a\n2. b", "Beta follows.", "Gamma fits."],
        None,
        id="sub-list that begins again at 1",
    ),
    pytest.param(
        "Step 1: Alpha is seen.\n1. a\n2. b\nStep 2: Beta follows.",
        ["Alpha is seen.\n1. a\n2. b", "Beta follows."],
        None,
        id="numbered sub-list in a worded step",
    ),
    pytest.param(
        "<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 1> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="restart",
    ),
    pytest.param(
        "Step 1: Alpha is seen.\nStep 3: Beta follows.\nStep 7: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="skip",
    ),
    pytest.param(
        "1. Alpha is seen.\n2. Beta follows.\n1. Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="numbers restart",
    ),
    pytest.param(
        "<step 1> Alpha, see step 2.\n<step 2> Beta, as said in <step 1> and in Step 1: yes.",
        ["Alpha, see step 2.", "Beta, as said in <step 1> and in Step 1: yes."],
        None,
        id="mention of another step",
    ),
    pytest.param(
        "<step 1> Alpha; as <step 2> shows, wait.\n<step 2> Beta.",
        ["Alpha; as <step 2> shows, wait.", "Beta."],
        None,
        id="forward mention of a tag",
    ),
    pytest.param(
        "Step 1: Alpha.\nStep 2 was done too early by the clinic.\nStep 2: Beta.",
        ["Alpha.\nStep 2 was done too early by the clinic.", "Beta."],
        None,
        id="mention at a line start",
    ),
    pytest.param(
        "### Reasoning:\r\n<step 1> Alpha is seen.\r\n<step 2> Beta "
        "follows.\r\n<step 3> Gamma fits.\r\n\r\n### Answer:\r\nX",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="crlf",
    ),
    pytest.param(
        "<step 1> Alpha is seen.\r<step 2> Beta follows.\r<step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="old line ends",
    ),
    pytest.param(
        "### Reasoning:\n| Step | Finding |\n|---|---|\n| 1 | Alpha is seen. "
        "|\n| 2 | Beta follows. |\n| 3 | Gamma fits. |\n\n### Answer:\nGIST",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        Style("table"),
        id="table of steps",
    ),
    pytest.param(
        "<step 1> Alpha:\n| a | b |\n|---|---|\n| 1 | 2 |\n<step 2> Beta follows.",
        ["Alpha:\n| a | b |\n|---|---|\n| 1 | 2 |", "Beta follows."],
        None,
        id="table within a step",
    ),
    pytest.param(
        "#### Step 1: Alpha\nis seen.\n\n#### Step 2: Beta\nfollows.",
        ["Alpha\nis seen.", "Beta\nfollows."],
        None,
        id="hash titles",
    ),
    pytest.param(
        "### 1. Alpha\nis seen.\n\n### 2. Beta\nfollows.\n\n### Answer:\nGIST",
        ["Alpha\nis seen.", "Beta\nfollows."],
        None,
        id="numbered hash titles",
    ),
    pytest.param(
        "**Step 1: Alpha**\n\nis seen.\n\n**Step 2: Beta**\n\nfollows.",
        ["Alpha\n\nis seen.", "Beta\n\nfollows."],
        None,
        id="bold titles",
    ),
    pytest.param(
        "**Step 1:** Alpha is **seen**.\n**Step 2**: Beta", ["Alpha is **seen**.", "Beta"], None, id="bold marks"
    ),
    pytest.param(
        "**Step 1:** **Alpha** is seen.\n**Step 2**\nBeta",
        ["**Alpha** is seen.", "Beta"],
        None,
        id="bold mark, bold text",
    ),
    pytest.param(
        "1) Alpha is seen.\n2) Beta follows.\n3) Gamma fits.\n\nConclusion: X",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        Style("numbers"),
        id="numbers with brackets",
    ),
    pytest.param(
        "- Alpha is seen.\n  - a\n- Beta follows.\n- Gamma fits.\n\n**Final Diagnosis:** X",
        ["Alpha is seen.\n  - a", "Beta follows.", "Gamma fits."],
        Style("bullets"),
        id="bullets",
    ),
    pytest.param(
        "Alpha is seen.\n\nBeta follows.\n\nGamma fits.\n\n### Answer\nX",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        Style("paragraphs"),
        id="paragraphs",
    ),
    pytest.param(
        "<think>Step 1: no\nStep 2: no</think>\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="think",
    ),
    pytest.param(
        "> Reasoning\n**Step 1: no**\nno\nReasoned for 3 seconds\n\n### Reasoning:\n"
        "<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="quoted thinking",
    ),
    pytest.param("<think>Step 1: no\nStep 2: no", [], Style("none"), id="unclosed thinking"),
    pytest.param("", [], Style("none"), id="empty"),
    pytest.param(
        "### Answer: X\n### Reasoning:\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="answer first",
    ),
    pytest.param(
        "### Answer:\nX\n\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="answer first no heading",
    ),
    pytest.param(
        "Step 1: Alpha is seen.\nConclusion: Beta\nStep 2: Gamma fits.",
        ["Alpha is seen.\nConclusion: Beta", "Gamma fits."],
        None,
        id="conclusion inside a step",
    ),
    pytest.param(
        "### Chain of Thought:\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n<step 3> Gamma "
        "fits.\n\n### Additional Information Required:\n1. CT\n2. MRI\n\n### Conclusion:\nX",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="requests are no steps",
    ),
    pytest.param(
        "### Chain of Thought:\n<step 1> Alpha is seen.\n<step 2> Beta follows.\n"
        "<step 3> Gamma fits.\n### Answer:\nStep 1: surgery\nStep 2: chemo",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="a plan in the answer is no reasoning",
    ),
    pytest.param(
        "- Step 1: Alpha is seen.\n- Step 2: Beta follows.\n- Step 3: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="bullet step",
    ),
    pytest.param(
        "> Step 1: Alpha is seen.\n> Step 2: Beta follows.\n> Step 3: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="quote",
    ),
    pytest.param(
        "① Alpha is seen.\n② Beta follows.\n③ Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="circled numbers",
    ),
    pytest.param("1、甲。\n2、乙。", ["甲。", "乙。"], None, id="chinese list marks"),
    pytest.param(
        "Alpha.\n\n3.5 cm mass\n\n4.2 ng", ["Alpha.", "3.5 cm mass", "4.2 ng"], None, id="decimals are no numbers"
    ),
    pytest.param(
        "Step 1/3: Alpha is seen.\nStep 2/3: Beta follows.\nStep 3 of 3: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="step n of m",
    ),
    pytest.param(
        "[Step 1] Alpha is seen.\n[Step 2] Beta follows.\n[Step 3] Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="brackets",
    ),
    pytest.param(
        "Step One: Alpha is seen.\nStep Two: Beta follows.\nStep Three: Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="words",
    ),
    pytest.param(
        "<Step 1>: Alpha is seen.<br><STEP 2>: Beta follows.<br/><step3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="tags in other spellings",
    ),
    pytest.param(
        "**<step 1>** Alpha is seen.\n**<step 2> Beta** follows.\n- <step 3> Gamma fits.",
        ["Alpha is seen.", "Beta follows.", "Gamma fits."],
        None,
        id="bold tags",
    ),
]


@pytest.mark.parametrize(("text", "steps", "style"), CASES)
def test_a_reasoning_text_yields_its_steps(text: str, steps: list[str], style: Style | None) -> None:
    found = split_steps_with_style(text)

    assert list(found.steps) == steps
    assert style is None or found.style is style
    assert split_steps(text) == steps


@pytest.mark.parametrize(
    "reasoning",
    [
        "<step 1> Fever.\n<step 2> Rash.",
        "Step 1: Fever.\nStep 2: Rash.",
        "1. Fever.\n2. Rash.",
        "- Fever.\n- Rash.",
        "Fever.\n\nRash.",
    ],
)
@pytest.mark.parametrize(
    "ending", ["\n\n### Answer:\nMeasles", "\n\n**Final Diagnosis:** Measles", "\n\nAnswer: Measles", ""]
)
@pytest.mark.parametrize("opening", ["### Reasoning:\n", "**Chain of Thought**\n\n", "```\n### Resoning:\n", ""])
def test_headings_and_answers_do_not_change_the_steps(opening: str, reasoning: str, ending: str) -> None:
    assert split_steps(opening + reasoning + ending) == ["Fever.", "Rash."]


def test_titles_of_their_own_open_steps() -> None:
    text = "### Reasoning:\n\n**Complaint**\n\n- Fever\n- Cough\n\n**Imaging**\n\nA shadow.\n\n### Answer:\nPneumonia"

    assert split_steps_with_style(text) == Steps(("Complaint\n- Fever\n- Cough", "Imaging\nA shadow."), Style.TITLES)


def test_a_list_within_paragraphs_stays_with_its_lead_in() -> None:
    lead = "Several causes fit the picture and deserve a word each before choosing between them:"
    text = (
        f"The cough is old and dry, and nothing was heard over the lungs.\n\n{lead}\n\n"
        f"1. Asthma\n\n2. Reflux\n\nReflux explains all of it, the night included."
    )

    assert split_steps(text) == [text.split("\n\n")[0], f"{lead}\n\n1. Asthma\n\n2. Reflux", text.split("\n\n")[-1]]


def test_the_same_text_always_yields_the_same_steps() -> None:
    text = "Intro.\n\n1. Fever.\n2. Rash.\n\nStep 1: Fever."

    assert split_steps_with_style(text) == split_steps_with_style(text)


def test_a_stray_angle_bracket_is_no_line_break() -> None:
    assert split_steps("<step 1> Lesions <brain stem.<br><step 2> None <br elsewhere.") == [
        "Lesions <brain stem.",
        "None <br elsewhere.",
    ]
