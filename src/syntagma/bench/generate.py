"""`syntagma bench generate`: sentences a second, our guided model beside sequence-to-sequence models of the same size.

The guided model is `--model`, searched without reranking, since its rivals do not rerank either; they have its width
and layers, weights from chance, and write as many tokens as it does (the rows say how many).  `--data` may be a file of
sentences.  Where two trained models of one preset and corpus are at hand, `--data` is their folder: `guided`, `seq2seq`
(norm=post and copy=false, so that other engines can take it weight for weight) and `sources.txt`.

The seq2seq model runs in our engine, in Hugging Face `generate` (as a Marian model) and in CTranslate2 (fp32, int8).
Each is measured in one process with a thread a core, and in a process a core with one thread each, as our commands run
long files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntagma.bench.engines import GUIDED, GUIDED_INT8, Engine, load_engines, own_engine
from syntagma.bench.report import Measurement, median_of
from syntagma.bench.team import Team
from syntagma.errors import InputError, Place

if TYPE_CHECKING:
    from syntagma.network.config import ModelConfig

SENTENCES = 100
HOW = (
    "give a file of sentences; or train two models on one corpus (syntagma train ... --out DIR/guided; ... --out "
    "DIR/seq2seq architecture=seq2seq norm=post copy=false) and put sentences into DIR/sources.txt"
)
ALONE = {
    "rerank": "none", "channel_weight": 0.0, "novelty_weight": 0.0, "copy_margin": 0.0, "num_structures": 0,
    "num_plans": 0, "num_drafts": 0, "known_words_only": False, "keep_literals": False,
    "no_adjacent_repeats": False, "no_repeat_ngram_size": 0, "no_repeated_words": False, "keep_capital": False,
    "forbid_copy": False, "split": False,
}  # fmt: skip
"""The search without what its rivals do not do either."""

SETTINGS = ((1, 1), (1, 32), (5, 1), (5, 32))
"""Beam and batch."""


def run(
    data: Path | None = None,
    *,
    model: str = "paraphrase-en",
    quick: bool = False,
    cores: int = 2,
    runs: int = 3,
    settings: Sequence[tuple[int, int]] = (),
) -> Iterator[Measurement]:
    """Rows for each setting and layout against each engine, medians of `runs`; then the ratios that count.

    If quick, the last setting on ten sentences.
    """
    import torch

    trained = data is not None and data.is_dir()
    if trained and data is not None:
        missing = [name for name in ("guided", "seq2seq", "sources.txt") if not (data / name).exists()]
        if missing:
            raise InputError(f"it has no {', '.join(missing)}", Place(str(data)), HOW)
    settings = settings or (SETTINGS[-1:] if quick else SETTINGS)
    before = torch.get_num_threads()
    torch.set_num_threads(cores)
    lines = _sentences(data / "sources.txt" if trained and data is not None else data)
    texts = lines[: 10 if quick else SENTENCES]
    measured: dict[tuple[int, int], dict[str, Speeds]] = {setting: {} for setting in settings}
    try:
        with tempfile.TemporaryDirectory() as folder:
            if data is None or not trained:
                data = _of_one_size(model, texts, Path(folder) / "models")
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
            how = f"{len(texts)} sentences, median of {runs}, {_described(data / 'guided')}"
    finally:
        torch.set_num_threads(before)
    for (beam, batch), layouts in measured.items():
        yield from _ratios(f"{'greedy' if beam == 1 else f'beam {beam}'}, batch {batch}", how, batch, layouts)


def _sentences(path: Path | None) -> list[str]:
    from syntagma.bench.serve import ORDINARY_SENTENCES
    from syntagma.files import read_lines

    if path is None:
        return [*ORDINARY_SENTENCES] * (SENTENCES // len(ORDINARY_SENTENCES) + 1)
    return [line for line in read_lines(path) if line.strip()]


def _of_one_size(model: str, texts: Sequence[str], folder: Path) -> Path:
    """A folder with a guided model, searched without reranking, and a seq2seq model of its size that writes as much."""
    import torch

    from syntagma.hub import find_folder
    from syntagma.network.export import export_network
    from syntagma.network.folder import ModelFolder
    from syntagma.network.network import Network
    from syntagma.network.storage import save_pretrained
    from syntagma.search import Generator

    stored = ModelFolder.open(find_folder(model, "model", "model"))
    if not stored.config.guided:
        raise InputError("this model is not guided", Place(model), "give --model a guided one")
    search = {**stored.about.get("search", {}), **ALONE}
    export_network(stored, folder / "guided", "", {"search": search}, "fp32", None)
    guided = Generator.from_pretrained(folder / "guided")
    lengths = own_engine(guided, texts)(SETTINGS[-1][0], len(texts))
    torch.manual_seed(1)
    network = Network(baseline_of(stored.config))
    about = {"search": {"max_tokens": max(1, round(sum(lengths) / len(lengths)))}}
    save_pretrained(folder / "seq2seq", network, stored.vocabulary, "", about=about)
    return folder


def baseline_of(config: ModelConfig) -> ModelConfig:
    """A seq2seq model with as many layers as a guided one, as other engines can take it.

    The gate of a feed-forward layer, which Marian has not, is made up for by half as many units again.
    """
    gated = config.activation == "gated-gelu"
    return replace(
        config,
        architecture="seq2seq",
        context_layers=0,
        context_attention_every=1,
        decoder_layers=config.decoder_layers + config.context_layers,
        heads=config.heads if config.head_width is None else config.width // config.head_size,
        head_width=None,
        feed_forward=config.feed_forward * 3 // 2 if gated else config.feed_forward,
        activation="swish" if gated else config.activation,
        positions="marian" if config.positions == "relative" else config.positions,
        norm="post",
        norm_kind="layer",
        context_norm=None,
        output_embedding=False,
        copy=False,
        label_index=False,
        history=False,
        seq2seq_objective=False,
    )


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
