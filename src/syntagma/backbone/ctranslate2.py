"""Models in the engine CTranslate2 (extra `ctranslate2`): exported once, and then decoders for the structural search.

CTranslate2 does not hand out its decoder step by step.  It writes on greedily from a prefix and tells the scores of all
tokens at every place on the way.  So a row's scores are asked for by its prefix, those of the next places on the greedy
way are remembered, and only rows that leave it are asked for again.  What the search sees is exact; a prefix is decoded
again each time it is asked for, which is what this costs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from syntagma.backbone.errors import BackboneError
from syntagma.backbone.network import Backbone, EncoderDecoder, after_blank
from syntagma.backbone.state import EncodedIds
from syntagma.convert.ctranslate2 import Weights, register_ids, to_ctranslate2
from syntagma.errors import ConfigError, MissingExtra
from syntagma.files import make_whole, write_whole
from syntagma.network.batch import Batch, Contexts
from syntagma.network.config import ModelConfig
from syntagma.network.interface import begin_in_two_steps
from syntagma.network.network import Loss, Network, Scores
from syntagma.network.storage import FORMAT, WORDS
from syntagma.text.lexicon import Lexicon
from syntagma.text.pretrained import PretrainedVocabulary
from syntagma.text.vocabulary import Vocabulary

AHEAD = 4
"""Places on the greedy way whose scores are asked for at once."""

Ids = tuple[int, ...]


# -- export


def export(
    folder: str | Path,
    network: Any,
    vocabulary: Vocabulary,
    about: Mapping[str, Any],
    weights: Weights = "float32",
    words: Lexicon | None = None,
) -> None:
    """Write a model into a new folder that `generate --engine ctranslate2` opens."""
    with make_whole(Path(folder)) as target:
        prefix: Ids = ()
        if isinstance(network, Network):
            if network.config.architecture == "linearised":
                raise ConfigError("a linearised model is not exported", remedy="export a concat or seq2seq model")
            to_ctranslate2(network, target / "ctranslate2", weights)
        elif isinstance(network, Backbone):
            _export_backbone(network, target / "ctranslate2", weights)
            prefix = network.prefix
        else:
            raise ConfigError("this model is an export already", remedy="export the folder that it was made from")
        vocabulary.save(target / "tokenizer.json")
        if words is not None:
            words.save(target / WORDS)
        closed = isinstance(network, Backbone)  # those read an end after the context
        values = {
            "format": FORMAT,
            "model": network.config.to_dict() | {"whole": False},  # the engine scores no given texts
            "tokenizer": vocabulary.fingerprint,
            "engine": {"name": "ctranslate2", "weights": weights, "prefix": list(prefix), "closed": closed},
            "about": _without_opinion(about),
        }
        with write_whole(target / "config.json") as stream:
            json.dump(values, stream, indent=2, ensure_ascii=False)
            stream.write("\n")


def _without_opinion(about: Mapping[str, Any]) -> dict[str, Any]:
    """What is said about a model, with an order of texts that needs no second opinion."""
    search = {name: value for name, value in about.get("search", {}).items() if name != "back"}
    if search.get("rank") == "whole":
        search["rank"] = "joint"
    return {**about, "search": search}


def _export_backbone(network: Backbone, folder: Path, weights: Weights) -> None:
    try:
        from ctranslate2.converters import transformers as loaders
    except ImportError:
        raise MissingExtra("ctranslate2", "ctranslate2", "the engine CTranslate2") from None
    kind = type(network.model.config).__name__
    if not isinstance(network, EncoderDecoder) or kind not in loaders._MODEL_LOADERS:
        what = f"CTranslate2 cannot hold this backbone ({kind}) under the structural search"
        raise BackboneError(what, remedy="export an encoder-decoder such as BART, or generate with torch")
    shape = network.model.config
    if kind == "MarianConfig":  # its own loader leaves out the last token; we have added some after that
        kind, shape.normalize_embedding = "BartConfig", False
    if kind == "BartConfig" and not hasattr(shape, "normalize_before"):
        shape.normalize_before = False  # what the converter expects of older configurations
    spec = loaders._MODEL_LOADERS[kind].get_model_spec(network.model)
    register_ids(spec, network.config)
    spec.validate()
    spec.optimize(quantization=None if weights == "float32" else weights)
    folder.mkdir(parents=True)
    spec.save(str(folder))


# -- decoding


@dataclass
class _Opened:
    """What one infill is written for: the tokens that the encoder reads, and the logits [V] after each known prefix."""

    source: list[str]
    known: dict[Ids, Any] = field(default_factory=dict)


@dataclass
class PrefixState:
    """Rows that are what they have written; there is nothing else to keep."""

    opened: list[_Opened]
    written: list[Ids | None]
    """None before the start token is fed."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.opened)

    def select(self, rows: Tensor) -> PrefixState:
        """A state of those rows, which may repeat."""
        chosen = rows.tolist()
        return PrefixState([self.opened[at] for at in chosen], [self.written[at] for at in chosen])

    def reorder(self, rows: Tensor) -> None:
        """Row i goes on from where row `rows[i]` was."""
        moved = self.select(rows)
        self.opened, self.written = moved.opened, moved.written

    @staticmethod
    def join(states: Sequence[PrefixState]) -> PrefixState:
        """One state with the rows of all."""
        return PrefixState(
            [one for state in states for one in state.opened], [one for state in states for one in state.written]
        )


