"""Whether the runtimes give a model's results alike, and what a smaller precision of it costs.

    python tools/same_results.py MODEL PAIRS [-n 100] [--beam 5] [--precisions fp32 int8]

PAIRS has a source and a reference a line, a tab between (also gzip).  First ONNX Runtime and torch search with the
model in fp32: for how many sentences all texts of the beam are the same, in the same order, and by how much their
scores differ at most.  Then ONNX Runtime searches with each of two precisions: BLEU, self-BLEU and iBLEU (13a), the
difference from the first to the second with its 95% interval, and how many sentences have the same best text.  Prints
one JSON object.

A folder that is `stored` in fewer bits gives fp32 weights that are rounded already.  So for a model in int8 the second
comparison shows what computing in eight bits costs, and not what rounding the weights did.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from syntagma.files import read_lines
from syntagma.hub import WEIGHTS
from syntagma.metrics import Bleu, IBleu, Metric, Segment, SelfBleu, SystemStatistics, evaluate
from syntagma.network.export import export_network
from syntagma.network.folder import ModelFolder
from syntagma.network.weightfile import WeightFile, stored_precision
from syntagma.search import Generator, Output

PRECISIONS = ("fp32", "fp16", "int8")
_RESAMPLES = 1000


def main() -> None:
    """Compare both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("pairs", type=Path)
    parser.add_argument("-n", type=int, default=100, help="sentences, the first of the file")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--precisions", nargs=2, choices=PRECISIONS, default=["fp32", "int8"])
    options = parser.parse_args()
    rows = [line.split("\t") for line in islice(read_lines(options.pairs), options.n)]
    sources, references = [row[0] for row in rows], [row[1] for row in rows]
    stored = stored_precision(WeightFile.open(ModelFolder.open(options.model).path / WEIGHTS))
    found: dict[str, Any] = {"model": options.model, "stored": stored, "sentences": len(rows), "beam": options.beam}
    with TemporaryDirectory() as work:
        folders = {name: Path(work, name) for name in {"fp32", *options.precisions}}
        for precision, folder in folders.items():
            export(options.model, folder, precision)
        found["runtimes"] = compare_runtimes(folders["fp32"], sources, options.beam)
        systems = {name: search(folders[name], sources, options.beam) for name in options.precisions}
    found["precisions"] = compare_precisions(systems, sources, references)
    print(json.dumps(found, indent=1))


def export(model: str, folder: Path, precision: str) -> None:
    """Write a model in a precision."""
    opened = ModelFolder.open(model)
    export_network(opened, folder, "", opened.about, precision, opened.words)


def search(folder: Path, sources: Sequence[str], beam: int, precision: str | None = None) -> list[list[Output]]:
    """The outputs for each source, on the CPU: in ONNX Runtime, or in torch where a precision is named."""
    generator = Generator.from_pretrained(folder, device="cpu", precision=precision)
    outputs = []
    for result in generator.stream(sources, options=generator.defaults.changed({"beam": beam}), nbest=beam):
        if not isinstance(result, list):
            raise result
        outputs.append(result)
    return outputs


def compare_runtimes(folder: Path, sources: Sequence[str], beam: int) -> dict[str, float]:
    """How many sentences get the same texts from both runtimes, and the largest difference of a score of theirs."""
    pairs = list(zip(search(folder, sources, beam), search(folder, sources, beam, "fp32"), strict=True))
    same = [pair for pair in pairs if _texts(pair[0]) == _texts(pair[1])]
    differences = [
        abs(ours.score - theirs.score) for pair in same for ours, theirs in zip(pair[0], pair[1], strict=True)
    ]
    return {"same_texts": len(same), "largest_difference": max(differences, default=0.0)}


def _texts(outputs: Sequence[Output]) -> list[str]:
    return [output.text for output in outputs]


def compare_precisions(
    systems: dict[str, list[list[Output]]], sources: Sequence[str], references: Sequence[str]
) -> dict[str, Any]:
    """The figures of two systems, and how far the second is from the first."""
    texts = {name: [outputs[0].text if outputs else "" for outputs in found] for name, found in systems.items()}
    metrics: list[Metric] = [kind(tokenize="13a") for kind in (Bleu, SelfBleu, IBleu)]
    segments = zip(
        *(
            [Segment(*one) for one in zip(own, [(one,) for one in references], sources, strict=True)]
            for own in texts.values()
        ),
        strict=True,
    )
    scored = dict(zip(texts, evaluate(metrics, segments), strict=True))
    first, second = scored.values()
    return {
        **{name: _figures(system) for name, system in scored.items()},
        "difference": {
            figure.name: {"value": round(figure.delta, 2), "interval": [round(end, 2) for end in figure.interval]}
            for figure in second.compare(first, _RESAMPLES)
        },
        "same_best_texts": sum(one == other for one, other in zip(*texts.values(), strict=True)),
    }


def _figures(system: SystemStatistics) -> dict[str, float]:
    return {name: round(value, 2) for name, value in zip(system.names(), system.values(), strict=True)}


if __name__ == "__main__":
    main()
