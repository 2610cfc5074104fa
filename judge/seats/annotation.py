"""A person rates explanations at a terminal: one after another, each kept at once, without a word on whose they are."""

from __future__ import annotations

import re

from judge.explanations import read_grade
from judge.models.exchange import clean
from judge.runs.annotating import Desk, Question
from judge.seats.terminal import EndOfInput, Terminal

RUBRIC = """\
0    the answer is wrong
0.5  the answer is right, the explanation wrong or incomplete
1    both are right"""

COMMANDS = """\
0, .5 or 1  rate; it is kept at once
n TEXT      a note on this one, kept with the rating; n alone drops it
u           take back the last rating
s           leave this one for another time
q           leave; the same command goes on where you stopped
?           this"""

_NOTE = re.compile(r"n(?:\s+(?P<text>.*))?", re.IGNORECASE | re.DOTALL)


class Annotation:
    """One sitting of one person."""

    def __init__(self, desk: Desk, terminal: Terminal) -> None:
        self._desk = desk
        self._terminal = terminal
        self._queue = desk.open()
        self._note = ""

    def sit(self) -> None:
        """Ask until all is rated, or the person leaves."""
        self._terminal.block("Rubric", RUBRIC)
        self._terminal.block("What you can type", COMMANDS)
        try:
            while self._queue:
                self._show(self._queue[0])
                if not self._answered():
                    return
        except EndOfInput:
            return

    def _show(self, question: Question) -> None:
        shown, out = question.shown, self._terminal
        done = len(self._desk.questions) - len(self._desk.open())
        out.rule(f"{done + 1} of {len(self._desk.questions)}")
        out.block("Question", f"{shown.question}\n\n{shown.options}")
        out.block("Right answer", shown.right_answer, "green")
        for number, text in enumerate(shown.references, start=1):
            out.block(f"Reference explanation {number}", text)
        out.block("The candidate's answer", f"{shown.answer} ({'right' if shown.right else 'wrong'})", "cyan")
        out.block("The candidate's explanation", shown.explanation or "(none)", "cyan")
        self._note = ""

    def _answered(self) -> bool:
        """Ask about the first of the queue until it is dealt with; False if the person leaves."""
        while True:
            line = clean(self._terminal.ask("0 / .5 / 1 > ")).strip()
            command = line.casefold()
            if command == "q":
                return False
            if self._moved(line, command):
                return True

    def _moved(self, line: str, command: str) -> bool:
        """Do what a line says; True if another question is to be shown."""
        if grade := read_grade(line):
            question = self._queue.pop(0)
            self._desk.rate(question, grade, self._note)
            odd = question.contradicts(grade)
            self._terminal.say(f"Kept: {grade}." + (f" But {odd}; u takes it back." if odd else ""))
            return True
        if command == "s":
            self._queue.pop(0)
            return True
        if command == "u":
            return self._undone()
        self._told(line)
        return False

    def _told(self, line: str) -> None:
        """What leaves the question where it is."""
        if note := _NOTE.fullmatch(line):
            self._note = (note["text"] or "").strip()
            self._terminal.say("Noted; it is kept with the rating." if self._note else "No note.")
        elif line == "?":
            self._terminal.block("Rubric", RUBRIC)
            self._terminal.block("What you can type", COMMANDS)
        else:
            self._terminal.say("Type 0, .5 or 1, or ? for what else there is.", "yellow")

    def _undone(self) -> bool:
        question = self._desk.undo()
        if question is None:
            self._terminal.say("There is no rating to take back.", "yellow")
            return False
        self._queue = [question, *(other for other in self._queue if other != question)]
        self._terminal.say("Taken back; here it is again.")
        return True
