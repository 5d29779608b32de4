"""Where `generate` writes its records: standard output, or a file that appears when it is complete.

An unfinished file `OUT` is two: `OUT.part` with the records so far, and `OUT.part.run`, JSON lines that say what they
are.  The first line holds what decides the records (settings, model, kind of output); each further one belongs to a
record: a checksum of its source, where the record ends in `OUT.part`, and whether its source failed.  So a run that
goes on knows whether it is the same run, and ends with the texts of one that was never stopped; the last digits of
scores depend on what is computed together, so they may differ.  Beside a finished file stands `OUT.run`, a JSON object
that says the same of the whole, so that `--resume` is never content with the records of another run.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from syntagma.errors import ConfigError, InputError, Place, SyntagmaError
from syntagma.files import reason
from syntagma.search.steered import SteeredText
from syntagma.search.steered import Text as Source

WRITTEN = SyntagmaError("it is written already")
_ANEW = "give another --out, or --overwrite to start anew"


class Target:
    """Takes the records of a run in order."""

    done = 0
    """Records that an earlier run has written."""
    failed = 0
    """Sources that failed, in an earlier run too."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def rest(self, sources: Iterable[Source]) -> Iterator[Source]:
        """The sources, with `WRITTEN` in the place of each that has its record: what is drawn depends on the place."""
        yield from sources

    def write(self, source: Source, record: str, failed: bool) -> None:
        """Write the record of a source."""
        self._stream.write(record)
        self._stream.flush()


