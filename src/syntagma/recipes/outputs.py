"""The outputs of a row for a test set, kept so that a table can be made again: JSON lines as of `generate --json`.

A file appears when it is complete, with a note beside it of what it was made from; what an interrupted run had of it is
gone on with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.files import atomic_write, lines_begun, read_lines
from syntagma.search.parallel import SearchWork, parallel, processes_for
from syntagma.search.steered import SteeredText, Text

Record = dict[str, Any]


def is_current(path: Path, mark: str) -> bool:
    """Whether a file of outputs was made from what the mark stands for."""
    note = _note(path)
    return path.exists() and note.exists() and note.read_text(encoding="utf-8") == mark


def write_records(path: Path, texts: Sequence[Text], work: SearchWork, mark: str) -> int:
    """A JSON line for each text; goes on after the last whole line.  How many texts have failed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{mark}.part")
    waiting = texts[lines_begun(part) :]
    with open(part, "a", encoding="utf-8", newline="\n") as stream:
        for text, outputs in zip(
            waiting, parallel(work, waiting, workers=processes_for(len(waiting), work.device)), strict=True
        ):
            stream.write(json.dumps(_record(text, outputs, work.nbest), ensure_ascii=False) + "\n")
            stream.flush()
    part.replace(path)
    write_mark(path, mark)
    return sum("error" in record for record in read_records(path))


def write_mark(path: Path, mark: str) -> None:
    """Note what a file of outputs was made from; what a killed process left of such a note is removed."""
    note = _note(path)
    for left in path.parent.glob(f".{note.name}.*.part"):
        left.unlink(missing_ok=True)
    with atomic_write(note) as stream:
        stream.write(mark)


def _record(text: Text, outputs: Any, nbest: int) -> Record:
    source = text.source if isinstance(text, SteeredText) else text
    if isinstance(outputs, SyntagmaError):
        return {"source": source, "hypotheses": [], "error": str(outputs)}
    return {"source": source, "hypotheses": [output.to_dict() for output in outputs[:nbest]]}


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.mark")


def read_records(path: Path) -> list[Record]:
    """The stored records; a file of plain texts, `.txt`, may stand for them."""
    if path.exists():
        return [json.loads(line) for line in read_lines(path)]
    plain = path.with_suffix(".txt")
    return [{"hypotheses": [{"text": line}]} for line in read_lines(plain)] if plain.exists() else []


def read_outputs(path: Path, sources: int) -> list[Record]:
    """The stored records, one for each source."""
    records = read_records(path)
    if len(records) != sources:
        what = f"it has {len(records)} lines for {sources} sources"
        raise ConfigError(what, Place(str(path)), "run the recipe again, at least to --until generate")
    return records
