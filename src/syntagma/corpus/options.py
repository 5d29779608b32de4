"""The options of `prepare`: one frozen value, stored with the corpus, that guards a resumed run.

>>> options = CorpusOptions(inputs=(Input("pairs.tsv"),), max_words=40)
>>> CorpusOptions.from_dict(options.to_dict()) == options
True
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from syntagma.errors import ConfigError
from syntagma.settings import Settings, setting
from syntagma.tree import KEPT_LABELS, check_label

SPLITS: Final = ("train", "dev", "test")
FORMATS: Final = ("tsv", "csv", "jsonl", "parallel", "corpus")
BRACKETS: Final = "brackets:"
ALL_LABELS: Final = ("*",)
"""Instead of labels: all that the parser makes, parts of speech among them."""
AUTO: Final = -1
"""As many pairs for dev as suit the corpus, see `shards.auto_dev`."""


@dataclass(frozen=True)
class Input(Settings):
    """A file of pairs, or a file of sources with the file of their targets."""

    path: str
    """The file."""
    target: str | None = None
    split: str = "train"
    format: str | None = None
    """By the name, where not given."""


@dataclass(frozen=True)
class CorpusOptions(Settings):
    """Everything that decides the bytes of a corpus.  How it is made (executor, workers) is not in here."""

    inputs: tuple[Input, ...]
    """The files."""
    columns: tuple[str, ...] = ()
    """Source and target: names, or numbers from 0; by the format where not given."""
    header: bool = False
    """Whether a TSV file's first line names its columns."""
    where: tuple[str, ...] = ()
    """COLUMN=VALUE[,VALUE]: rows with any of these values."""
    keep_fraction: tuple[str, ...] = ()
    """COLUMN=VALUE:SHARE: of rows with that value only this share."""
    max_rows: int | None = setting(None, ge=1)
    """The most rows of an input, from its beginning; those that `where` leaves out do not count."""
    both_ways: bool = False
    """Whether each pair serves both directions."""
    tokenized: bool = False
    """Words are already apart: cut at white space only."""
    exclude: tuple[str, ...] = ()
    """Files of pairs that must not be trained on, in either direction."""
    min_words: int = 1
    """The fewest words, on both sides."""
    max_words: int = 128
    """The most words, on both sides."""
    max_ratio: float | None = setting(None, ge=1)
    """The most words of the longer side for one of the shorter."""
    keep_identical: bool = False
    """Keep pairs whose sides are the same."""
    keep_duplicates: bool = False
    """Keep pairs that were there before."""
    keep_overlap: bool = False
    """Keep training pairs that have a side in common with a source of dev or test."""
    source_script: str | None = None
    """Latin, Han, Cyrillic, ...; several joined by +."""
    target_script: str | None = None
    """Likewise for the target."""
    script_share: float = setting(0.7, ge=0, le=1)
    """The share of the letters that must be of that script."""
    no_swap: tuple[str, ...] = ()
    """Words that must not change from one group to another: he,him,his/she,her,hers."""
    parser: str = "neural"
    """As `syntagma.parse.base` names them; brackets:FILE for trees aligned with the pairs."""
    max_levels: int = setting(32, ge=1)
    """The most levels of a tree, of dev and test as well."""
    labels: tuple[str, ...] = KEPT_LABELS
    """The labels that guide generation; `*` alone: all that the parser makes, parts of speech among them."""
    label_noise: float = setting(0.0, ge=0, le=1)
    """Replace this share of the labels by others at random, in the training trees."""
    seed: int = 1
    """Decides everything that is drawn."""
    vocab_size: int = setting(8000, ge=1)
    """Entries of the vocabulary, labels and control tokens included."""
    vocab_sample: int = setting(250_000, ge=1)
    """Pairs that the subwords are trained on, evenly spread, at most."""
    tokenizer: str | None = None
    """A vocabulary to use again: that of a model (a bundled name, a folder), of a corpus, or a tokenizer.json."""
    pieces: str | None = None
    """A pretrained model's folder whose pieces are used, those that the texts need."""
    share_pieces: bool = False
    """Whether sources are segmented by that model's target pieces as well."""
    dev: int = 0
    """Pairs drawn from the training inputs; AUTO: some, where the inputs have none."""
    test: int = 0
    """Pairs drawn for test."""
    chunk_rows: int = setting(5000, ge=1)
    """Rows of a piece of work: what a stop can cost."""
    shard_pairs: int = setting(50_000, ge=1)
    """Pairs of a file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for problem, remedy in _problems(self):
            raise ConfigError(problem, remedy=remedy)

    @property
    def hash(self) -> str:
        """A hash, the same for equal options."""
        text = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def trees(self) -> str | None:
        """The file of trees that is aligned with the rows, where the parser is one."""
        return self.parser.removeprefix(BRACKETS) if self.parser.startswith(BRACKETS) else None

    def ordered_inputs(self) -> tuple[Input, ...]:
        """Test, then dev, then training inputs: what must not be trained on is known when training pairs are read."""
        if self.trees is not None:
            return self.inputs
        return tuple(sorted(self.inputs, key=lambda input_: -SPLITS.index(input_.split)))


def _problems(options: CorpusOptions) -> list[tuple[str, str]]:
    """List contradictions among the options, each with what to do."""
    problems = []
    if not options.inputs:
        problems.append(("no input was given", "name at least one file of pairs"))
    for input_ in options.inputs:
        if input_.split not in SPLITS:
            problems.append((f"{input_.split!r} is not a split", "use train, dev or test"))
        if input_.format is not None and input_.format not in FORMATS:
            problems.append((f"{input_.format!r} is not a format", f"use one of {', '.join(FORMATS)}"))
    if options.columns and len(options.columns) != 2:
        problems.append((f"{len(options.columns)} columns were given", "give two, such as --columns 0,1"))
    if options.parser == "brackets" or options.trees == "":
        problems.append(("the parser `brackets` lacks its file", "name it as brackets:FILE"))
    if options.trees is not None and options.both_ways:
        problems.append(("--both-ways needs trees of both sides, --trees gives one", "leave one of the two out"))
    if options.trees is not None and any(input_.split != "train" for input_ in options.inputs):
        problems.append(
            ("--trees is aligned with the training pairs only", "use --dev N and test=N instead of --split")
        )
    if not 1 <= options.min_words <= options.max_words:
        problems.append(
            (f"no length is between {options.min_words} and {options.max_words}", "give min_words <= max_words")
        )
    for item in options.no_swap:
        if not all(group.strip(", ") for group in item.split("/")) or "/" not in item:
            problems.append((f"no_swap={item!r} has no two groups", "write words such as he,him,his/she,her,hers"))
    if options.label_noise and len(set(options.labels)) < 2:
        problems.append(("one label alone cannot be exchanged for another", "keep two labels or leave out label_noise"))
    if options.tokenizer is not None and options.pieces is not None:
        problems.append(("a tokenizer and a model's pieces are both given", "give tokenizer=FILE or pieces=FOLDER"))
    if options.share_pieces and options.pieces is None:
        problems.append(("share_pieces names no pieces", "give pieces=FOLDER with it"))
    if not options.labels or len(set(options.labels)) != len(options.labels):
        problems.append(("the labels are none or some twice", "name each label once"))
    for label in options.labels:
        check_label(label)
    for name in ("dev", "test"):
        if name == "dev" and options.dev == AUTO:
            continue
        if getattr(options, name) < 0 or (
            getattr(options, name) and any(input_.split == name for input_ in options.inputs)
        ):
            problems.append(
                (f"{name!r} cannot be {getattr(options, name)}", f"give a number, or --split {name}=FILE, not both")
            )
    return problems
