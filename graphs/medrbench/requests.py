"""Whether a doctor's request repeats an earlier one in other words.

`is_repeat` compares exams, not strings: "CBC" repeats "Complete blood count", "hemoglobin" repeats both (a member of a
panel), and "CBC and ferritin" repeats only when both were asked for. What differs in region, side, specimen, analyte,
modality, contrast, timing or target is another exam. Deterministic, without a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rapidfuzz import fuzz

from graphs.medrbench.requests_reading import Exam, Reading, read
from graphs.medrbench.requests_tokens import ANALYTES, REGIONAL
from graphs.medrbench.requests_vocabulary import vocabulary, vocabulary_version

__all__ = ["is_repeat", "repeat_of", "vocabulary_version"]

#: Two unknown words count as one when they are this similar (rapidfuzz ratio, 0-100); both of six letters or more.
_SAME_WORD = 86
_SERIES = ("serial", "trend", "every", "over time", "daily")


def is_repeat(request: str, earlier: Sequence[str]) -> bool:
    """Whether every exam of `request` was already asked for in `earlier`, taken together, in whatever words.

    A request for another measurement ("repeat CBC in 24 hours") is no repeat. The order of `earlier` does not matter.
    """
    return repeat_of(request, earlier) is not None


def repeat_of(request: str, earlier: Sequence[str]) -> int | None:
    """Index of the first earlier request that `request` repeats, None if it asks for something new.

    When only several earlier requests together cover it, the one that completes them.
    """
    asked = read(request)
    readings = [read(text) for text in earlier]
    if not asked.plain:
        return None
    if asked.serial:
        readings = [known if _same_series(asked, known) else Reading((), "", "") for known in readings]
    for index, known in enumerate(readings):
        if _same(asked, known):
            return index
    together: list[Exam] = []
    for index, known in enumerate(readings):
        together += known.exams
        if _covers(together, asked.exams):
            return index
    return None


def _same(asked: Reading, known: Reading) -> bool:
    """Whether one earlier request alone covers all that is asked."""
    if not known.plain:
        return False
    return known.plain == asked.plain or _covers(known.exams, asked.exams) or _abbreviates(asked, known)


def _same_series(asked: Reading, known: Reading) -> bool:
    """A series or a timed measurement repeats itself; a bare "repeat ..." never does."""
    timed = any(character.isdigit() for character in asked.serial)
    return asked.serial == known.serial and (timed or any(word in asked.serial for word in _SERIES))


def _abbreviates(asked: Reading, known: Reading) -> bool:
    """Whether one is an abbreviation, unknown to the vocabulary, of words of the other."""
    return _unknown_word(asked) in known.acronyms or _unknown_word(known) in asked.acronyms


def _unknown_word(reading: Reading) -> str:
    words = [word for exam in reading.exams if not exam.head and not exam.about for word in exam.words]
    return words[0] if len(reading.exams) == len(words) == 1 else ""


def _covers(known: Sequence[Exam], asked: Sequence[Exam]) -> bool:
    return bool(asked) and all(_covered(exam, known) for exam in asked)


def _covered(exam: Exam, known: Sequence[Exam]) -> bool:
    if exam.items:
        listed = all(_covered(item, known) for item in exam.items)
        return listed and (len(exam.items) > 1 or _covered_itself(exam, known))
    return _covered_itself(exam, known)


def _covered_itself(exam: Exam, known: Sequence[Exam]) -> bool:
    repeats = any(_repeats(exam, earlier) for earlier in known)
    return repeats or _core_covered(exam, known) or _sites_covered(exam, known)


def _core_covered(exam: Exam, known: Sequence[Exam]) -> bool:
    """A panel of which all main members were asked for, one by one."""
    core = vocabulary().core.get(exam.head)
    if not core:
        return False
    return all(any(_repeats(_member(exam, id), earlier) for earlier in known) for id in core)


def _member(panel: Exam, id: str) -> Exam:
    return Exam(id, "lab" if panel.kind in ANALYTES else panel.kind, specimens=panel.specimens)


def _sites_covered(exam: Exam, known: Sequence[Exam]) -> bool:
    """A region of which all parts were asked for."""
    parts = vocabulary().core.get(exam.site)
    if not parts or exam.kind not in REGIONAL:
        return False
    here = {site for earlier in known if earlier.head == exam.head for site in [earlier.site]}
    return parts <= here and any(_same_protocol(exam, earlier) for earlier in known if earlier.head == exam.head)


def _repeats(exam: Exam, earlier: Exam) -> bool:
    """Whether one exam repeats another: no guard may find a difference that matters."""
    return (
        exam.prior == earlier.prior
        and _same_head(exam, earlier)
        and _same_place(exam, earlier)
        and _same_protocol(exam, earlier)
        and _same_subject(exam, earlier)
        and exam.aspects <= earlier.aspects
    )


def _same_head(exam: Exam, earlier: Exam) -> bool:
    if exam.head == earlier.head:
        return _same_specimen(exam, earlier)
    if earlier.items and earlier.head in vocabulary().open:
        return any(_repeats(exam, item) for item in earlier.items)
    wholes = {earlier.head} | (earlier.about if earlier.kind == "serology" else frozenset())
    return any(_is_part(exam, whole, earlier) for whole in wholes)


def _is_part(exam: Exam, whole: str, earlier: Exam) -> bool:
    parts = vocabulary().parts.get(whole, frozenset())
    if len(earlier.items) > 1 and not _listed_or_core(exam, earlier):
        return False
    same_specimen = exam.kind not in ANALYTES or exam.specimens <= (earlier.specimens or {"blood_sample"})
    if same_specimen and (exam.head, "") in parts:
        return True
    return bool(exam.specimens) and all((exam.head, specimen) in parts for specimen in exam.specimens)


def _listed_or_core(exam: Exam, panel: Exam) -> bool:
    """A request that lists members of its panel asks for these, and for the main ones."""
    return exam.head in vocabulary().core.get(panel.head, ()) or any(exam.head == item.head for item in panel.items)


def _same_specimen(exam: Exam, earlier: Exam) -> bool:
    if exam.kind == "serology":
        return exam.specimens == earlier.specimens
    if exam.kind == "fixed" and not earlier.specimens:
        return True
    if exam.head in vocabulary().words["blood_unless_said"] and not earlier.specimens:
        return exam.specimens <= {"blood_sample"}
    return exam.specimens <= earlier.specimens


def _same_place(exam: Exam, earlier: Exam) -> bool:
    if exam.sides and earlier.sides and not exam.sides <= earlier.sides and "bilateral" not in earlier.sides:
        return False
    if exam.site == earlier.site:
        return bool(exam.site) or exam.kind not in REGIONAL or _same_vague_site(exam, earlier)
    if exam.kind in ("fixed", "tissue") and not (exam.site and earlier.site):
        return True
    if not exam.site:
        return _same_vague_site(exam, earlier)
    return (exam.site, "") in vocabulary().parts.get(earlier.site, frozenset()) or _vague(exam, earlier)


def _same_vague_site(exam: Exam, earlier: Exam) -> bool:
    """Without a region: "biopsy of the mass" after another of the mass, not after a skin biopsy."""
    return exam.vague_site <= earlier.vague_site and _words_covered(exam.words, earlier)


def _vague(exam: Exam, earlier: Exam) -> bool:
    """ "Biopsy of the breast mass" after "biopsy of the mass": the earlier one names no region but the thing itself."""
    return not earlier.site and exam.kind == "procedure" and bool(exam.vague_site & earlier.vague_site)


def _same_protocol(exam: Exam, earlier: Exam) -> bool:
    asked = exam.protocols - earlier.protocols
    if asked == {"contrast_without"}:
        return "contrast_with" not in earlier.protocols
    return not asked or _isotypes_of_all(exam, earlier)


def _isotypes_of_all(exam: Exam, earlier: Exam) -> bool:
    isotypes = vocabulary().words["isotypes"]
    return exam.kind == "serology" and exam.protocols <= isotypes and not earlier.protocols & isotypes


def _same_subject(exam: Exam, earlier: Exam) -> bool:
    """Targets, conditions and unknown words: what is asked must have been asked, and not of something narrower."""
    if exam.head != earlier.head:
        return True
    if exam.head in ("symptoms", "family_history") or exam.kind in ("assay", "serology", "tissue", ""):
        return _same_target(exam, earlier)
    needs_words = exam.kind in ANALYTES or (exam.kind in REGIONAL and not exam.site)
    return not needs_words or _words_covered(exam.words, earlier)


def _same_target(exam: Exam, earlier: Exam) -> bool:
    nothing = not exam.about and not exam.words
    if nothing:
        return not earlier.about and not earlier.words
    if exam.head == "family_history" and not earlier.about and not earlier.words:
        return True
    if not _about_covered(exam, earlier) or not _words_covered(exam.words, earlier):
        return False
    return bool(exam.head) or _enough(exam, earlier)


def _about_covered(exam: Exam, earlier: Exam) -> bool:
    """ "Family history of breast cancer" after "of cancer", "toxoplasma IgM" after "TORCH screen"."""
    parts = vocabulary().parts
    within = {id for about in earlier.about for id, _ in parts.get(about, ())}
    return exam.about <= earlier.about | within


def _enough(exam: Exam, earlier: Exam) -> bool:
    """An exam known by its words only must share most of the earlier one's."""
    size = len(exam.about) + len(exam.words)
    return 2 * size >= len(earlier.about) + len(earlier.words)


def _words_covered(words: Iterable[str], earlier: Exam) -> bool:
    there = earlier.words | earlier.aliases
    return all(word in there or any(_alike(word, other) for other in there) for word in words)


def _alike(word: str, other: str) -> bool:
    if min(len(word), len(other)) < 6 or not (word.isalpha() and other.isalpha()):
        return False
    return word[:3] == other[:3] and fuzz.ratio(word, other) >= _SAME_WORD
