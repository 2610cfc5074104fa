"""What the person sees and types in an examination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphs.medrbench.metrics import metrics_in, reference, rounds_of, score
from graphs.medrbench.simulate_graph import GIVE_TURN, GO_ON, HAND_BACK, NOTE, REVIEW, TAKE_OVER
from graphs.medrbench.simulate_session import Examination
from graphs.medrbench.simulate_words import as_turn, is_blank, is_complete, unsent
from judge.benchmark import Transcript
from judge.outcome import Outcome, Scored
from judge.report.text import one_line
from judge.seats.entry import Command, Entry
from judge.seats.saved import Saved
from judge.seats.terminal import EndOfInput, Terminal

COMMANDS = """\
/case    show the case again
/exams   what was asked and found so far
/undo    drop the lines not yet sent; if there are none, take back the last turn
/save    save and leave; /quit leaves too, everything sent is saved already"""

HELP = f"""\
Ask for examinations, one a line; an empty line sends them.
End the examination with a line that begins with  diagnosis:
Reasons, if you want to give some, are lines that begin with  reason:

You may also write a turn as a model does, in the three sections
  ### Chain of Thought:
  ### Additional Information Required:
  ### Conclusion:
An empty line after the last of them, or /send, sends it.

{COMMANDS}"""

HELP_BACK = "/back    let the model be the doctor again"

HELP_REVIEW = f"""\
Enter goes on. Any other line is a note to the doctor: it stands in its next message, marked as a person's.

/take    write this turn in the model's place, and the following ones
/think   show what the model thought before this turn

