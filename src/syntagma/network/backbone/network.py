"""Pretrained models as networks that fill contexts: encoder-decoders read `source <sep> context` and write the infill,
causal models go on from it.

A row of a batch is one level, as for our own `concat` models.  Padding never stands between what a model reads and its
positions: rows are compacted, and positions are counted for each row.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from syntagma.errors import BackboneError
from syntagma.network.backbone.state import CachedState, EncodedCache, EncodedIds, compact, from_cache, to_cache
from syntagma.network.batch import Batch, Contexts
from syntagma.network.config import ModelConfig
from syntagma.network.network import Loss, Scores, join_source
from syntagma.text.pretrained import PretrainedVocabulary


class _Whole(NamedTuple):
    """Where infill tokens are [B, T]; of the N there: ids, logits [N, V], their log-sums and their losses [N]."""

    where: Tensor
    targets: Tensor
    logits: Tensor
    norm: Tensor
    nll: Tensor


class Backbone(nn.Module):
    """The base of both kinds; `model` is the library's, `prefix` is read before every source."""

    after_blank: Tensor

    def __init__(
        self, model: nn.Module, config: ModelConfig, vocabulary: PretrainedVocabulary, prefix: tuple[int, ...] = ()
    ) -> None:
        super().__init__()
        self.config = config
        self.model: Any = model
        self.prefix = prefix
        self.adapted = any("lora_" in name for name, _ in model.named_parameters())
        """Whether only adapters are trained and kept."""
        self.register_buffer("after_blank", after_blank(vocabulary), persistent=False)
        self.blank = vocabulary.blank

    # -- what training uses

    def loss(self, batch: Batch, smoothing: float = 0.0) -> Loss:
        """The loss of a batch, summed over its infill tokens."""
        _, targets, logits, norm, nll = self._scores(batch)
        total = (1 - smoothing) * nll + smoothing * (norm - logits.mean(dim=-1)) if smoothing else nll
        correct = (logits.argmax(dim=-1) == targets).sum()
        return Loss(total.sum(), nll.sum(), correct, targets.numel())

    def token_scores(self, batch: Batch) -> Tensor:
        """The log-probability of each infill token [B, T]; 0 at padding."""
        loss = self._scores(batch)
        scores = torch.zeros(batch.targets.shape, dtype=loss.nll.dtype, device=loss.nll.device)
        scores[loss.where] = -loss.nll
        return scores

    def _scores(self, batch: Batch) -> _Whole:
        where = batch.level > 0
        targets = batch.targets[where]
        logits = self._logits(batch, where)[where].float()
        norm = torch.logsumexp(logits, dim=-1)
        return _Whole(where, targets, logits, norm, norm - logits.gather(1, targets[:, None])[:, 0])

    def _logits(self, batch: Batch, where: Tensor) -> Tensor:
        """Scores [B, T, V] of whole infills."""
        raise NotImplementedError

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """The weights that training changes, each once; of an adapted model the adapters alone."""
        kept = {name: weight for name, weight in self.named_parameters() if weight.requires_grad or not self.adapted}
        if not self.adapted:
            own = super().state_dict(*args, **kwargs)
            kept |= {name: own[name] for name, _ in self.named_buffers() if name in own}
        return {name: weight.detach() for name, weight in kept.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Take the weights that `state_dict` gave; others stay."""
        mine = {**dict(self.named_buffers()), **dict(self.named_parameters())}
        if unknown := sorted(state_dict.keys() - mine.keys()):
            raise BackboneError(f"weights of another model: {', '.join(unknown[:5])}", remedy="use its own config.json")
        with torch.no_grad():
            for name, value in state_dict.items():
                mine[name].copy_(value)
        return None

    # -- what generation uses

    def encode(self, source: Tensor) -> Any:
        """Sources [B, S], each with its end, for all that is decoded from them."""
        raise NotImplementedError

    def open(self, encoded: Any, rows: Tensor, contexts: Contexts | None) -> CachedState:
        """Before the first token of an infill for each context; `rows` [N] says which source each belongs to."""
        raise NotImplementedError

    def step(self, state: CachedState, tokens: Tensor) -> Scores:
        """Feed tokens [N], one a row; what may come next.  The state moves on."""
        raise NotImplementedError

    # -- shared

    def _prompt(self, source: Tensor, contexts: Tensor | None) -> Tensor:
        """The prompt of an infill [N, P], padding last: the prefix, the source and its context."""
        config = self.config
        ids = source
        if config.architecture == "concat":
            assert contexts is not None
            ids = self._finish(join_source(source, contexts, config))
        before = ids.new_tensor(self.prefix)[None].expand(len(ids), -1)
        return compact(torch.cat([before, ids], dim=1), config.pad)

    def _finish(self, ids: Tensor) -> Tensor:
        return ids

    def _next(self, logits: Tensor, tokens: Tensor) -> Scores:
        """The scores of what follows tokens [N], the last that logits [N, L, V] come from."""
        last = logits[:, -1].float()
        norm = torch.logsumexp(last, dim=-1)
        blank = tokens == self.blank
        if blank.any():
            last = torch.where(blank[:, None], last + self.after_blank, last)
        return Scores(last, norm)


class EncoderDecoder(Backbone):
    """BART, mBART, T5, Marian and their like."""

    def __init__(
        self, model: nn.Module, config: ModelConfig, vocabulary: PretrainedVocabulary, prefix: tuple[int, ...] = ()
    ) -> None:
        super().__init__(model, config, vocabulary, prefix)
        self._places: Tensor | None = None
        decoder = self.model.get_decoder()
        positions = getattr(decoder, "embed_positions", None)
        relative = any("relative_attention_bias" in name for name, _ in decoder.named_modules())
        if isinstance(positions, nn.Embedding):
            positions.register_forward_hook(self._placed)
        elif not relative:
            raise BackboneError(
                f"a {type(decoder).__name__} places its tokens in a way that is not known here",
                remedy="use a model such as BART, mBART, T5 or Marian",
            )

    def _placed(self, module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        """Position embeddings [N, 1, W] of rows at different lengths; the library has the same for all rows."""
        if self._places is None:
            return output
        assert isinstance(module, nn.Embedding)
        return F.embedding(self._places[:, None] + getattr(module, "offset", 0), module.weight)

    @contextmanager
    def _at(self, places: Tensor) -> Iterator[None]:
        self._places = places
        try:
            yield
        finally:
            self._places = None

    def _finish(self, ids: Tensor) -> Tensor:
        return torch.cat([ids, ids.new_full((len(ids), 1), self.config.end)], dim=1)

    def _logits(self, batch: Batch, where: Tensor) -> Tensor:
        ids = self._prompt(batch.source, None if batch.contexts is None else batch.contexts.ids)
        logits: Tensor = self.model(
            input_ids=ids,
            attention_mask=(ids != self.config.pad).long(),
            decoder_input_ids=batch.inputs,
            decoder_attention_mask=where.long(),
            use_cache=False,
        ).logits
        return logits

    def encode(self, source: Tensor) -> EncodedIds:
        """The sources [B, S]; they are read together with their contexts."""
        return EncodedIds(source)

    def open(self, encoded: EncodedIds, rows: Tensor, contexts: Contexts | None) -> CachedState:
        """Before the first token of an infill for each context; `rows` [N] says which source each belongs to."""
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        ids = self._prompt(encoded.ids[rows], None if contexts is None else contexts.ids)
        seen = ids != self.config.pad
        states = self.model.get_encoder()(input_ids=ids, attention_mask=seen.long())
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        self.model(  # computes the keys and values of the source
            encoder_outputs=states,
            attention_mask=seen.long(),
            decoder_input_ids=ids.new_full((len(ids), 1), self.config.start),
            past_key_values=cache,
            use_cache=True,
        )
        empty = tuple(layer._replace(keys=layer.keys[:, :, :0], values=layer.values[:, :, :0])
                      for layer in from_cache(cache.self_attention_cache))  # fmt: skip
        none = seen.new_zeros(len(ids), 0)
        places = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
        return CachedState(empty, none, places, from_cache(cache.cross_attention_cache), seen)

    def step(self, state: CachedState, tokens: Tensor) -> Scores:
        """Feed tokens [N], one a row; what may come next.  The state moves on."""
        from transformers.cache_utils import EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        assert state.source_seen is not None
        rows, size = state.source_seen.shape
        cache = EncoderDecoderCache(to_cache(state.cache), to_cache(state.sources))
        # The encoder's states are not looked at any more, only their shape is.
        states: Any = state.sources[0].keys.new_zeros(1, 1, self.config.width).expand(rows, size, -1)
        seen = F.pad(state.seen, (0, 1), value=True)
        with self._at(state.places):
            output = self.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=states),
                attention_mask=state.source_seen.long(),
                decoder_input_ids=tokens[:, None],
                decoder_attention_mask=seen.long(),
                past_key_values=cache,
                use_cache=True,
            )
        state.cache, state.seen, state.places = from_cache(cache.self_attention_cache), seen, state.places + 1
        return self._next(output.logits, tokens)


class Causal(Backbone):
    """GPT-2, Llama, SmolLM and their like."""

    def __init__(
        self, model: nn.Module, config: ModelConfig, vocabulary: PretrainedVocabulary, prefix: tuple[int, ...] = ()
    ) -> None:
        super().__init__(model, config, vocabulary, prefix)
        inner = self.model.get_base_model() if self.adapted else self.model
        accepted = inspect.signature(inner.forward).parameters
        if "position_ids" not in accepted:
            raise BackboneError(
                f"a {type(model).__name__} cannot be told the positions of its tokens",
                remedy="use a model such as GPT-2, Llama or SmolLM",
            )

    def _logits(self, batch: Batch, where: Tensor) -> Tensor:
        prompt = self._prompt(batch.source, None if batch.contexts is None else batch.contexts.ids)
        seen = torch.cat([prompt != self.config.pad, where], dim=1)
        logits: Tensor = self.model(
            input_ids=torch.cat([prompt, batch.inputs], dim=1),
            attention_mask=seen.long(),
            position_ids=_places(seen),
            use_cache=False,
            logits_to_keep=batch.inputs.shape[1],
        ).logits
        return logits

    def encode(self, source: Tensor) -> EncodedCache:
        """Read sources [B, S] once for all that is written from them."""
        before = source.new_tensor(self.prefix)[None].expand(len(source), -1)
        ids = torch.cat([before, source], dim=1)
        state = self._read(CachedState((), *_nothing(ids)), ids, ids != self.config.pad)
        return EncodedCache(source, state.cache, len(self.prefix))

    def open(self, encoded: EncodedCache, rows: Tensor, contexts: Contexts | None) -> CachedState:
        """Before the first token of an infill for each context; `rows` [N] says which source each belongs to."""
        ids = encoded.ids[rows]
        seen = F.pad(ids != self.config.pad, (encoded.before, 0), value=True)
        cache = tuple(layer.select(rows) for layer in encoded.layers)
        state = CachedState(cache, seen, seen.sum(dim=1))
        if self.config.architecture != "concat":
            return state
        assert contexts is not None
        written = torch.cat([ids.new_full((len(ids), 1), self.config.sep), contexts.ids], dim=1)
        return self._read(state, written, F.pad(contexts.level > 0, (1, 0), value=True))

    def step(self, state: CachedState, tokens: Tensor) -> Scores:
        """Feed tokens [N], one a row; what may come next.  The state moves on."""
        seen = F.pad(state.seen, (0, 1), value=True)
        output = self._call(state, tokens[:, None], seen, state.places[:, None])
        state.cache, state.seen, state.places = from_cache(output.past_key_values), seen, state.places + 1
        return self._next(output.logits, tokens)

    def _read(self, state: CachedState, ids: Tensor, fresh: Tensor) -> CachedState:
        """The state after ids [N, L], of which `fresh` [N, L] are no padding."""
        seen = torch.cat([state.seen, fresh], dim=1)
        output = self._call(state, ids, seen, _places(seen)[:, state.seen.shape[1] :])
        return CachedState(from_cache(output.past_key_values), seen, seen.sum(dim=1))

    def _call(self, state: CachedState, ids: Tensor, seen: Tensor, places: Tensor) -> Any:
        return self.model(
            input_ids=ids,
            attention_mask=seen.long(),
            position_ids=places,
            past_key_values=to_cache(state.cache),
            use_cache=True,
            logits_to_keep=1,
        )


def after_blank(vocabulary: PretrainedVocabulary) -> Tensor:
    """A mask to add to the scores [V] after a piece that is a mere space: a word must follow, so that no part is blank.

    It is a penalty and no ban, because a part that has no tokens left may have to end there.
    """
    solid = [index for index in range(vocabulary.size) if vocabulary.is_word(index) and index != vocabulary.blank]
    scores = torch.full((vocabulary.size,), -1e4)
    scores[solid] = 0.0
    return scores


def _places(seen: Tensor) -> Tensor:
    """The position of each token [N, L], gaps not counted."""
    return (seen.cumsum(dim=1) - 1).clamp(min=0)


def _nothing(ids: Tensor) -> tuple[Tensor, Tensor]:
    rows = len(ids)
    return ids.new_zeros(rows, 0, dtype=torch.bool), ids.new_zeros(rows)