class Translator(nn.Module):
    """An exported model as a decoder for the search; it has no weights that torch knows of."""

    def __init__(
        self, folder: Path, config: ModelConfig, vocabulary: Vocabulary, prefix: Ids, closed: bool, ahead: int = AHEAD
    ) -> None:
        super().__init__()
        try:
            import ctranslate2
        except ImportError:
            raise MissingExtra("ctranslate2", "ctranslate2", "the engine CTranslate2") from None
        self.config = config
        self.prefix, self.closed, self.ahead = prefix, closed, ahead
        self._engine = ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=torch.get_num_threads())
        self._blank, self._after_blank = -1, torch.zeros(config.vocabulary)
        if isinstance(vocabulary, PretrainedVocabulary):
            self._blank, self._after_blank = vocabulary.blank, after_blank(vocabulary)
        self.calls = self.rows = 0
        """How often the engine was asked, and for how many rows in all."""

    def encode(self, source: Tensor) -> EncodedIds:
        """The sources [B, S]; the engine reads them together with their contexts."""
        return EncodedIds(source)

    def open(self, encoded: EncodedIds, rows: Tensor, contexts: Contexts | None) -> PrefixState:
        """Before the first token of an infill for each context; `rows` [N] says which source each belongs to."""
        config = self.config
        opened = []
        for number, row in enumerate(rows.tolist()):
            ids = [*self.prefix, *(at for at in encoded.ids[row].tolist() if at != config.pad)]
            if config.architecture == "concat":
                assert contexts is not None
                seen = contexts.level[number] > 0
                ids += [config.sep, *contexts.ids[number][seen].tolist(), *([config.end] if self.closed else [])]
            opened.append(_Opened([str(at) for at in ids]))
        return PrefixState(opened, [None] * len(opened))

    def step(self, state: PrefixState, tokens: Tensor) -> Scores:
        """Feed tokens [N], one a row; what may come next.  The state moves on."""
        fed = tokens.tolist()
        state.written = [() if before is None else (*before, at) for before, at in zip(state.written, fed, strict=True)]
        missing: dict[int, list[tuple[_Opened, Ids]]] = defaultdict(list)
        for opened, written in zip(state.opened, state.written, strict=True):
            assert written is not None
            if written not in opened.known:
                missing[len(written)].append((opened, written))
        for size, some in missing.items():
            self._ask(size, some)
        rows = [
            opened.known[written]
            for opened, written in zip(state.opened, state.written, strict=True)
            if written is not None
        ]
        logits = torch.from_numpy(np.stack(rows))
        norm = torch.logsumexp(logits, dim=-1)
        blank = tokens == self._blank
        if blank.any():
            logits = torch.where(blank[:, None], logits + self._after_blank, logits)
        return Scores(logits, norm)

    def begin(self, state: PrefixState, tokens: Tensor) -> tuple[Tensor, Scores]:
        """Feed the start and tokens [N] to a fresh state; how likely those are [N], and what may come next."""
        return begin_in_two_steps(self, state, tokens)

    def _ask(self, size: int, some: Sequence[tuple[_Opened, Ids]]) -> None:
        """Have the engine write on from prefixes of one length, and remember what it tells."""
        self.calls += 1
        self.rows += len(some)
        found = self._engine.translate_batch(
            [opened.source for opened, _ in some],
            target_prefix=[[str(at) for at in written] for _, written in some] if size else None,
            beam_size=1,
            max_input_length=0,
            max_decoding_length=size + self.ahead,
            min_decoding_length=0,
            return_logits_vocab=True,
        )
        for (opened, written), result in zip(some, found, strict=True):
            path = [int(token) for token in result.hypotheses[0]]
            for at, logits in enumerate(result.logits[0][size:], size):
                if at <= len(path):
                    opened.known[(*written, *path[size:at])] = np.array(logits, dtype=np.float32).reshape(-1)

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """An export cannot be trained."""
        raise ConfigError("an exported model cannot be trained", remedy="train the model that it was made from")

    def token_scores(self, batch: Batch) -> Tensor:
        """An export cannot explain itself."""
        what = "an exported model does not score given texts"
        raise ConfigError(what, remedy="use the model that it was made from")


def load(folder: Path, values: Mapping[str, Any], vocabulary: Vocabulary) -> Translator:
    """The decoder of an exported folder whose config.json has those values."""
    config, how = ModelConfig.from_dict(values["model"]), values["engine"]
    return Translator(folder / "ctranslate2", config, vocabulary, tuple(how["prefix"]), how["closed"])
