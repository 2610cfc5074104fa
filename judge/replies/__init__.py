"""Reading replies: thinking set apart from the answer, and the options an answer chooses."""

from judge.replies.options import choose_options, read_options
from judge.replies.reading import Reading
from judge.replies.thinking import Separated, separate_thinking

__all__ = ["Reading", "Separated", "choose_options", "read_options", "separate_thinking"]
