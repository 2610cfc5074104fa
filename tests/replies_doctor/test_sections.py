"""Sections of a doctor's reply in any order and style."""

from __future__ import annotations

import pytest

from judge.replies.sections import answer_text, read_sections

SECTIONS = [
    pytest.param(
        "### Chain of Thought:\n<step 1> a\n\n### Additional Information Required:\n- CT\n\n### Conclusion:\nX",
        {"reasoning": "<step 1> a", "additional_information": "- CT", "conclusion": "X", "answer": None},
        id="as asked for",
    ),
    pytest.param(
        "### Conclusion:\nX\n### Additional Information Required:\nCT\n### Chain of Thought:\na",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="order",
    ),
    pytest.param(
        "**Chain of Thought:**\na\n\n**Additional Information Required:** CT\n\n**Conclusion**\nX",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="bold",
    ),
    pytest.param(
        "Chain of Thought:\na\nAdditional Information Required: CT\nConclusion: X",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="plain",
    ),
    pytest.param(
        "### Chain of Thought\na\n### Additional Information Required\nCT\n### Conclusion\nX",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="missing colons",
    ),
    pytest.param(
        "### Resoning:\na\n### Addtional Infomation Requird:\nCT\n### Conclusoin:\nX\n### Anwser:\nY",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X", "answer": "Y"},
        id="misspelled",
    ),
    pytest.param(
        "### 1. Chain of Thought\na\n### 2. Additional Information Required\nCT\n### 3. Conclusion\nX",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="numbered",
    ),
    pytest.param(
        "### Chain of Thought\na\n### 1. Additional Information Required:\nCT\n### Conclusion\nX",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="one numbered",
    ),
    pytest.param(
        "1. **Chain of Thought:** a\n2. **Additional Information Required:** CT\n3. **Conclusion:** X",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="a numbered list",
    ),
    pytest.param(
        "### Chain of Thought: a. ### Additional Information Required: CT. ### Conclusion: X",
        {"reasoning": "a.", "additional_information": "CT.", "conclusion": "X"},
        id="in the middle of a line",
    ),
    pytest.param(
        "Chain of Thought: a. Additional Information Required: CT chest. Conclusion: X",
        {"reasoning": "a.", "additional_information": "CT chest.", "conclusion": "X"},
        id="plain on one line",
    ),
    pytest.param(
        "### Chaîne de pensée :\na\n### Informations complémentaires requises :\nscanner\n### Conclusion :\nX",
        {"reasoning": "a", "additional_information": "scanner", "conclusion": "X"},
        id="fr",
    ),
    pytest.param(
        "### 推理过程：\na\n### 需要的额外信息：\nCT\n### 结论：\nX",
        {"reasoning": "a", "additional_information": "CT", "conclusion": "X"},
        id="chinese",
    ),
    pytest.param(
        "【推理】\na\n【所需补充信息】\nCT\n【最终诊断】\nX",
        {"reasoning": "a", "additional_information": "CT", "answer": "X"},
        id="chinese brackets",
    ),
    pytest.param("### Answer:\nX\n### Answer:\nY\n### Answer:\n\n", {"answer": "Y"}, id="the last that is not empty"),
    pytest.param(
        "The patient has a mass. It is a GIST.",
        {"reasoning": None, "additional_information": None, "conclusion": None, "answer": None},
        id="nothing is guessed",
    ),
    pytest.param(
        "### Answer: [your answer]\n\n### Reasoning:\na\n### Answer: Z",
        {"answer": "Z", "reasoning": "a"},
        id="an echoed template",
    ),
    pytest.param("### **Answer:** GIST\n", {"answer": "GIST"}, id="hash bold"),
    pytest.param("# Answer\nGIST\n\n## References\n- x", {"answer": "GIST"}, id="one hash, references after"),
    pytest.param("### ANSWER: GIST", {"answer": "GIST"}, id="capitals"),
    pytest.param("###Answer:GIST", {"answer": "GIST"}, id="no space"),
    pytest.param("### Answer： GIST", {"answer": "GIST"}, id="fullwidth colon"),
    pytest.param(
        "### Additional Information Required:\n\n### Conclusion:\nX",
        {"additional_information": None, "conclusion": "X"},
        id="an empty section",
    ),
    pytest.param(
        "### Answer:\n**Final Diagnosis:** GIST\n**Treatment plan:** surgery",
        {"answer": "**Final Diagnosis:** GIST\n**Treatment plan:** surgery"},
        id="labels inside the answer",
    ),
    pytest.param("Because of a.\n\nAnswer: GIST", {"answer": "GIST"}, id="plain answer"),
    pytest.param("<think>### Answer: NO</think>\n### Answer: YES", {"answer": "YES"}, id="thinking does not answer"),
    pytest.param("<think>### Answer: NO", {"answer": None}, id="unclosed thinking"),
]


@pytest.mark.parametrize(("text", "expected"), SECTIONS)
def test_sections_are_found(text: str, expected: dict[str, str | None]) -> None:
    sections = read_sections(text)

    assert {name: getattr(sections, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So the final diagnosis is GIST.", "GIST"),
        ("It could be A or B.", None),
        ("The final diagnosis is unclear.", None),
        ("### Answer:\n**GIST**", "GIST"),
        ("a\n\nTherefore, the final diagnosis is:\n\n**GIST of the ileum**", "GIST of the ileum"),
        ("<think>the final diagnosis is X</think> hm", None),
        ("### Answer:\n```\nGIST\n```", "GIST"),
        ("### Conclusion: GIST", "GIST"),
        ("### Answer:\n## GIST", "GIST"),
        ("最终诊断：肺炎", "肺炎"),
        ("**Answer**: GIST", "GIST"),
        ("Final Diagnosis: GIST", "GIST"),
    ],
)
def test_the_answer_is_found_only_where_it_is_clear(text: str, answer: str | None) -> None:
    assert answer_text(text) == answer


def test_text_before_the_first_heading_is_the_reasoning_when_no_heading_opens_one() -> None:
    reasoning = "The mass arises from the mesentery and is made of spindle cells, which is typical of one tumour."

    sections = read_sections(f"{reasoning}\n\n### Answer:\nGIST")

    assert (sections.reasoning, sections.answer) == (reasoning, "GIST")


def test_a_greeting_before_the_headings_is_no_reasoning() -> None:
    assert read_sections("Sure, here it is:\n\n### Answer:\nGIST").reasoning is None


def test_reasons_after_the_answer_do_not_belong_to_it() -> None:
    text = "### Reasoning:\nSpindle cells.\n### Answer:\nGIST\n\n**Explanation:** It stains for CD117."

    assert read_sections(text).answer == "GIST"


def test_a_numbered_item_of_the_reasoning_is_no_conclusion() -> None:
    text = "### Reasoning:\n1. **Findings:** a mass\n2. **Conclusion:** a tumour\n\n### Answer:\nGIST"

    assert read_sections(text).conclusion is None
