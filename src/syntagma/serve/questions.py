"""The questions of a blind comparison: the paper's three, or those of a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syntagma.errors import InputError, Place
from syntagma.files import read_lines

MOST = 8


@dataclass(frozen=True)
class Question:
    """A question about two systems; `several`: it makes sense only where both have several lines."""

    name: str
    text: str
    several: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The question as a voter's page gets it."""
        return {"name": self.name, "text": self.text}


QUESTIONS = (
    Question("fidelity", "Which means more nearly the same as the sentence?"),
    Question("novelty", "Which changes the structure of the sentence more?"),
    Question("diversity", "Whose lines differ more from one another?", several=True),
)
"""Those of the paper's human evaluation."""


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file of JSON lines: `{"name": "fluency", "text": "Which reads better?", "several": false}`."""
    questions: list[Question] = []
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            question = _question(line, Place(str(path), number))
            if question.name in [other.name for other in questions]:
                what = f"the question {question.name!r} comes twice"
                raise InputError(what, Place(str(path), number), "give each a name of its own")
            questions.append(question)
    if not 1 <= len(questions) <= MOST:
        raise InputError(f"it has {len(questions)} questions", Place(str(path)), f"write 1 to {MOST}, a line each")
    return tuple(questions)


def _question(line: str, place: Place) -> Question:
    try:
        values = json.loads(line)
    except ValueError:
        raise InputError("this is not JSON", place, "write one JSON object a line") from None
    good = isinstance(values, dict) and values.keys() <= {"name", "text", "several"}
    name, text = (str(values.get(key, "")).strip() if good else "" for key in ("name", "text"))
    several = values.get("several", False) if good else None
    if not (1 <= len(name) <= 64 and text and isinstance(several, bool)):
        raise InputError("this is no question", place, 'write {"name": "fluency", "text": "Which reads better?"}')
    return Question(name, text, several)
