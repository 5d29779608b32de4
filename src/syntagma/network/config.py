"""The shape of a network, and the presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from syntagma.errors import ConfigError
from syntagma.settings import Settings, setting
from syntagma.text.subwords import END, PAD, PART_ID, SEP, START, TOP_ID

Architecture = Literal["extra-encoder", "extra-attention", "concat", "seq2seq", "linearised"]

RMS_EPSILON = 1e-6
"""What norms that only scale add to the mean square."""


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Everything that determines a network's weights and what it computes from them.

    Architectures: *extra-encoder* (source encoder, context encoder, decoder that attends to both), *extra-attention*
    (one encoder for source and context), *concat* (one encoder over `source <sep> context`), and the baselines
    *seq2seq* (source to target) and *linearised* (source to bracketed tree).
    """

    vocabulary: int = setting(ge=1)
    """Entries of the vocabulary."""
    architecture: Architecture = "extra-encoder"
    """How source and context reach the decoder, or a baseline."""
    width: int = setting(512, ge=1)
    """The width of all states."""
    heads: int = setting(8, ge=1)
    """Attention heads."""
    head_width: int | None = setting(None, ge=1)
    """The width of a head; None: they share the width of the states."""
    feed_forward: int = setting(2048, ge=1)
    """The width of the feed-forward layers."""
    source_layers: int = setting(6, ge=1)
    """Layers of the source encoder."""
    context_layers: int = setting(3, ge=0)
    """Layers of the context encoder."""
    decoder_layers: int = setting(3, ge=1)
    """Layers of the decoder."""
    context_attention_every: int = setting(1, ge=1)
    """One in so many of the decoder's layers attends to the context, counted from the last; 1: all of them."""
    dropout: float = setting(0.1, ge=0, lt=1)
    """The share of states that training drops."""
    activation: Literal["relu", "gelu", "swish", "gated-gelu"] = "relu"
    """The activation of the feed-forward layers; `gated-gelu` has T5's, with a second layer beside the first."""
    norm: Literal["pre", "post"] = "pre"
    """Whether layer norms stand before or after each sublayer."""
    norm_kind: Literal["layer", "rms"] = "layer"
    """Layer norms, or T5's, which only scale."""
    context_norm: Literal["pre", "post"] | None = None
    """The norm of the decoder's attention to the context, where it is another than that of all else."""
    positions: Literal["sinusoidal", "marian", "learned", "relative"] = "sinusoidal"
    """`marian` has the sinusoids of Marian's models, whose wavelengths differ a little; `relative` has T5's biases on
    how far tokens are apart."""
    max_positions: int = setting(512, ge=1)
    """The longest sequence."""
    first_position: int = 0
    """The position of the first token (2 in the authors' checkpoints)."""
    context_marks: tuple[int, ...] = ()
    """The ids read before and after every context: two in the authors' checkpoints, none in ours."""

    outputs: int | None = None
    """The ids that can be written are those below it; None: all.  Others stand in sources only."""
    output_bias: bool = False
    """A bias for every id that can be written."""
    output_embedding: bool = False
    """Embeddings for what is written apart from those for what is read."""
    copy: bool = False
    """A pointer into the source beside the output layer."""
    label_index: bool = False
    """Embeddings that tie the k-th open label of the context to the k-th part of the infill."""
    history: bool = False
    """Embeddings of each context token's parent label and the depth at which it appeared."""
    max_open_labels: int = setting(64, ge=1)
    """Rows of those embeddings."""
    seq2seq_objective: bool = False
    """Whether a guided model also learns to write its text in one go, for rerank=seq2seq and the noisy channel."""

    pad: int = PAD
    start: int = START
    end: int = END
    sep: int = SEP
    part: int = PART_ID
    labels: tuple[int, ...] = (TOP_ID,)
    """The ids of all labels; `labels[0]` is `<T>`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.head_width is None and self.width % self.heads) or self.width % 2:
            raise ConfigError(
                f"a width of {self.width} does not divide among {self.heads} heads",
                remedy="choose an even multiple of the heads",
            )
        if self.outputs is not None and not 0 < self.outputs <= self.vocabulary:
            what = f"{self.outputs} ids cannot be written out of {self.vocabulary}"
            raise ConfigError(what, remedy="give outputs of at most the vocabulary")
        if self.positions == "relative" and self.architecture in ("concat", "extra-attention"):
            what = f"{self.architecture} has no relative positions"
            raise ConfigError(what, remedy="use architecture=extra-encoder or seq2seq, or other positions")
        if self.architecture == "extra-encoder" and self.context_layers < 1:
            raise ConfigError("the extra encoder has no layers", remedy="give context_layers of at least 1")
        if self.seq2seq_objective and not self.guided:
            raise ConfigError(
                f"{self.architecture} writes nothing but whole texts", remedy="leave seq2seq_objective out"
            )

    @property
    def controls(self) -> tuple[int, ...]:
        """The control tokens that a decoder may write: the labels, `<c>` and the end, in this order."""
        return (*self.labels, self.part, self.end)

    @property
    def head_size(self) -> int:
        """The width of each head."""
        return self.head_width or self.width // self.heads

    @property
    def guided(self) -> bool:
        """Whether the model fills contexts, rather than writing its target in one go."""
        return self.architecture in ("extra-encoder", "extra-attention", "concat")

    @property
    def attends_to_context(self) -> bool:
        """Whether the decoder has an attention over the context apart from that over the source."""
        return self.architecture in ("extra-encoder", "extra-attention")

    @property
    def context_attentions(self) -> tuple[int, ...]:
        """The numbers of the decoder's layers that attend to the context.

        >>> preset("base", 100, decoder_layers=6, context_attention_every=2).context_attentions
        (1, 3, 5)
        """
        if not self.attends_to_context:
            return ()
        return tuple(
            range(
                (self.decoder_layers - 1) % self.context_attention_every,
                self.decoder_layers,
                self.context_attention_every,
            )
        )


_BASE = {
    "width": 512,
    "heads": 8,
    "feed_forward": 2048,
    "source_layers": 6,
    "context_layers": 3,
    "decoder_layers": 3,
}
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"width": 32, "heads": 4, "feed_forward": 64, "source_layers": 1, "context_layers": 1, "decoder_layers": 1},
    "small": {
        "width": 256,
        "heads": 4,
        "feed_forward": 1024,
        "source_layers": 4,
        "context_layers": 2,
        "decoder_layers": 3,
        "copy": True,
        "label_index": True,
    },
    "base": _BASE,
    "big": _BASE | {"width": 1024, "heads": 16, "feed_forward": 4096, "norm": "post", "dropout": 0.3},
    "paper-paranmt": _BASE | {"norm": "post", "dropout": 0.3},
    "paper-wmt": _BASE | {"norm": "post", "dropout": 0.1},
    "paper-bart": _BASE | {"width": 768, "heads": 12, "feed_forward": 3072, "norm": "post", "activation": "gelu"},
}
"""Sizes of the syntax-guided models; a baseline's decoder also gets the context encoder's layers.  `small` has what
helped most at its size (docs/lab-notes/network.md), `base` is the paper's model, `big` the paper's largest teacher as a
baseline.  The `paper-` ones are the paper's models to the letter, and training has settings for them as well
(`syntagma.train.config.PRESET_TRAINING`); that of `paper-bart` starts from BART-base itself, whose shape it has."""


def preset(name: str, vocabulary: int, architecture: Architecture = "extra-encoder", **changes: Any) -> ModelConfig:
    """The configuration of that preset's size; the baselines have as many layers in all as the guided models.

    >>> preset("base", 6864).decoder_layers, preset("base", 6864, "seq2seq").decoder_layers
    (3, 6)
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}", remedy=f"choose one of {', '.join(PRESETS)}")
    values = {"vocabulary": vocabulary, "architecture": architecture, **PRESETS[name]}
    deep = ("seq2seq", "linearised", "concat", *(["extra-attention"] if name.startswith("paper-") else []))
    if architecture in deep:
        values["decoder_layers"] += values["context_layers"]
        values["context_layers"] = 0
    return ModelConfig.from_dict(values | changes)
