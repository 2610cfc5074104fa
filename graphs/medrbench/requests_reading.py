"""What a request asks for: its exams, each with region, side, specimen, protocol and target.

Segments are read as exams. A segment without a head of its own ("... and pelvis") borrows its neighbour's; what stands
in brackets, after a colon or after "including" belongs to the exam before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from graphs.medrbench.requests_tokens import (
    ANALYTES,
    HARD,
    REGIONAL,
    SOFT,
    TARGETED,
    TESTS,
    Segment,
    Splitter,
    tokenise,
)
from graphs.medrbench.requests_vocabulary import Term, vocabulary


@dataclass(frozen=True, slots=True)
class Exam:
    """One exam, or one question of the history, that a request asks for.

    Attributes:
        head: id of the exam in the vocabulary, "" if it is known by its `words` only.
        kind: kind of the head.
        site: region; "" if none is named.
        about: targets and conditions, such as an organism.
        words: words that the vocabulary does not know.
        aliases: unknown words in brackets after it.
        prior: an old result for comparison.
        items: members that the request itself lists for a panel.
    """

    head: str
    kind: str
    site: str = ""
    vague_site: frozenset[str] = frozenset()
    sides: frozenset[str] = frozenset()
    specimens: frozenset[str] = frozenset()
    protocols: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    aspects: frozenset[str] = frozenset()
    prior: bool = False
    items: tuple[Exam, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as read.

    Attributes:
        exams: what it asks for.
        plain: its normalised wording.
        serial: the wording that makes it another measurement, "" if there is none.
        acronyms: initials of three to six consecutive words.
    """

    exams: tuple[Exam, ...]
    plain: str
    serial: str
    acronyms: frozenset[str] = frozenset()


def _settle(segment: Segment) -> None:
    """Decide between several heads of one segment: which are exams, which only say of what."""
    words = vocabulary().words
    fluids = [head for head in segment.heads if head.id in words["fluids"]]
    others = [head for head in segment.heads if head not in fluids and head.kind not in ("generic", "topic", "exam")]
    if fluids and (any(head.kind != "fixed" for head in others) or "target" in segment.ids):
        segment.ids.setdefault("specimen", []).extend(head.id for head in fluids)
        segment.heads = others
    if segment.has(*(TARGETED - {"family"})):
        _analytes_to_targets(segment)
    if "doppler" in segment.named("protocol") and not segment.heads and segment.sep != "with":
        segment.heads = [Term("us", "imaging")]
    if segment.has(*TESTS):
        _drop_complaints(segment)
    if len({head.kind for head in segment.heads}) > 1:
        segment.heads = [head for head in segment.heads if head.kind != "generic"]
    _drop_methods(segment)
    if segment.has("family"):
        _family(segment)
    if segment.named("target", "condition") and [head.id for head in segment.heads] == ["pmh"]:
        segment.heads = []


def _drop_methods(segment: Segment) -> None:
    """ "Immunostaining of the biopsy", "cytology of the FNA", "factor V Leiden PCR" are one exam each."""
    ids = {head.id for head in segment.heads}
    without: set[str] = set()
    if segment.heads and segment.heads[0].kind == "tissue":
        without.add("biopsy")
    if "fna" in ids:
        without.add("cytology")
    if segment.has("fixed") and not segment.words and not segment.named("target", "condition"):
        without |= {"genetic", "pcr"}
    segment.heads = [head for head in segment.heads if head.id not in without]


def _analytes_to_targets(segment: Segment) -> None:
    """ "Insulin antibodies" is no insulin; "ANA antibodies" is ANA; "CMV IgM" is an isotype."""
    analytes = [head for head in segment.heads if head.kind in ("lab", "blood")]
    if any(head.kind == "antibody" for head in segment.heads):
        segment.heads = [head for head in segment.heads if head.kind != "serology"]
    elif analytes:
        segment.heads = [head for head in segment.heads if head not in analytes]
        segment.ids.setdefault("target", []).extend(head.id for head in analytes)


def _drop_complaints(segment: Segment) -> None:
    targeted = segment.has("assay", "serology") and "target" not in segment.ids
    segment.heads = [head for head in segment.heads if head.kind not in ("topic", "exam", "family")]
    if not targeted and "cancer" in segment.ids.pop("condition", ()):
        segment.ids.setdefault("weaksite", []).append("mass")


def _family(segment: Segment) -> None:
    about = [head.id for head in segment.heads if head.kind != "family"]
    segment.heads = [head for head in segment.heads if head.kind == "family"][:1]
    segment.ids.setdefault("condition", []).extend(about)


