"""`syntagma bench generate`: sentences a second, our guided model beside sequence-to-sequence models of the same size.

`--data` is a folder with two trained models of the same preset and corpus, `guided` (norm=post or pre) and `seq2seq`
(norm=post, so that it can be handed to other engines weight for weight), and `sources.txt` with real sentences.  The
seq2seq model runs in our engine, in Hugging Face `generate` (as a Marian model) and in CTranslate2 (fp32, int8).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from syntagma.bench.report import Row, best_of
from syntagma.errors import InputError, Place

SENTENCES = 100
HOW = (
    "train two models on one corpus (syntagma train ... --out DIR/guided; ... --out DIR/seq2seq architecture=seq2seq "
    "norm=post) and put sentences into DIR/sources.txt"
)


def run(data: Path | None = None, *, quick: bool = False, threads: int = 2, runs: int = 2) -> Iterator[Row]:
    """Rows for beam 1 and 5, batch 1 and 32, against each engine; if quick, the last on ten sentences."""
    import torch

    from syntagma.search import Generator

    if data is None:
        raise InputError("there are no models to measure", remedy=f"give --data DIR; {HOW}")
    missing = [name for name in ("guided", "seq2seq", "sources.txt") if not (data / name).exists()]
    if missing:
        raise InputError(f"it has no {', '.join(missing)}", Place(str(data)), HOW)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    guided, seq2seq = (Generator.from_pretrained(data / name) for name in ("guided", "seq2seq"))
    texts = (data / "sources.txt").read_text(encoding="utf-8").splitlines()[: 10 if quick else SENTENCES]
    try:
        with tempfile.TemporaryDirectory() as folder:
            engines = _engines(seq2seq, texts, threads, Path(folder))
            for beam, batch in ((5, 32),) if quick else ((1, 1), (1, 32), (5, 1), (5, 32)):
                yield from _compare(guided, engines, texts, beam, batch, runs)
    finally:
        torch.set_num_threads(before)


Engine = Callable[[int, int], Sequence[Sequence[Any]]]
"""Outputs (as sequences, so that their lengths can be told) for a beam and a batch size."""


def _compare(
    guided: Any, engines: dict[str, Engine], texts: list[str], beam: int, batch: int, runs: int
) -> Iterator[Row]:
    outputs: dict[str, Sequence[Sequence[Any]]] = {}

    def ours() -> None:
        options = guided.defaults.changed({"beam": beam})
        found = list(guided.stream(texts, options=options, batch=batch))
        outputs["ours"] = [guided.vocabulary.encode(one[0].text) for one in found]

    def theirs(name: str) -> Callable[[], None]:
        def call() -> None:
            outputs[name] = engines[name](beam, batch)

        return call

    seconds = best_of(runs, ours, *(theirs(name) for name in engines))
    what = f"generate, beam {beam}, batch {batch}"
    for name, taken in zip(engines, seconds[1:], strict=True):
        ratio = taken / seconds[0]
        yield Row(what, len(texts) / seconds[0], "sentences/s", name, len(texts) / taken, ratio)
    lengths = {name: sum(map(len, found)) / len(found) for name, found in outputs.items()}
    for name in engines:
        yield Row(f"{what}: tokens an output", lengths["ours"], "tokens", name, lengths[name])


def _engines(seq2seq: Any, texts: list[str], threads: int, folder: Path) -> dict[str, Engine]:
    """The seq2seq model in every engine that is installed."""
    import torch

    from syntagma.convert.marian import to_marian
    from syntagma.model.batch import pad_rows

    config = seq2seq.network.config
    rows = [[*seq2seq.vocabulary.encode(text), config.end] for text in texts]
    longest = seq2seq.defaults.max_tokens

    def own(beam: int, batch: int) -> Sequence[Sequence[Any]]:
        options = seq2seq.defaults.changed({"beam": beam})
        return [seq2seq.vocabulary.encode(one[0].text) for one in seq2seq.stream(texts, options=options, batch=batch)]

    marian = to_marian(seq2seq.network)

    def hugging_face(beam: int, batch: int) -> Sequence[Sequence[Any]]:
        found: list[list[int]] = []
        for start in range(0, len(rows), batch):
            ids = pad_rows(rows[start : start + batch], config.pad)
            with torch.inference_mode():
                made = marian.generate(
                    ids,
                    attention_mask=(ids != config.pad).long(),
                    num_beams=beam,
                    max_new_tokens=longest,
                    early_stopping=True,
                )
            found += [[t for t in row if t not in (config.pad, config.end, config.start)] for row in made.tolist()]
        return found

    engines: dict[str, Engine] = {"our seq2seq": own, "Hugging Face": hugging_face}
    try:
        import ctranslate2
    except ImportError:
        return engines
    from syntagma.convert.ctranslate2 import to_ctranslate2

    for weights in ("float32", "int8"):
        to_ctranslate2(seq2seq.network, folder / weights, weights)
        translator = ctranslate2.Translator(str(folder / weights), inter_threads=1, intra_threads=threads)

        def translate(beam: int, batch: int, translator: Any = translator) -> Sequence[Sequence[Any]]:
            found: list[list[str]] = []
            for start in range(0, len(rows), batch):
                chunk = [[str(at) for at in row] for row in rows[start : start + batch]]
                done = translator.translate_batch(chunk, beam_size=beam, max_decoding_length=longest)
                found += [one.hypotheses[0] for one in done]
            return found

        engines[f"CTranslate2 {weights}"] = translate
    return engines
