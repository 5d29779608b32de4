"""The engines that `syntagma bench generate` compares, each ready to write its outputs for the same sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from syntagma.network.network import Network

Engine = Callable[[int, int], list[int]]
"""The lengths in tokens of its outputs for a beam and a batch size."""

GUIDED, GUIDED_INT8 = "guided", "guided int8"


def load_engines(data: Path, texts: list[str], threads: int, folder: Path) -> dict[str, Engine]:
    """The guided model in our engine and the seq2seq model in every engine that is installed.

    They may write to `folder`.
    """
    from syntagma.network.storage import from_pretrained
    from syntagma.search import Generator

    guided, seq2seq = (Generator.from_pretrained(data / name, threads=threads) for name in ("guided", "seq2seq"))
    network = from_pretrained(data / "seq2seq").network
    _export_int8(data / "guided", folder / "guided-int8")
    config = seq2seq.config
    rows = [[*seq2seq.vocabulary.encode(text), config.end] for text in texts]
    engines = {
        GUIDED: own_engine(guided, texts),
        GUIDED_INT8: own_engine(Generator.from_pretrained(folder / "guided-int8", threads=threads), texts),
        "our seq2seq": own_engine(seq2seq, texts),
        "Hugging Face": _hugging_face(network, seq2seq.defaults.max_tokens, rows),
    }
    try:
        import ctranslate2  # noqa: F401
    except ImportError:
        return engines
    for weights in ("float32", "int8"):
        engines[f"CTranslate2 {weights}"] = _ctranslate2(
            network, seq2seq.defaults.max_tokens, rows, weights, threads, folder
        )
    return engines


def _export_int8(model: Path, out: Path) -> None:
    from syntagma.network.export import export_network
    from syntagma.network.folder import ModelFolder

    folder = ModelFolder.open(model)
    export_network(folder, out, "", folder.about, "int8", folder.words)


def own_engine(generator: Any, texts: Sequence[str]) -> Engine:
    """Our own engine."""

    def run(beam: int, batch: int) -> list[int]:
        options = generator.defaults.changed({"beam": beam})
        results = generator.stream(texts, options=options, batch=batch)
        return [len(generator.vocabulary.encode(outputs[0].text)) for outputs in results]

    return run


def _hugging_face(network: Network, longest: int, rows: list[list[int]]) -> Engine:
    import torch

    from syntagma.network.batch import pad_rows
    from syntagma.network.convert.marian import to_marian

    config = network.config
    marian = to_marian(network)

    def run(beam: int, batch: int) -> list[int]:
        lengths: list[int] = []
        for start in range(0, len(rows), batch):
            ids = pad_rows(rows[start : start + batch], config.pad)
            with torch.inference_mode():
                made = marian.generate(
                    ids,
                    attention_mask=(ids != config.pad).long(),
                    num_beams=beam,
                    max_new_tokens=longest,
                    early_stopping=beam > 1,
                )
            lengths += [
                sum(token not in (config.pad, config.end, config.start) for token in row) for row in made.tolist()
            ]
        return lengths

    return run


def _ctranslate2(
    network: Network, longest: int, rows: list[list[int]], weights: Any, threads: int, folder: Path
) -> Engine:
    import ctranslate2

    from syntagma.network.convert.ctranslate2 import to_ctranslate2

    to_ctranslate2(network, folder / weights, weights)
    translator = ctranslate2.Translator(str(folder / weights), inter_threads=1, intra_threads=threads)
    written = [[str(token) for token in row] for row in rows]

    def run(beam: int, batch: int) -> list[int]:
        lengths: list[int] = []
        for start in range(0, len(rows), batch):
            done = translator.translate_batch(
                written[start : start + batch], beam_size=beam, max_decoding_length=longest
            )
            lengths += [len(result.hypotheses[0]) for result in done]
        return lengths

    return run
