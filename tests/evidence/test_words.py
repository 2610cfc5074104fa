"""Terms: what counts as the same word in French, English and Chinese."""

from __future__ import annotations

import unicodedata

import pytest

from judge.evidence.words import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fever, 38.5 °C (HbA1c)", ["fever", "38", "5", "c", "hba1c"]),
        ("l'Œdème aigu", ["l", "oedeme", "aigu"]),
        ("L’OEDEME AIGU", ["l", "oedeme", "aigu"]),
        ("Sjögren Sjogren", ["sjogren", "sjogren"]),
        ("beta-blocker_x hyper\u00adtension", ["beta", "blocker", "x", "hypertension"]),
        ("Straße ΑΣΘΜΑ", ["strasse", "ασθμα"]),
        ("10 µg m²", ["10", "μg", "m2"]),
        ("2型糖尿病，癌 IgG抗体", ["2", "型糖", "糖尿", "尿病", "癌", "igg", "抗体"]),
        ("ガイド ｶﾞｲﾄﾞ", ["ガイ", "イド", "ガイ", "イド"]),
        ("당뇨병", ["당뇨", "뇨병"]),
        ("the the", ["the", "the"]),
        ("... -- «»", []),
    ],
    ids=range(12),
)
def test_given_a_text_when_its_terms_are_taken_then_they_are(text: str, expected: list[str]) -> None:
    for form in ("NFC", "NFD", "NFKC"):
        assert terms(unicodedata.normalize(form, text)) == expected
