"""METEOR 1.5 (Denkowski and Lavie 2014) by its own Java program, English, with its table of paraphrases.

The program and the table ship inside the Python package pycocoevalcap.  It is started once, when the first segment
comes, and asked segment by segment over its standard input: `SCORE ||| reference ||| ... ||| hypothesis` gives the
statistics of a pair, `EVAL ||| statistics` its score.  The figure is the mean of the segments' scores, which is the
paper's.  A program that ends early or stays silent is an error, and no process is left behind.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import numpy as np

from syntagma.errors import MissingExtra, SyntagmaError
from syntagma.metrics.base import Array, MeanMetric, Segment, sign

_ARGUMENTS = ("-", "-", "-stdio", "-l", "en", "-norm")
# numbers are printed with a point whatever the machine's language, text is UTF-8, and one collector thread is enough
_JAVA_OPTIONS = (
    "-Xms1G",
    "-Xmx2G",
    "-XX:+UseSerialGC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
)
_FIELD_MARK = "|||"


class MeteorError(SyntagmaError):
    """The METEOR program ended early, stayed silent or answered with something that is not a score."""


class Meteor(MeanMetric):
    """METEOR against the references, the best of several.

    A hypothesis without words scores 0.  `timeout` is how many seconds a batch may take; `command` replaces the Java
    program.
    """

    names: tuple[str, ...] = ("meteor",)
    needs = frozenset({"refs"})

    def __init__(self, timeout: float = 300.0, command: Sequence[str] | None = None) -> None:
        self.timeout = timeout
        self._command = tuple(command or java_command())
        self._program: _Program | None = None

    def prepare(self, text: str) -> str:
        """The text on one line without the mark that separates fields; the program itself splits and lower-cases it."""
        return " ".join(text.replace(_FIELD_MARK, " ").split())

    def statistics(self, segments: Sequence[Segment]) -> Array:
        """The scores of a batch."""
        if self._program is None:
            self._program = _Program(self._command)
        with self._program.watched(self.timeout):
            rows = [self.segment(segment) for segment in segments]
        return np.array(rows, dtype=np.float64)

    def values(self, segment: Segment) -> Sequence[float]:
        """One score, asked of the running program."""
        hyp = self.prepare(segment.hyp)
        refs = [ref for ref in map(self.prepare, segment.refs) if ref]
        if not hyp or not refs:
            return (0.0,)
        if self._program is None:
            self._program = _Program(self._command)
        statistics = self._program.ask(f" {_FIELD_MARK} ".join(["SCORE", *refs, hyp]))
        score = self._program.ask(f"EVAL {_FIELD_MARK} {statistics}")
        try:
            value = float(score)
        except ValueError:
            raise MeteorError(f"METEOR answered {score[:80]!r} where a score was due") from None
        self._program.read()  # the aggregate of the one segment
        return (value,)

    def signature(self) -> str:
        """The version and its options."""
        return sign("METEOR", version="1.5", lang="en", norm="yes", paraphrases="yes", level="segment mean")

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.end()
            self._program = None


def java_command() -> list[str]:
    """The command that starts METEOR; an error that says what to install where Java or the package is missing."""
    package = find_spec("pycocoevalcap")
    places = (
        [Path(place) / "meteor" / "meteor-1.5.jar" for place in (package.submodule_search_locations or ())]
        if package
        else []
    )
    jar = next((place for place in places if place.is_file()), None)
    if jar is None:
        raise MissingExtra("pycocoevalcap", "meteor", "METEOR")
    java = shutil.which("java")
    if java is None:
        raise SyntagmaError(
            "METEOR needs Java, and no java is on the path", remedy="install a Java runtime, version 8 or later"
        )
    return [java, *_JAVA_OPTIONS, "-jar", str(jar), *_ARGUMENTS]


class _Program:
    """The running program: a line out, a line in."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _end
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, encoding="utf-8"
            )
        except OSError as error:
            self._errors.close()
            raise MeteorError(f"METEOR cannot be started ({error.strerror})") from None
        self._late = False
        self.end = weakref.finalize(self, _end, self._process, self._errors)  # also runs when Python exits

    def watched(self, timeout: float) -> _Watch:
        """A context in which the program is killed if it is not left within `timeout` seconds."""
        return _Watch(self, timeout)

    def stop_late(self) -> None:
        """Kill a program that has been silent for too long: whoever waits for its answer reads its end instead."""
        self._late = True
        self._process.kill()

    def ask(self, line: str) -> str:
        """The line that answers `line`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._failure() from None
        return self.read()

    def read(self) -> str:
        """The next line."""
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise self._failure()
        return answer.strip()

    def _failure(self) -> MeteorError:
        if self._late:
            self.end()
            return MeteorError("METEOR gave no answer in time and was ended", remedy="try again on a less busy machine")
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        self.end()
        reason = f": {lines[0]}" if lines else ""
        return MeteorError(
            f"METEOR ended with code {code}{reason}", remedy="check that java -version works and 2 GB are free"
        )


class _Watch:
    def __init__(self, program: _Program, timeout: float) -> None:
        self._timer = threading.Timer(timeout, program.stop_late)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()


def _end(process: subprocess.Popen[str], errors: IO[bytes]) -> None:
    """Close the pipes, end the process and wait for it, so that nothing stays behind."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:  # what was still to be written has no reader
                continue
    process.wait()
    errors.close()
