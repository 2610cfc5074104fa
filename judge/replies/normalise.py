"""Bring a reply to plain comparable text: one alphabet, one kind of quote, dash and tick, no markup."""

from __future__ import annotations

import html
import re
import unicodedata

from judge.replies import vocabulary as words

#: A mark this module puts where the text sets its answer in a box or in an answer tag.
BOX = "\ue000"
TICK = "✓"
CROSS = "✗"
ARROW = "→"

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u20e3\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
#: Private-use characters would be taken for our own marks; lone surrogates and controls carry nothing.
_UNREADABLE = re.compile("[\ue000-\uf8ff\ud800-\udfff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,9});")


def _letters_from(first: int) -> dict[int, str]:
    return {first + n: chr(ord("A") + n) for n in range(26)}


#: Letters in squares and discs, and flags' letters, which compatibility normalisation leaves alone.
_PICTURED = (
    _letters_from(0x1F150)
    | _letters_from(0x1F170)
    | {code: f" {letter} " for code, letter in _letters_from(0x1F1E6).items()}
)
_SYMBOLS = str.maketrans(
    dict.fromkeys("✅☑✔🗸👍🟢🗹", TICK)
    | dict.fromkeys("❌✘✖☒☐⬜🚫⛔👎🔴❎✕╳", CROSS)
    | dict.fromkeys("➡⇒➔➜⟶⟹➤▶⮕↦", ARROW)
    | dict.fromkeys("«»“”„‟〝〞「」『』《》", '"')
    | dict.fromkeys("‘’‚‛ʼʹ′´＇", "'")
    | dict.fromkeys("‐‑⁃", "-")
    | dict.fromkeys("—―⸺", " - ")
    | dict.fromkeys("•◦▪▫‣●■◆►∙·・", "•")
    | dict.fromkeys("【〔", "[")
    | dict.fromkeys("】〕", "]")
    | {"、": ",", "。": ". ", "𝐱": "x"}
)
_SPACED_DASH = re.compile(r"[–−]")
_LETTER_DASH = re.compile(r"(?<![^\W_])([A-Za-z])[–−]([A-Za-z])(?![^\W_])")
_NEGATIVE_NUMBER = re.compile(r"(?<![^\s(:])[–−](?=\d)")


def clean(text: str) -> str:
    """The text without invisible characters, entities and compatibility forms; its markup and case are kept.

    Two texts that differ only in Unicode normalisation form or in zero-width characters come out equal.
    """
    text = _INVISIBLE.sub("", text)
    text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _UNREADABLE.sub(" ", _INVISIBLE.sub("", text)).translate(_PICTURED)
    text = _LINE_ENDS.sub("\n", text)
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).strip()


def fold(word: str) -> str:
    """The word without case and accents."""
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


_ANSWER_TAG = r"(?:final[_ -]?)?(?:answers?|r[ée]ponses?(?:[_ -]finales?)?|choices?|choix|solution|result)"
_REPLACED = (
    (re.compile(rf"<{_ANSWER_TAG}\s{{0,3}}>", re.IGNORECASE), f"\n{BOX} "),
    (re.compile(r"</?(?:td|th)\b[^<>]{0,80}>", re.IGNORECASE), " | "),
    (re.compile(r"</?(?:br|p|li|ul|ol|div|tr|h[1-6]|table|pre)\b[^<>]{0,80}>", re.IGNORECASE), "\n"),
    (re.compile(rf"</{_ANSWER_TAG}\s{{0,3}}>|</?(?:explanation|explication|justification)>", re.IGNORECASE), "\n"),
    (re.compile(r"<\|[^|<>]{1,40}\|>"), "\n"),
    # "<B>" alone is a letter in brackets, not a tag.
    (re.compile(r"\A([^<]{0,200})<([A-Ja-j])>(?![^<]{0,80}</)"), r"\1 \2 "),
    (re.compile(r"</?[A-Za-zÀ-ÿ][\w:-]{0,30}(?:\s[^<>]{0,120})?/?>"), ""),
    # Struck-through text is what the model takes back.
    (re.compile(r"~~[^~\n]{1,200}~~"), " "),
    (re.compile(r"```[\w-]{0,20}"), "\n"),
    (re.compile(r"\\n(?![a-z])"), "\n"),
    (re.compile(r"\\(?:boxed|fbox|framebox)\b[ {]{0,3}"), f" {BOX} "),
    (
        re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathsf|mathit|mbox|bf|rm|operatorname)(?![A-Za-z])"),
        "",
    ),
    (re.compile(r"\\(?:[Rr]ightarrow|to|implies)(?![A-Za-z])"), ARROW),
    (re.compile(r"\\checkmark(?![A-Za-z])"), TICK),
    (re.compile(r"\\[A-Za-z]{1,30}"), " "),
    (re.compile(r"\\(?=[*_#&%$~`>|-])"), ""),
    (re.compile(r"[\\${}]"), " "),
    (re.compile(r"^[ \t]{0,20}(?:>[ \t]{0,3}){1,9}", re.MULTILINE), ""),
    (re.compile(r"^([ \t]{0,20}(?:[-*+•]|\d{1,2}[.)])?[ \t]{0,4})\[[xX✓]\]", re.MULTILINE), rf"\1{TICK}"),
    (re.compile(r"^([ \t]{0,20}(?:[-*+•]|\d{1,2}[.)])?[ \t]{0,4})\[ ?\]", re.MULTILINE), rf"\1{CROSS}"),
    (re.compile(r"^([ \t]{0,20})□(?=[ \t]?[A-Ja-j]\b)", re.MULTILINE), rf"\1{CROSS}"),
    (re.compile(r"=>|[-=]{1,3}>"), ARROW),
    (re.compile(r"[*`#]"), ""),
    (re.compile(r"_"), " "),
)

