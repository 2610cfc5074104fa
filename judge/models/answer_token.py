"""Where in the tokens of a reply its answer letter stands, and what else the model could have said there."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from judge.models.exchange import JSON
from judge.outcome import Unscored


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """One token of a reply.

    Attributes:
        text: as the model said it, with the space before it.
        alternatives: token -> log-probability, the token itself included.
        lowest_listed: lowest log-probability in the server's list; whatever is not listed is no likelier.
    """

    text: str
    alternatives: Mapping[str, float]
    lowest_listed: float


def find_answer_token(logprobs: JSON, answer: str, letters: Sequence[str]) -> ScoredToken | Unscored:
    """The token that is the answer letter of a reply.

    It stands at the head of the answer, behind nothing but markup and words of announcement ("**Answer:** (B"), or
    later behind the word "answer". A letter that begins a phrase ("A patient", "B cells"), shares its place with
    another ("A or B") or heads a repeated list of the options is none. Thinking is passed over.

    Args:
        logprobs: of a chat completion's choice: ``{"content": [{"token", "bytes", "logprob", "top_logprobs"}]}``.
        answer: the text of the reply without its thinking.
        letters: one character each, in the order of the options.
    """
    tokens = list(_tokens(logprobs))
    if not tokens:
        return Unscored("no_logprobs", "the reply came without log-probabilities of its tokens")
    if not lists_alternatives(logprobs):
        return Unscored("no_alternatives", "the server lists no alternatives to the tokens of the reply")
    first = _first_of_answer(tokens, answer)
    if first is None:
        return Unscored("answer_not_in_logprobs", "the tokens that the server lists are not those of the answer")
    return _letter_among(tokens[first:], tuple(letters))


def lists_alternatives(logprobs: JSON) -> bool:
    """Whether a reply came with alternatives to its tokens."""
    return any(math.isfinite(token.lowest_listed) for token in _tokens(logprobs))


def letter_of(token: str, letters: Sequence[str]) -> str | None:
    """The letter that a token is, markup and spaces aside: ``" A"``, ``"**A"``, ``"(A)"`` and ``"Ａ"`` are A."""
    bare = re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", token))
    return bare if bare in tuple(letters) else None  # in a text, any part of it would be found


# Reading what the server sent


def _tokens(logprobs: JSON) -> Iterator[ScoredToken]:
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else logprobs
    for item in content if isinstance(content, list) else []:
        if isinstance(item, Mapping):
            yield _token(item)


def _token(item: Mapping[str, JSON]) -> ScoredToken:
    top = item.get("top_logprobs")
    listed: dict[str, float] = {}
    for other in top if isinstance(top, list) else []:
        if isinstance(other, Mapping) and (score := _score(other)) is not None:
            text = _text(other)
            listed[text] = max(score, listed.get(text, score))  # two tokens may read the same
    own, said = _text(item), _score(item)
    alternatives = listed if said is None or own in listed else listed | {own: said}
    return ScoredToken(own, alternatives, min(listed.values(), default=math.inf))


def _text(item: Mapping[str, JSON]) -> str:
    """A token's text; its bytes are more faithful, where there are any: half a character, or a word-start mark."""
    raw: Any = item.get("bytes")
    if isinstance(raw, list) and raw and all(isinstance(byte, int) and 0 <= byte < 256 for byte in raw):
        return bytes(raw).decode("utf-8", errors="replace")
    token = item.get("token")
    return token.replace("▁", " ").replace("Ġ", " ").replace("Ċ", "\n") if isinstance(token, str) else ""


#: Rounding may put a certainty a little above 0; anything higher is no log-probability.
_ROUNDING = 1e-3


def _score(item: Mapping[str, JSON]) -> float | None:
    score = item.get("logprob")
    if isinstance(score, bool) or not isinstance(score, int | float) or not -math.inf < score <= _ROUNDING:
        return None
    return min(float(score), 0.0)


# Finding the answer among the tokens


