"""`syntagma bench generate`: sentences a second, our guided model beside sequence-to-sequence models of the same size.

`--data` is a folder with two trained models of the same preset and corpus, `guided` and `seq2seq` (norm=post and
copy=false, so that other engines can take it weight for weight), and `sources.txt` with sentences.  The seq2seq model
runs in our engine, in Hugging Face `generate` (as a Marian model) and in CTranslate2 (fp32, int8).  Where there is also
a model `concat`, its structural search runs in torch and in CTranslate2.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from syntagma.bench.report import Row, best_of
from syntagma.errors import InputError, Place

SENTENCES = 100
HOW = (
    "train two models on one corpus (syntagma train ... --out DIR/guided; ... --out DIR/seq2seq architecture=seq2seq "
    "norm=post copy=false) and put sentences into DIR/sources.txt"
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
            if (data / "concat").exists():
                yield from _compare_exported(data / "concat", texts, Path(folder), runs)
    finally:
        torch.set_num_threads(before)


def _compare_exported(model: Path, texts: list[str], folder: Path, runs: int) -> Iterator[Row]:
    """A concat model under the structural search in torch and in CTranslate2, beam 5, and how many texts are equal."""
    from syntagma.backbone.ctranslate2 import export
    from syntagma.backbone.storage import from_pretrained
    from syntagma.search import Generator

    loaded = from_pretrained(model)
    weights: tuple[Literal["float32", "int8"], ...] = ("float32", "int8")
    for kind in weights:
        export(folder / f"concat-{kind}", loaded.network, loaded.subwords, loaded.about, kind)
    found: dict[str, list[str]] = {}

    def search(name: str, generator: Generator) -> Callable[[], None]:
        def call() -> None:
            options = generator.defaults.changed({"beam": 5})
            made = generator.stream(texts, options=options, batch=32)
            found[name] = [one[0].text if isinstance(one, list) and one else "" for one in made]

        return call

    exported = {f"CTranslate2 {kind}": Generator.from_pretrained(folder / f"concat-{kind}") for kind in weights}
    calls = [search(name, generator) for name, generator in exported.items()]
    ours, *seconds = best_of(runs, search("ours", Generator.from_pretrained(model)), *calls)
    for name, taken in zip(exported, seconds, strict=True):
        what = "generate, structural search of a concat model, beam 5, batch 32"
        yield Row(what, len(texts) / ours, "sentences/s", name, len(texts) / taken, taken / ours)
        equal = sum(mine == other for mine, other in zip(found["ours"], found[name], strict=True))
        yield Row(f"{what}: equal texts", len(texts), "texts", name, equal)


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
