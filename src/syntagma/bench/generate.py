"""`syntagma bench generate`: sentences a second, our guided model beside sequence-to-sequence models of the same size.

`--data` is a folder with two trained models of the same preset and corpus, `guided` and `seq2seq` (norm=post and
copy=false, so that other engines can take it weight for weight), and `sources.txt` with sentences.  The seq2seq model
runs in our engine, in Hugging Face `generate` (as a Marian model) and in CTranslate2 (fp32, int8).  Each is measured in
one process with a thread a core, and in a process a core with one thread each, as our commands run long files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from syntagma.bench.engines import GUIDED, GUIDED_INT8, Engine, load_engines
from syntagma.bench.report import Measurement, median_of
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
    runs: int = 3,
    settings: Sequence[tuple[int, int]] = (),
) -> Iterator[Measurement]:
    """Rows for each setting and layout against each engine, medians of `runs`; then the ratios that count.

    If quick, the last setting on ten sentences.
    """
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
    measured: dict[tuple[int, int], dict[str, Speeds]] = {setting: {} for setting in settings}
    try:
        with tempfile.TemporaryDirectory() as folder:
            engines = load_engines(data, texts, cores, Path(folder) / "here")
            for beam, batch in settings:
                what = f"beam {beam}, batch {batch}, {cores} threads"
                measured[beam, batch][f"{cores} threads"] = yield from _compare(engines, what, beam, batch, runs)
            with Team(data, texts, cores, Path(folder)) as team:
                for beam, batch in settings:
                    what = f"beam {beam}, batch {batch}, {cores} processes"
                    measured[beam, batch][f"{cores} processes"] = yield from _compare(
                        team.engines(), what, beam, batch, runs
                    )
    finally:
        torch.set_num_threads(before)
    how = f"{len(texts)} sentences, median of {runs}, {_described(data / 'guided')}"
    for (beam, batch), layouts in measured.items():
        yield from _ratios(f"{'greedy' if beam == 1 else f'beam {beam}'}, batch {batch}", how, batch, layouts)


Speeds = dict[str, float]
"""Sentences a second by the engine's name."""


def _compare(
    engines: dict[str, Engine], setting: str, beam: int, batch: int, runs: int
) -> Generator[Measurement, None, Speeds]:
    """Rows for one setting and layout; the speeds."""
    lengths: dict[str, list[int]] = {}

    def timed(name: str) -> Callable[[], None]:
        def call() -> None:
            lengths[name] = engines[name](beam, batch)

        return call

    seconds = dict(zip(engines, median_of(runs, *(timed(name) for name in engines)), strict=True))
    speed = {name: len(lengths[name]) / seconds[name] for name in engines}
    size = {name: sum(lengths[name]) / len(lengths[name]) for name in engines}
    rivals = [name for name in engines if name != GUIDED]
    for name in rivals:
        yield Measurement(
            f"generate, {setting}", speed[GUIDED], "sentences/s", name, speed[name], speed[GUIDED] / speed[name]
        )
    for name in rivals:
        yield Measurement(f"generate, {setting}: tokens an output", size[GUIDED], "tokens", name, size[name])
    return speed


def _ratios(setting: str, how: str, batch: int, layouts: dict[str, Speeds]) -> Iterator[Measurement]:
    """Each of our forms against each rival: one sentence at a time in one process, more in the best layout of each."""
    chosen = list(layouts)[:1] if batch == 1 else list(layouts)
    best = {name: max(layouts[layout][name] for layout in chosen) for name in layouts[chosen[0]]}
    where = chosen[0] if batch == 1 else "best layout of each"
    for rival in ("Hugging Face", "CTranslate2 int8", "our seq2seq"):
        for name in (GUIDED, GUIDED_INT8):
            if rival in best:
                what = f"ratio: {name}, {setting}, {where} ({how})"
                yield Measurement(what, best[name], "sentences/s", rival, best[rival], best[name] / best[rival])


def _described(folder: Path) -> str:
    """The size of a model, by the name of its preset where it has one, and its search where it is not the usual one."""
    from dataclasses import asdict

    from syntagma.network.config import PRESETS
    from syntagma.network.folder import ModelFolder
    from syntagma.search.options import SearchOptions

    model = ModelFolder.open(folder)
    config, usual = model.config, asdict(SearchOptions())
    size = (config.width, config.feed_forward, config.decoder_layers)
    names = [name for name, preset in PRESETS.items() if _size(preset) == size]
    layers = f"{config.source_layers}+{config.context_layers}+{config.decoder_layers}"
    shape = names[0] if names else f"{layers} layers, {config.width} wide"
    options = asdict(SearchOptions.from_dict(model.about.get("search", {})))
    changed = " ".join(f"{name}={value}" for name, value in options.items() if value != usual[name])
    return f"{shape}, search {changed or 'as usual'}"


def _size(preset: Mapping[str, Any]) -> tuple[Any, ...]:
    return preset.get("width"), preset.get("feed_forward"), preset.get("decoder_layers")