#: A Markdown table: its heads, the rule below them, its rows.
_TABLE = re.compile(
    r"^[ \t]{0,20}(\|?[^|\n]*\|[^\n]*)\n"
    r"[ \t]{0,20}\|?(?:[ \t]{0,20}:?-+:?[ \t]{0,20}\|)+(?:[ \t]{0,20}:?-+:?)?[ \t]*\n"
    r"((?:[^|\n]*\|[^\n]*(?:\n|\Z))+)",
    re.MULTILINE,
)


def _rows(table: re.Match[str]) -> str:
    """A table's rows without its heads; a cell ticked under "Vrai" or "Faux" becomes that word."""
    heads = _cells(table[1])
    rows = [_cells(row) for row in table[2].rstrip("\n").split("\n")]
    if all(_judges(head) for head in heads):
        # "| Vraies | Fausses |", the letters below.
        columns = [[row[n] for row in rows if n < len(row) and row[n]] for n in range(len(heads))]
        return "\n" + "".join(f"{head} : {', '.join(c)}\n" for head, c in zip(heads, columns, strict=True) if c)
    if len(rows) == 1 and len(heads) > 2:
        # The options are the columns.
        rows = [list(pair) for pair in zip(heads[1:], rows[0][1:], strict=False)]
    elif len(rows) < 2:
        return table[0]
    return "\n" + "".join(f"| {' | '.join(_ticked(heads, row))} |\n" for row in rows)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]


def _judges(head: str) -> bool:
    return fold(head) in words.VERDICT_WORDS


def _ticked(heads: list[str], row: list[str]) -> list[str]:
    judging = [n for n, head in enumerate(heads[: len(row)]) if _judges(head)]
    ticked = [n for n in judging if row[n] in (TICK, "x", "X")] or [n for n in judging if row[n]]
    if len(judging) < 2 or len(ticked) != 1:
        return row
    return [heads[n] if n in ticked else cell for n, cell in enumerate(row) if n in ticked or n not in judging]


_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_HAS_CJK = re.compile(f"[{_CJK}]")
_CJK_BORDER = re.compile(f"(?<=[{_CJK}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_CJK}])")
#: Chinese and Japanese answer phrases in the words of the English vocabulary, longest first.
_CJK_PHRASES = {
    "以上都不是": "none of the above",
    "以上皆非": "none of the above",
    "以上都不对": "none of the above",
    "以上都是": "all of the above",
    "以上皆是": "all of the above",
    "以上都对": "all of the above",
    "正确答案": "correct answer",
    "正確答案": "correct answer",
    "最佳答案": "best answer",
    "正确选项": "correct option",
    "正確選項": "correct option",
    "参考答案": "answer",
    "最终答案": "final answer",
    "答案": "answer",
    "正解": "answer",
    "答え": "answer",
    "不正确": "incorrect",
    "不正確": "incorrect",
    "不是": "it is not",
    "不选": "it is not",
    "而是": "but",
    "错误": "incorrect",
    "錯誤": "incorrect",
    "正确": "correct",
    "正確": "correct",
    "选项": "option",
    "選項": "option",
    "选择": "choose",
    "選擇": "choose",
    "因此": "therefore",
    "所以": "therefore",
    "应该": "",
    "因为": "because",
    "故选": "choose",
    "应选": "choose",
    "选": "choose",
    "選": "choose",
    "或者": "or",
    "或": "or",
    "以及": "and",
    "和": "and",
    "与": "and",
    "及": "and",
    "是": "is",
    "为": "is",
    "為": "is",
    "は": "is",
    "我": "i",
    "的": "",
}
_CJK_PHRASE = re.compile("|".join(map(re.escape, _CJK_PHRASES)))


def plain(text: str) -> str:
    """A cleaned text without Markdown, HTML and LaTeX; a box or an answer tag becomes the mark `BOX`."""
    text = _NEGATIVE_NUMBER.sub("-", _LETTER_DASH.sub(r"\1-\2", text))
    text = _SPACED_DASH.sub(" - ", text).translate(_SYMBOLS)
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = _TABLE.sub(_rows, text)
    if _HAS_CJK.search(text):
        text = _CJK_PHRASE.sub(lambda phrase: f" {_CJK_PHRASES[phrase[0]]} ", text)
        text = _CJK_BORDER.sub(" ", text)
    return text