class PartFile(Target):
    """A file that is still being written, beside the name that it will have."""

    def __init__(self, out: Path, run: Mapping[str, Any], resume: bool) -> None:
        self.out = out
        self.part, self.note = _part(out), _note(out)
        self._about = run
        self._checks = array("I")
        self._end = 0
        if resume and self.note.exists():
            self._take_up(run)
        records = open(self.part, "ab" if self.done else "wb")  # noqa: SIM115
        self._records = records
        self._run = open(self.note, "a" if self.done else "w", encoding="utf-8", newline="\n")  # noqa: SIM115
        if not self.done:
            self._tell(run)

    def _take_up(self, run: Mapping[str, Any]) -> None:
        """Count what is there, cut off what was begun and not finished, and refuse another run's records."""
        size = self.part.stat().st_size if self.part.exists() else 0
        kept = 0
        with open(self.note, "rb") as stream:
            for number, line in enumerate(stream):
                entry = _entry(line)
                if number == 0:
                    if entry is None:
                        return
                    _check_same(self.part, "the unfinished run", entry, run)
                elif entry is None or entry[1] > size:
                    break
                else:
                    check, self._end, failed = entry
                    self._checks.append(check)
                    self.failed += failed
                kept += len(line)
        os.truncate(self.note, kept)
        self.done = len(self._checks)
        if self.part.exists():
            os.truncate(self.part, self._end)

    def rest(self, sources: Iterable[Source]) -> Iterator[Source]:
        """The sources, with `WRITTEN` in the place of each that has its record, which must have been made from it."""
        rest = iter(sources)
        for number, check in enumerate(self._checks, 1):
            source = next(rest, None)
            if source is None or _checksum(source) != check:
                what = f"line {number} of the input is not the one that the unfinished output was made from"
                raise ConfigError(what, Place(str(self.part)), "give the same input, or --overwrite to start anew")
            yield WRITTEN
        yield from rest

    def write(self, source: Source, record: str, failed: bool) -> None:
        """Write the record of a source."""
        data = record.encode()
        self._records.write(data)
        self._records.flush()
        self._end += len(data)
        self._checks.append(_checksum(source))
        self.failed += failed
        self._tell([self._checks[-1], self._end, int(failed)])

    def _tell(self, entry: Any) -> None:
        self._run.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._run.flush()

    def finish(self) -> None:
        """Give the file its name."""
        os.fsync(self._records.fileno())
        self.close()
        whole = {
            "run": self._about,
            "sources": len(self._checks),
            "sources_checksum": zlib.crc32(self._checks.tobytes()),
            "checksum": _file_checksum(self.part),
            "failed": self.failed,
        }
        begun = self.out.with_name(self.out.name + ".run.part")  # one name, so that nothing is left of a killed run
        begun.write_text(json.dumps(whole, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(begun, _finished_note(self.out))
        os.replace(self.part, self.out)
        self.note.unlink()

    def close(self) -> None:
        """Leave the file as it is, to go on with."""
        self._records.close()
        self._run.close()


@contextmanager
def target(out: Path | None, run: Mapping[str, Any], resume: bool, overwrite: bool) -> Iterator[Target]:
    """Open the target for the records of the run that `run` describes; a file appears when the run is over."""
    if out is None:
        yield Target(sys.stdout)
        return
    try:
        if out.exists() and not out.is_file():  # a pipe or a device, which has no name to take
            with open(out, "w", encoding="utf-8", newline="\n") as stream:
                yield Target(stream)
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        part = PartFile(out, run, resume and not overwrite)
        try:
            yield part
            part.finish()
        finally:
            part.close()
    except OSError as error:
        if error.filename not in (
            None,
            *map(str, (out, out.parent, _part(out), _note(out), f"{_finished_note(out)}.part")),
        ):
            raise  # about something else than this file
        what = f"it cannot be written ({reason(error)})"
        raise InputError(what, Place(str(out)), "check the folder and the space left") from None


def check_target(out: Path | None, resume: bool, overwrite: bool) -> bool:
    """Refuse to lose what is there; whether a run to go on with has finished, which `check_finished` must then see."""
    if resume and (out is None or overwrite):
        raise ConfigError("--resume goes on with the file that --out names", remedy="give --out, and not --overwrite")
    if out is None:
        return False
    if _part(out).exists() and not _note(out).exists() and _part(out).stat().st_size:
        raise ConfigError(
            "no run of `generate` left this file", Place(str(_part(out))), "move it, or give another --out"
        )
    if overwrite:
        return False
    if _note(out).exists() and _part(out).exists():
        if not resume:
            what = "an unfinished run is here"
            raise ConfigError(what, Place(str(_part(out))), "go on with --resume, or start anew with --overwrite")
        return False
    if out.is_file() and not resume:
        raise ConfigError("it exists already", Place(str(out)), "give another --out, or --overwrite to replace it")
    return out.is_file()


def check_finished(out: Path, run: Mapping[str, Any], sources: Iterable[Source]) -> int:
    """Refuse a finished file that is not this run's; how many of its sources failed."""
    note = _finished_note(out)
    whole = _entry(note.read_bytes()) if note.is_file() else None
    if not isinstance(whole, dict) or whole.get("checksum") != _file_checksum(out):
        what = "it is there, and nothing says that a run of `generate` made it as it is"
        raise ConfigError(what, Place(str(out)), _ANEW)
    _check_same(out, "the finished run", whole["run"], run)
    checks = array("I", map(_checksum, sources))
    if (len(checks), zlib.crc32(checks.tobytes())) != (whole["sources"], whole["sources_checksum"]):
        what = f"it was made from another input, of {whole['sources']} lines"
        raise ConfigError(what, Place(str(out)), _ANEW)
    _note(out).unlink(missing_ok=True)
    return int(whole["failed"])


def _file_checksum(path: Path) -> int:
    check = 0
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            check = zlib.crc32(block, check)
    return check


def _finished_note(out: Path) -> Path:
    return out.with_name(out.name + ".run")


def _part(out: Path) -> Path:
    return out.with_name(out.name + ".part")


def _note(out: Path) -> Path:
    return out.with_name(out.name + ".part.run")


def _entry(line: bytes) -> Any:
    """Parse a line of the note; None where it is cut short."""
    if not line.endswith(b"\n"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def _check_same(path: Path, which: str, begun: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    before, now = _flat(begun), _flat(json.loads(json.dumps(run)))
    if before != now:
        names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        changed = "; ".join(f"{name} was {before.get(name)}, now {now.get(name)}" for name in names)
        what = f"{which} here is another ({changed})"
        raise ConfigError(what, Place(str(path)), "give the same options, or --overwrite to start anew")


def _flat(run: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a run, each setting under its own name."""
    flat: dict[str, Any] = {}
    for name, value in run.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def _checksum(source: Source) -> int:
    if isinstance(source, SteeredText):
        text = "\1" + json.dumps([source.source, source.steering()])
    else:
        text = source if isinstance(source, str) else f"\0{source.what}"
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
