"""`syntagma bench generate`: sentences a second, our guided model beside sequence-to-sequence models of the same size.

`--data` is a folder with two trained models of the same preset and corpus, `guided` and `seq2seq` (norm=post and
copy=false, so that other engines can take it weight for weight), and `sources.txt` with sentences.  The seq2seq model
runs in our engine, in Hugging Face `generate` (as a Marian model) and in CTranslate2 (fp32, int8).  Each is measured in
one process with a thread a core, and in a process a core with one thread each, as our commands run long files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from syntagma.bench.engines import GUIDED, Engine, load_engines
from syntagma.bench.report import Measurement, best_of
from syntagma.bench.team import Team
from syntagma.errors import InputError, Place

SENTENCES = 100
HOW = (
    "train two models on one corpus (syntagma train ... --out DIR/guided; ... --out DIR/seq2seq architecture=seq2seq "
    "norm=post copy=false) and put sentences into DIR/sources.txt"
)


SETTINGS = ((1, 1), (1, 32), (5, 1), (5, 32))
"""Beam and batch."""


def run(
    data: Path | None = None,
    *,
    quick: bool = False,
    cores: int = 2,
    runs: int = 2,
    settings: Sequence[tuple[int, int]] = (),
) -> Iterator[Measurement]:
    """Rows for each setting against each engine; if quick, the last on ten sentences."""
    import torch

    if data is None:
        raise InputError("there are no models to measure", remedy=f"give --data DIR; {HOW}")
    missing = [name for name in ("guided", "seq2seq", "sources.txt") if not (data / name).exists()]
    if missing:
        raise InputError(f"it has no {', '.join(missing)}", Place(str(data)), HOW)
    settings = settings or (SETTINGS[-1:] if quick else SETTINGS)
    before = torch.get_num_threads()
    torch.set_num_threads(cores)
    texts = (data / "sources.txt").read_text(encoding="utf-8").splitlines()[: 10 if quick else SENTENCES]
    try:
        with tempfile.TemporaryDirectory() as folder:
            engines = load_engines(data, texts, cores, Path(folder) / "here")
            for beam, batch in settings:
                yield from _compare(engines, f"beam {beam}, batch {batch}, {cores} threads", beam, batch, runs)
            with Team(data, texts, cores, Path(folder)) as team:
                for beam, batch in settings:
                    what = f"beam {beam}, batch {batch}, {cores} processes"
                    yield from _compare(team.engines(), what, beam, batch, runs)
    finally:
        torch.set_num_threads(before)


def _compare(engines: dict[str, Engine], setting: str, beam: int, batch: int, runs: int) -> Iterator[Measurement]:
    lengths: dict[str, list[int]] = {}

    def timed(name: str) -> Callable[[], None]:
        def call() -> None:
            lengths[name] = engines[name](beam, batch)

        return call

    seconds = dict(zip(engines, best_of(runs, *(timed(name) for name in engines)), strict=True))
    speed = {name: len(lengths[name]) / seconds[name] for name in engines}
    size = {name: sum(lengths[name]) / len(lengths[name]) for name in engines}
    rivals = [name for name in engines if name != GUIDED]
    for name in rivals:
        yield Measurement(
            f"generate, {setting}", speed[GUIDED], "sentences/s", name, speed[name], speed[GUIDED] / speed[name]
        )
    for name in rivals:
        yield Measurement(f"generate, {setting}: tokens an output", size[GUIDED], "tokens", name, size[name])