#: So many tokens after the answer, e.g. the one that ends a turn, may be listed without being part of the text.
_ENDINGS = 4


def _first_of_answer(tokens: Sequence[ScoredToken], answer: str) -> int | None:
    """Index of the first token of the answer, which is what the tokens end with."""
    wanted = _skeleton(answer)
    parts = [_skeleton(token.text) for token in tokens]
    ends = list(accumulate(map(len, parts)))
    said = "".join(parts)
    for ending in range(min(_ENDINGS, len(parts)) + 1):
        length = ends[-1 - ending] if ending < len(ends) else 0
        if wanted and said[:length].endswith(wanted):
            return next(index for index, end in enumerate(ends) if end > length - len(wanted))
    return None


def _skeleton(text: str) -> str:
    """The visible ASCII of a text: the same however its other characters are cut into tokens."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if "!" <= char <= "~")


#: Words that open an announcement wherever they stand.
_ANNOUNCING = frozenset({"answer", "réponse"})
#: Words that may stand between the head of the answer, or an announcing word, and the letter.
_LEADING = frozenset(
    {
        *("the", "my", "final", "correct", "best", "right", "most", "likely", "appropriate", "la", "bonne"),
        *("answer", "option", "choice", "letter", "response", "réponse", "question", "to", "this"),
        *("is", "would", "be", "should", "est", "i", "choose", "select", "pick", "think", "believe"),
        *("sure", "certainly", "here", "so", "therefore", "thus"),
        *("boxed", "text", "textbf", "mathbf", "mathrm", "strong", "b"),  # what is left of markup
    }
)
#: Words in lower case that may follow a letter that is an answer; any other makes it part of a phrase.
_FOLLOWING = frozenset({"is", "was", "because", "since", "as", "would", "seems", "due", "car", "est"})
_WORD = re.compile(r"[^\W_]+")


def _letter_among(tokens: Sequence[ScoredToken], letters: Sequence[str]) -> ScoredToken | Unscored:
    texts = [unicodedata.normalize("NFKC", token.text) for token in tokens]
    text = "".join(texts)
    places = list(_letter_places(text, letters))
    if len({text[place] for place in places}) > 1:
        return Unscored("conflicting_letters", "the reply announces more than one letter")
    ends = list(accumulate(map(len, texts)))
    for place in places:
        token = tokens[next(index for index, end in enumerate(ends) if end > place)]
        if letter_of(token.text, letters) == text[place]:
            return token
    return Unscored("no_letter_in_logprobs", "no token of the answer is the letter of an option")


def _letter_places(text: str, letters: Sequence[str]) -> Iterator[int]:
    """Offsets of the letters that are given as the answer."""
    awaited = True
    for word in _WORD.finditer(text):
        folded = word[0].casefold()
        if word[0] in letters:
            if awaited and _stands_alone(text, word.end(), letters) and not _heads_list(text, word.start(), letters):
                yield word.start()
            awaited = False
        else:
            awaited = folded in _ANNOUNCING or (awaited and folded in _LEADING)


def _stands_alone(text: str, end: int, letters: Sequence[str]) -> bool:
    """Whether the letter that ends here is neither part of a phrase nor one of several."""
    following = text[end:]
    if re.match(r"['’-]\w", following):
        return False
    another = re.match(r"[\W_]{0,6}(?:and|or|et|ou|[,/&+])[\W_]{0,6}([^\W_]+)", following)
    if another and another[1] in letters:
        return False
    lower = re.match(r"[ \t]+([a-zà-ÿ]+)", following)
    return lower is None or lower[1] in _FOLLOWING


def _heads_list(text: str, start: int, letters: Sequence[str]) -> bool:
    """Whether the letter is the first of a list of the options, which models like to repeat."""
    heads = list(re.finditer(r"^[^\w\n]*([^\W_])[*_]{0,2}[.):]", text, re.MULTILINE))
    return len(heads) > 1 and heads[0].start(1) == start and [head[1] for head in heads[:2]] == list(letters[:2])