{COMMANDS}"""

EXACT_ONLY = "The exact answer compares words only: another name of the same disease counts 0 until a judge sees it."


class Leave(Exception):
    """The person leaves the session as it is."""


class ChairView:
    """The dialogue with the person.

    Args:
        follows: whether there is a model to hand back to.
    """

    def __init__(self, terminal: Terminal, examination: Examination, saved: Saved, *, follows: bool) -> None:
        self._terminal = terminal
        self._examination = examination
        self._saved = saved
        self._follows = follows
        self._entry = Entry(terminal, self._complete)
        self._entry.lines = list(saved.draft)
        self._shown = 0
        self._commands: Mapping[str, Callable[[], object]] = {
            "case": self.show_case,
            "exams": self._show_exams,
            "undo": self._undo,
            "save": self._leave,
            "quit": self._leave,
            "exit": self._leave,
        }

    def run(self) -> None:
        """Until the examination ends.

        Raises:
            Leave: the person leaves, or there is no more input.
            KeyboardInterrupt: Ctrl-C.
        """
        self.show_case()
        if self._examination.turns and self._saved.inputs:
            self._show_exams()
        self._shown = len(self._answered())
        try:
            while self._examination.asks:
                if self._examination.asks == REVIEW:
                    self._review()
                else:
                    self._turn()
        except EndOfInput:
            raise Leave from None

    @property
    def draft(self) -> list[str]:
        """The lines typed and not yet sent."""
        return list(self._entry.lines)

    # -- a turn of the person's own ----------------------------------------------------------------------------------

    def _turn(self) -> None:
        self._head("you are the doctor")
        if self._entry.lines:
            self._terminal.say("Not yet sent (an empty line sends them):\n" + "\n".join(self._entry.lines), "dim")
        while True:
            typed = self._entry.read()
            if isinstance(typed, Command):
                if typed.name == "back" and self._follows:
                    self._entry.take()
                    return self._give(HAND_BACK)
                if self._obey(typed, self._help()) == "moved":
                    return None
                if typed.name != "send":
                    continue
                typed = self._entry.take()
            if not is_blank(typed) and (text := self._checked(typed)):
                return self._give(GIVE_TURN, text, typed)

    def _complete(self, lines: Sequence[str]) -> bool:
        complete = is_complete(lines)
        if not complete and not lines[-1].strip() and len(lines) > 1:
            self._terminal.say("Not all three sections are there yet; /send sends them as they are.", "dim")
        return complete

    def _checked(self, lines: list[str]) -> str:
        """The turn's text if it can be read; else empty, and the person is told. A slip must not end a case."""
        text = as_turn(lines)
        turn, decision = self._examination.as_read(text)
        if decision.next == "reask":
            self._terminal.say("No examination and no diagnosis could be read in this. /help shows the form.", "yellow")
            return ""
        if dropped := unsent(lines):
            self._terminal.say(f"Not asked any more: {'; '.join(dropped)}", "yellow")
        if turn["requests"]:
            self._terminal.say(f"Read as {_count(len(turn['requests']), 'request')}.", "dim")
        return text

    def _help(self) -> str:
        return f"{HELP}\n{HELP_BACK}" if self._follows else HELP

    # -- a turn of the model's ---------------------------------------------------------------------------------------

    def _review(self) -> None:
        self._head("the model is the doctor")
        self._show_model()
        self._terminal.say("Enter goes on; any other line is a note to the doctor; /take takes over; /help", "dim")
        while True:
            line = Entry(self._terminal, lambda lines: True).read()
            if not isinstance(line, Command):
                note = line[0].strip()
                return self._note(note) if note else self._give(GO_ON)
            if line.name == "take":
                if self._take_over():
                    return None
            elif line.name in ("think", "thinking"):
                thinking = self._examination.turns[-1]["thinking"]
                self._terminal.block("Thinking", thinking or "(the model showed none)")
            elif self._obey(line, HELP_REVIEW) == "moved":
                return None

    def _show_model(self) -> None:
        turn, decision = self._examination.as_read()
        problem = turn["unscored"]
        text = turn["text"] or "(empty)"
        self._terminal.block("The model's turn", text, "cyan")
        if problem:
            self._terminal.say(f"Not usable: {problem['reason']} ({problem['detail']})", "yellow")
        elif turn["requests"]:
            marks = [" (asked before)" if repeats else "" for repeats in turn["repeats"]]
            read = [f"{request}{mark}" for request, mark in zip(turn["requests"], marks, strict=True)]
            self._terminal.say("Read as requests:\n" + "\n".join(f"- {line}" for line in read))
        if decision.next == "end":
            self._terminal.say(f"Going on ends the examination here ({decision.status}).", "yellow")
        elif decision.next == "reask":
            self._terminal.say("Its sections cannot be read; going on asks it once more for the right form.", "yellow")

    def _note(self, note: str) -> None:
        if self._examination.as_read()[1].next == "end":
            self._terminal.say(
                "No message to the doctor follows, so nobody would read a note; /take takes over.", "yellow"
            )
            return
        self._give(NOTE, note)

    def _take_over(self) -> bool:
        """Whether the person wrote the turn."""
        self._terminal.say("Write this turn yourself: requests, or diagnosis: …  (/back leaves it to the model)", "dim")
        while True:
            typed = self._entry.read()
            if isinstance(typed, Command):
                if typed.name in ("back", "undo"):
                    self._entry.take()
                    self._terminal.say("The model's turn stands.", "dim")
                    return False
                self._obey(typed, self._help())
                if typed.name != "send":
                    continue
                typed = self._entry.take()
            if not is_blank(typed) and (text := self._checked(typed)):
                self._give(TAKE_OVER, text, typed)
                return True

    # -- commands ----------------------------------------------------------------------------------------------------

    def _obey(self, command: Command, help_text: str) -> object:
        """Do what a command says; "moved" when the examination stands elsewhere now."""
        if command.name == "help":
            self._terminal.block("Help", help_text)
        elif command.name in self._commands:
            return self._commands[command.name]()
        elif command.name != "send":
            self._terminal.say(f"There is no command /{command.name}; /help lists them.", "yellow")
        return ""

    def _leave(self) -> None:
        raise Leave

    def _undo(self) -> str:
        if self._entry.take():
            self._terminal.say("The lines not yet sent are dropped.", "dim")
            return ""
        if not self._examination.undo():
            self._terminal.say("There is no turn to take back.", "yellow")
            return ""
        self._shown = len(self._answered())
        self._terminal.say("The last turn is taken back.", "green")
        return "moved"

    def _give(self, kind: str, text: str = "", lines: Sequence[str] = ()) -> None:
        self._examination.give(kind, text, lines=lines)
        for number, turn in self._answered()[self._shown :]:
            self._show_results(number, turn)
        self._shown = len(self._answered())

    # -- what is shown -----------------------------------------------------------------------------------------------

    def show_case(self) -> None:
        """The case as the doctor may see it."""
        history = self._examination.state["case"]["history"]
        self._terminal.block(f"Case {self._saved.head['case']}", history, "cyan", emphasis=True)

    def _answered(self) -> list[tuple[int, dict[str, Any]]]:
        turns = enumerate(self._examination.turns, start=1)
        return [(number, turn) for number, turn in turns if turn.get("results") is not None]

    def _show_results(self, number: int, turn: Mapping[str, Any]) -> None:
        self._terminal.block(f"Examiner, turn {number}", turn["results"], "green")
        if turn["looping"] and self._examination.context.rules.on_loop == "nudge":
            text = "All of this was asked before. Ask for something else, or conclude."
            self._terminal.say(text, "yellow")

    def _show_exams(self) -> None:
        answered = self._answered()
        for number, turn in answered:
            self._show_results(number, turn)
        if not answered:
            self._terminal.say("Nothing has been asked yet.", "dim")

    def _head(self, who: str) -> None:
        state, turns, rules = self._examination.state, self._examination.turns, self._examination.context.rules
        number = len(turns) + (self._examination.asks != REVIEW)
        asked = sum(len(turn.get("requests", ())) for turn in turns)
        count = f"Turn {number} of {rules.max_turns}" if number <= rules.max_turns else "After the last turn"
        self._terminal.rule(f"{count} · {who} · {_count(asked, 'request')} so far · /help")
        if asked:
            self._terminal.say(f"Asked so far: {_in_short(turns)}", "dim")
        if state["next"] == "conclude":
            self._terminal.say("No request can be answered any more: conclude now.", "yellow")
        elif number == rules.max_turns and rules.final_turn == "warn":
            self._terminal.say("This is the last turn: no request can be answered after it.", "yellow")
        elif number == 1 and rules.final_turn == "conclude":
            self._terminal.say("There is one round of examinations: ask now for all that you need.", "yellow")


