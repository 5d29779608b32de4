"""`syntagma bench parse`: how fast the bundled parser is against itself in torch, and what a long sentence costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from syntagma.bench.report import Measurement, median_of
from syntagma.errors import InputError, Place
from syntagma.files import read_lines
from syntagma.parse.base import ParserBackend
from syntagma.text import split

COUNT, LENGTH = 1_000, 12

_SENTENCES = (
    "The old man at the corner sold us three red apples yesterday .",
    "I do n't think that she will ever come back to London .",
    "When the rain stopped , the children ran out into the garden .",
    "He asked me whether I had already read the book you mentioned .",
    "What do you usually do after you have finished all your work ?",
    "A small company in Ohio builds engines for boats and light planes .",
    "My sister , who lives abroad , calls us every Sunday at noon .",
    "To be honest , nobody expected the train to arrive on time .",
)


def run(
    data: Path | None = None,
    *,
    quick: bool = False,
    parser: str = "parser-en",
    threads: int = 2,
    count: int = COUNT,
) -> Iterator[Measurement]:
    """Rows for batches of 12-word sentences, one sentence, and the peak memory of a sentence of 300 words.

    `data` is a file of sentences, a sentence a line, of which those of 12 words are taken.
    """
    from syntagma.parse import load_parser

    sentences = _sentences(data, count)
    loading, loaded = median_of(3, lambda: load_parser(parser, threads))[0], load_parser(parser, threads)
    loaded.parse(sentences[:64])
    in_torch = _in_torch(parser, threads)
    in_torch.parse(sentences[:64])
    batched, their_batched = median_of(3, lambda: loaded.parse(sentences), lambda: in_torch.parse(sentences))
    single, their_single = median_of(21, lambda: loaded.parse(sentences[:1]), lambda: in_torch.parse(sentences[:1]))
    yield Measurement("load the parser", 1000 * loading, "ms")
    rate, their_rate = len(sentences) / batched, len(sentences) / their_batched
    what = f"parse {len(sentences):,} sentences of {LENGTH} words in batches, {threads} threads, median of 3"
    yield Measurement(what, rate, "sentences/s", "torch", their_rate, rate / their_rate)
    what = f"parse one sentence of {LENGTH} words, median of 21"
    yield Measurement(what, 1000 * single, "ms", "torch", 1000 * their_single, their_single / single)
    if not quick:
        short, long = (_peak_megabytes(parser, length) for length in (LENGTH, 300))
        yield Measurement(
            "peak memory of a sentence of 300 words", long, "MB", f"of {LENGTH} words", short, short / long
        )


def _in_torch(name: str, threads: int) -> ParserBackend:
    """The same parser in torch, as it was before it had a graph."""
    import torch

    from syntagma.parse.ensemble import load_trainable

    torch.set_num_threads(threads)
    return load_trainable(name)


def _sentences(text: Path | None, count: int) -> list[list[str]]:
    if text is None:
        return [line.split() for line in islice(cycle(_SENTENCES), count)]
    words = (list(split(line).texts()) for line in read_lines(text))
    sentences = list(islice((some for some in words if len(some) == LENGTH), count))
    if not sentences:
        raise InputError(f"it has no sentence of {LENGTH} words", Place(str(text)), "give a file of plain sentences")
    return sentences


_PARSE_ONE = """
import sys
from pathlib import Path
from syntagma.parse import load_parser

load_parser(sys.argv[1]).parse([sys.argv[2].split()])
status = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


def _peak_megabytes(parser: str, length: int) -> float:
    """The most memory that a fresh process held while it parsed one sentence of so many words.

    The process reads it off itself: what the system reports of a child counts the parent's memory before the fork.
    """
    sentence = " ".join(islice(cycle(" ".join(_SENTENCES).split()), length))
    done = subprocess.run(
        [sys.executable, "-c", _PARSE_ONE, parser, sentence], capture_output=True, text=True, check=True
    )
    return int(done.stdout) / 1024
