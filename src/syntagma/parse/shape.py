"""The shape of a parser, as its folder's `config.json` has it."""

from __future__ import annotations

from dataclasses import dataclass, field

from syntagma.settings import Settings


@dataclass(frozen=True)
class EncoderConfig(Settings):
    """The shape of an encoder."""

    vocabulary: int = 30522
    width: int = 384
    layers: int = 6
    heads: int = 12
    feed_forward: int = 1536
    positions: int = 512
    epsilon: float = 1e-12
    shapes: int = 4
    """Kinds of capitalisation that are added to the embedding, see `pieces.shape_of`."""


@dataclass(frozen=True)
class NetworkConfig(Settings):
    """The shape of the network above its encoder."""

    labels: int
    tags: int
    span_width: int = 256
    word_layers: int = 1
    word_heads: int = 8
    word_feed_forward: int = 1024


@dataclass(frozen=True)
class ParserConfig(Settings):
    """A parser's `config.json`."""

    name: str
    version: str
    encoder: EncoderConfig
    network: NetworkConfig
    labels: tuple[str, ...]
    """Chains such as S+VP, the null label first."""
    tags: tuple[str, ...]
    open_root: bool = False
    """Whether the root may have several children."""
    longest: int = 400
    """Words in a sentence."""
    kind: str = "span-chart"
    language: str = ""
    """The code of the language that it parses, such as en; empty where nobody said."""
    graphs: dict[str, str] = field(default_factory=dict)
    """The checksum of each graph by its name."""
    weights_sha256: str | None = None
    """The checksum of the weights; older folders have none."""