def _is_isotype(segment: Segment) -> bool:
    isotypes = vocabulary().words["isotypes"]
    return bool(segment.heads) and all(head.id in isotypes or head.kind == "serology" for head in segment.heads)


def _resolve(segments: list[Segment]) -> list[Segment]:
    """Let every segment have a head: its own, or that of the neighbour it belongs to."""
    kept = [segment for segment in _without_remarks(segments) if not _only_continues(segment)]
    for segment in kept:
        _isotypes_to_protocols(segment)
        _settle(segment)
    for at, segment in enumerate(kept):
        before = next((other for other in reversed(kept[:at]) if not other.dropped), None)
        if segment.listed and before is not None:
            segment.parent = _opener(before, segment)
        if not segment.heads:
            _borrow(segment, before, kept[at + 1 :])
        elif before is not None:
            _carry(segment, before)
    return [segment for segment in kept if not segment.dropped]


def _without_remarks(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Leave out what a remark tells or suspects, if more is asked for: "She is pale. I suspect lupus: order ANA"."""
    asks = any(segment.has(*TESTS) or (segment.heads and not _is_remark(segment)) for segment in segments)
    remark = False
    for segment in segments:
        goes_on = remark and segment.sep in SOFT
        wanted = segment.asks or segment.question or segment.has(*TESTS, "family")
        remark = asks and not wanted and (goes_on or _is_remark(segment))
        if not remark:
            yield segment


def _is_remark(segment: Segment) -> bool:
    words = vocabulary().words
    said = [word for text in segment.said for word in text.split()]
    states = bool(said) and said[0] in words["subjects"] and not words["predicates"].isdisjoint(said)
    return states or not words["opinions"].isdisjoint(said)


def _only_continues(segment: Segment) -> bool:
    """Whether it goes on with a reason ("... or lymphadenopathy") and asks for nothing."""
    return segment.continues_reason and not segment.has(*TESTS, "family") and "target" not in segment.ids


def _isotypes_to_protocols(segment: Segment) -> None:
    if "target" in segment.ids and _is_isotype(segment):
        segment.ids.setdefault("protocol", []).extend(h.id for h in segment.heads if h.kind != "serology")
        segment.heads = [Term("serology", "serology")]


def _opener(before: Segment, segment: Segment) -> Segment | None:
    return before.parent if before.listed and segment.sep not in ("(", ":") else before


def _carry(segment: Segment, before: Segment) -> None:
    """Hand on what the list before has said once: the specimen, the region."""
    if segment.parent is not None:
        _inherit_from_parent(segment, segment.parent)
    analytes = ("lab", "assay", "tissue") if segment.sep in (":", "(") else ("lab",)
    linked = segment.sep in SOFT and before.has("lab") and segment.has(*analytes)
    if linked and "specimen" not in segment.ids and not _panel(segment):
        segment.ids["specimen"] = [id for id in before.named("specimen") if id != "blood_sample"] or ["blood_sample"]
    one_region = segment.has("imaging") and before.has("imaging") and segment.sep in ("and", "or", "/")
    if one_region and "site" not in before.ids:
        before.ids["site"] = segment.named("site")
    if segment.sep == "with" and segment.has("tissue", "procedure") and "site" not in segment.ids:
        segment.ids["site"] = before.named("site")


def _panel(segment: Segment) -> bool:
    return any(head.kind == "blood" for head in segment.heads)


def _inherit_from_parent(segment: Segment, parent: Segment) -> None:
    fluids = [head.id for head in parent.heads if head.id in vocabulary().words["fluids"]]
    if segment.has("lab", "assay", "tissue") and "specimen" not in segment.ids:
        known = vocabulary().specimen_of
        shared = [known[head.id] for head in parent.heads if head.id in known]
        specimens = fluids or shared or parent.named("specimen")
        if specimens:
            segment.ids["specimen"] = specimens
    if parent.has("assay", "serology") and not parent.named("target", "condition") and segment.has(*ANALYTES):
        parent.dropped = True
    if segment.has("procedure", "tissue") and "site" not in segment.ids:
        segment.ids["site"] = parent.named("site")
    if parent.has("exam") and segment.has(*TESTS):
        parent.dropped = True


def _borrow(segment: Segment, before: Segment | None, after: Sequence[Segment]) -> None:
    following = next((other for other in after if other.heads), None)
    if segment.parent is not None and _only_detail(segment, segment.parent):
        segment.parent.aliases += segment.words
        segment.dropped = True
        return
    joined = segment.sep in ("(", ")", ":") or (segment.sep == "with" and not _is_unknown_test(segment))
    if joined and before is not None and before.heads and _joins(segment, before):
        return
    lender = _lender(segment, before, following)
    if lender is not None:
        segment.heads = list(lender.heads)
        for kind in ("protocol", "specimen", "time", "aspect"):
            if kind in lender.ids and kind not in segment.ids:
                segment.ids[kind] = list(lender.ids[kind])
        if lender is before and "protocol" in segment.ids and "protocol" not in before.ids:
            before.ids["protocol"] = [id for id in segment.ids["protocol"] if id.startswith("contrast")]
        segment.parent = segment.parent if segment.listed and segment.parent is not lender else None
    elif segment.named("target") and not _is_personal(segment):
        segment.heads = [Term("serology", "serology")]


def _is_unknown_test(segment: Segment) -> bool:
    """ "... with BRAF testing" is an exam of its own."""
    return bool(segment.words) and not segment.ids and "test" in segment.said


def _is_personal(segment: Segment) -> bool:
    """ "Has the patient had tuberculosis?" asks for no test."""
    said = {word for text in segment.said for word in text.split()}
    return bool(said & vocabulary().words["personal"]) and "test" not in said


def _only_detail(segment: Segment, parent: Segment) -> bool:
    """Unknown words, or "blood" in urine, listed after an exam that has no targets."""
    if segment.ids:
        return parent.has("fixed") and set(segment.ids) == {"specimen"}
    return bool(segment.words) and parent.has(*(TESTS - TARGETED))


def _joins(segment: Segment, before: Segment) -> bool:
    """Merge "(chest)", "with contrast" or "(GLA)" into the exam before it, if that is all it is."""
    target = before.parent if segment.listed and before.listed and before.parent and segment.sep == ":" else before
    lists_targets = bool(segment.words or segment.named("target"))
    if lists_targets and target.has(*TARGETED) and not (target.words or target.named("target", "condition")):
        target.dropped = True
        return False
    if "site" in segment.ids and "site" in target.ids and target.has(*REGIONAL):
        return False
    if segment.named("target", "condition") and target.has(*TARGETED):
        return False
    for kind, ids in segment.ids.items():
        target.ids.setdefault(kind, []).extend(ids)
    target.aliases += segment.words
    segment.dropped = True
    return True


def _lender(segment: Segment, before: Segment | None, following: Segment | None) -> Segment | None:
    wanted = _lending_kinds(segment)
    back = before if before is not None and before.has(*wanted) and segment.sep not in HARD else None
    ahead = following if following is not None and following.has(*wanted) and following.sep in SOFT else None
    if back is not None and back.head_last and ahead is not None and ahead.head_last:
        return ahead
    if segment.words and not segment.ids and back is not None and not back.has("family", "assay", "tissue", "serology"):
        return None
    if segment.words and not segment.ids and not _comes_first(segment, ahead):
        ahead = None
    return back or ahead


def _comes_first(segment: Segment, ahead: Segment | None) -> bool:
    """Whether it stands as "BRCA1" does in "BRCA1 and BRCA2 analysis"."""
    return ahead is not None and ahead.head_last and segment.sep in ("", ",", ":")


def _lending_kinds(segment: Segment) -> frozenset[str]:
    if segment.named("target", "condition") or segment.words:
        return TARGETED
    if segment.named("site", "weaksite", "side"):
        return REGIONAL | {"fixed", "generic", "exam"}
    if segment.named("specimen"):
        return frozenset({"assay", "lab", "tissue"})
    if segment.named("aspect"):
        return frozenset({"topic"})
    return frozenset({"imaging"})


def _exams(segments: Sequence[Segment]) -> tuple[Exam, ...]:
    found: list[Exam] = []
    owners: dict[int, int] = {}
    for segment in segments:
        made = [exam for exam in _exams_of(segment) if _says_what(exam)]
        parent = owners.get(id(segment.parent)) if segment.parent is not None else None
        if parent is not None and all(_belongs(exam, found[parent]) for exam in made):
            found[parent] = replace(found[parent], items=(*found[parent].items, *made))
            continue
        if made:
            owners[id(segment)] = len(found)
        found += made
    return tuple(dict.fromkeys(found))


def _says_what(exam: Exam) -> bool:
    """Not so "blood" alone, as in "Blood tests: ..."."""
    return bool(exam.head or exam.about or exam.words)


def _belongs(exam: Exam, panel: Exam) -> bool:
    """Whether a listed exam is a member of the panel before it."""
    parts = vocabulary().parts.get(panel.head, frozenset())
    return exam.head != panel.head and (
        any(id == exam.head for id, _ in parts) or (panel.head in vocabulary().open and exam.kind in TESTS)
    )


def _exams_of(segment: Segment) -> Iterator[Exam]:
    heads = segment.heads or [Term("", "")]
    for head in dict.fromkeys(heads):
        exam = _exam(segment, head)
        if head.kind in TARGETED or not head.kind:
            yield from _per_target(exam, segment)
        elif head.kind in REGIONAL or head.kind in ("generic", "fixed", "tissue"):
            for site in _sites(segment, head) or [""]:
                yield _usual(exam, site)
        else:
            yield exam


def _usual(exam: Exam, site: str) -> Exam:
    """The exam of a region under its usual name: "endoscopy of the colon" is a colonoscopy."""
    book = vocabulary()
    if exam.head == "endoscopy" and site in book.endoscopies:
        return replace(exam, head=book.endoscopies[site], kind="fixed")
    if (exam.head, site) == ("pet", "whole_body"):
        return exam
    of_vessels = exam.head in ("angiography", "cta", "mra", "ctv", "mrv", "venography") or "doppler" in exam.protocols
    return replace(exam, site=book.vessels.get(site, site) if of_vessels else site)


def _exam(segment: Segment, head: Term) -> Exam:
    return Exam(
        head=head.id,
        kind=head.kind,
        vague_site=frozenset(segment.named("weaksite")),
        sides=frozenset(segment.named("side")),
        specimens=_specimens(segment, head),
        protocols=_protocols(segment, head),
        words=frozenset(segment.words),
        aliases=frozenset(segment.aliases),
        aspects=frozenset(segment.named("aspect")) if head.kind == "topic" else frozenset(),
        prior="time" in segment.ids and head.kind in TESTS,
    )


def _specimens(segment: Segment, head: Term) -> frozenset[str]:
    named = frozenset(segment.named("specimen"))
    if head.kind in ANALYTES:
        return named or frozenset({"blood_sample"})
    if head.kind == "serology":
        return named - {"blood_sample"}
    return named if head.kind in ("assay", "tissue", "fixed", "", "procedure") else frozenset()


def _protocols(segment: Segment, head: Term) -> frozenset[str]:
    named = frozenset(segment.named("protocol"))
    if head.kind in ("topic", "exam", "family"):
        return frozenset()
    return named - vocabulary().implied.get(head.id, frozenset())


def _per_target(exam: Exam, segment: Segment) -> Iterator[Exam]:
    about = segment.named("target", "condition")
    if exam.kind in ("assay", "serology") and not about and not exam.words:
        about = [term.id for token in segment.reason for term in token.terms if term.kind == "target"]
    bare = not about and (exam.kind == "family" or (exam.kind == "assay" and not exam.words))
    if exam.kind == "" or bare:
        about = about + segment.named("site")
    if exam.kind in ("family", ""):
        yield replace(exam, about=frozenset(about))
        return
    sites = segment.named("site") if exam.kind == "tissue" else []
    for target in dict.fromkeys(about) or [""]:
        yield replace(exam, about=frozenset({target} - {""}), site=sites[0] if sites else "")


def _sites(segment: Segment, head: Term) -> list[str]:
    sites = list(dict.fromkeys(segment.named("site")))
    tissues = vocabulary().words["tissues"]
    is_tissue = [site in tissues for site in sites]
    if any(is_tissue) and not all(is_tissue):
        of_tissue = head.kind == "procedure"
        return [site for site, tissue in zip(sites, is_tissue, strict=True) if tissue == of_tissue]
    if not sites and head.kind in REGIONAL and not segment.words:
        return [term.id for token in segment.reason for term in token.terms if term.kind == "site"][:1]
    return sites


@lru_cache(maxsize=4096)
def read(request: str) -> Reading:
    """The exams of a request. Any text is read; one that asks for nothing recognisable has no exams."""
    tokens = tokenise(request)
    segments = Splitter(cut_reasons=True).feed(tokens)
    exams = _exams(_resolve(segments))
    if not exams:
        segments = Splitter(cut_reasons=False).feed(tokens)
        exams = _exams(_resolve(segments))
    said = " ".join(word for segment in segments for word in segment.said)
    tested = any(exam.kind in TESTS for exam in exams)
    serial = " ".join(match[0] for match in vocabulary().serial.finditer(said)) if tested else ""
    plain = " ".join(token.text for token in tokens if token.text.isalnum() or token.terms)
    return Reading(exams, plain, serial, _acronyms(plain))


def _acronyms(plain: str) -> frozenset[str]:
    initials = "".join(word[0] for word in plain.split() if word not in ("of", "and", "for"))
    return frozenset(initials[at : at + n] for n in range(3, 7) for at in range(len(initials) - n + 1))