def show_end(terminal: Terminal, record: Mapping[str, Any], transcript: Transcript, scored: bool) -> None:
    """The end: what the examination would score, and the reference, shown for the first time."""
    terminal.rule(f"The examination has ended: {transcript.status}")
    if transcript.detail:
        terminal.say(transcript.detail, "yellow")
    if scored:
        outcomes = score(record, transcript)
        metrics = metrics_in(transcript.data["setting"], rounds_of(transcript.data))
        titles = {metric.name: metric.title for metric in metrics}
        rows = [(title, _figure(outcomes[name])) for name, title in titles.items()]
        terminal.table("Scores, as for a model", ("metric", "value"), rows)
        terminal.say(EXACT_ONLY, "dim")
    _show_turns(terminal, record, transcript)
    terminal.block("Diagnosis", transcript.data["answer"] or "(none)")
    terminal.block("Reference", reference(record), "green")


def _show_turns(terminal: Terminal, record: Mapping[str, Any], transcript: Transcript) -> None:
    from graphs.medrbench.examiner import exam_scores
    from graphs.medrbench.records import entries_of

    turns = transcript.data["turns"]
    recalls = exam_scores([turn.get("requests", ()) for turn in turns], entries_of(record)).recall_by_turn
    rows = []
    for number, (turn, recall) in enumerate(zip(turns, recalls, strict=True), start=1):
        repeats, learned = sum(turn.get("repeats", ())), len(turn.get("learned", ()))
        loop = "loop" if turn.get("looping") else ""
        figures = [str(len(turn.get("requests", ()))), str(repeats), str(learned), f"{recall:.3f}", loop]
        rows.append([f"{number} {turn['by']}", *figures])
    if rows:
        terminal.table("By turn", ("turn", "requests", "repeats", "learned", "recall so far", ""), rows)


def _in_short(turns: Sequence[Mapping[str, Any]]) -> str:
    requests = [one_line(request) for turn in turns for request in turn.get("requests", ())]
    return "; ".join(request if len(request) <= 60 else f"{request[:59]}…" for request in requests)


def _figure(outcome: Outcome) -> str:
    if not isinstance(outcome, Scored):
        return f"unscored ({outcome.reason})"
    return f"{outcome.value:.0f}" if outcome.value.is_integer() else f"{outcome.value:.3f}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
