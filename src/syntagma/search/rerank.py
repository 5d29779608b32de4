"""The order of finished texts: a reranker gives each a value, the best comes first.

*joint*: the log-probability of tree and words together, for each subword of the text.  *seq2seq*: that and the words
alone, written in one go, weighed by `joint_weight`.  To both a noisy channel may be added: how likely the source is,
written in one go from the text.  A new reranker is one more class in `RERANKERS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from syntagma.errors import ConfigError
from syntagma.runtime.base import Capabilities, Runtime, score_texts
from syntagma.search.hypothesis import Hypothesis, IdTuple
from syntagma.search.options import SearchOptions
from syntagma.search.request import SearchRequest
from syntagma.search.selection import new_pairs

_FURTHER = 3.0
"""How many times `copy_margin` texts after the first may be behind."""

Pair = tuple[IdTuple, IdTuple]
"""What is read, and what is written from it."""


class Joint:
    """By the log-probability of all infills, for each subword of the text."""

    needs_text_scores = False

    def pairs(self, request: SearchRequest) -> list[Pair]:
        """The texts whose log-probabilities it must know."""
        return []

    def value(self, hypothesis: Hypothesis, request: SearchRequest, scores: Mapping[Pair, float]) -> float:
        """The value of a finished hypothesis."""
        return hypothesis.log_probability / max(1, len(hypothesis.ids))


class Seq2seq(Joint):
    """By that and the text written in one go, weighed."""

    needs_text_scores = True

    def pairs(self, request: SearchRequest) -> list[Pair]:
        """Each text from the source."""
        return [(request.source, hypothesis.ids) for hypothesis in _ranked(request)]

    def value(self, hypothesis: Hypothesis, request: SearchRequest, scores: Mapping[Pair, float]) -> float:
        """The value of a finished hypothesis."""
        weight = request.options.joint_weight
        text = scores[request.source, hypothesis.ids]
        return (weight * hypothesis.log_probability + (1 - weight) * text) / max(1, len(hypothesis.ids))


RERANKERS: dict[str, Joint] = {"joint": Joint(), "seq2seq": Seq2seq()}


def check_rerank(options: SearchOptions, capabilities: Capabilities, seq2seq_objective: bool) -> None:
    """Raise where a model cannot do what the reranking needs; `seq2seq_objective` as in its configuration."""
    if options.rerank == "none":
        return
    learnt = seq2seq_objective if RERANKERS[options.rerank].needs_text_scores else True
    if not learnt or (options.channel_weight and not capabilities.scores_texts):
        remedy = "use rerank=joint without channel_weight, or a model trained with seq2seq_objective=true"
        raise ConfigError("this model has not learnt to write whole texts", remedy=remedy)


def rerank(requests: Sequence[SearchRequest], runtime: Runtime) -> None:
    """Order the finished texts of requests, all at once."""
    asked = [(request, _pairs(request)) for request in requests if _applies(request)]
    known = {pair: score for request, own in asked if own for pair, score in request.known_scores.items()}
    pairs = list(dict.fromkeys(pair for _, own in asked for pair in own if pair not in known))
    scores = known | dict(zip(pairs, score_texts(runtime, pairs), strict=True)) if pairs else known
    for request in requests:
        if not _applies(request):
            request.order({})
    for request, own in asked:
        _order(request, scores if own else {}, bool(own))


def text_values(
    requests: Sequence[SearchRequest], texts: Sequence[Sequence[IdTuple]], runtime: Runtime
) -> list[dict[IdTuple, float]]:
    """The worth of texts of each request by the model that has written them in one go, and by the noisy channel where
    the request's reranking asks it; it is known from then on."""
    asked = [
        [_channel(ids, request) for ids in own] if request.options.channel_weight else []
        for request, own in zip(requests, texts, strict=True)
    ]
    pairs = list(dict.fromkeys(pair for own in asked for pair in own))
    scores = dict(zip(pairs, score_texts(runtime, pairs), strict=True)) if pairs else {}
    values = []
    for request, own, channel in zip(requests, texts, asked, strict=True):
        request.known_scores |= {pair: scores[pair] for pair in channel}
        values.append({ids: _faithfulness(ids, request, request.known_scores) for ids in own})
    return values


def _ranked(request: SearchRequest) -> list[Hypothesis]:
    """The finished hypotheses of a request that are to be ordered."""
    return [*request.beam, *(request.required.free_beam if request.floating else ())]


def _applies(request: SearchRequest) -> bool:
    return request.options.rerank != "none" and request.finished and bool(request.beam)


def _pairs(request: SearchRequest) -> list[Pair]:
    """The pairs to score, where there is something to order and room for it."""
    texts, options = [hypothesis.ids for hypothesis in _ranked(request)], request.options
    if options.copy_margin:
        texts.append(request.source_as_target)
    if len(texts) < 2 or any(len(ids) >= request.config.max_positions for ids in texts):
        return []
    channel = [_channel(ids, request) for ids in texts] if options.channel_weight else []
    forth = [(request.source, ids) for ids in texts] if options.copy_margin else []
    return RERANKERS[options.rerank].pairs(request) + forth + channel


def _channel(ids: IdTuple, request: SearchRequest) -> Pair:
    """The way back: the source, written from a text."""
    return ids if request.as_source is None else request.as_source(ids), request.source_as_target


def _order(request: SearchRequest, scores: Mapping[Pair, float], scored: bool) -> None:
    reranker = RERANKERS[request.options.rerank] if scored else RERANKERS["joint"]
    weight = request.options.channel_weight if scored else 0.0
    novelty = request.options.novelty_weight

    def value(hypothesis: Hypothesis) -> float:
        worth = reranker.value(hypothesis, request, scores)
        if weight:
            worth += weight * scores[_channel(hypothesis.ids, request)] / max(1, len(request.source_as_target))
        if novelty:
            worth += novelty * new_pairs(hypothesis.ids, request.source_as_target)
        return worth

    request.order({hypothesis: value(hypothesis) for hypothesis in _ranked(request)})
    if scored and request.options.copy_margin:
        _leave_out_unfaithful(request, scores)


def _leave_out_unfaithful(request: SearchRequest, scores: Mapping[Pair, float]) -> None:
    """Keep the texts that are nearly as faithful as the source itself, and nearly as good as the best; where several
    are asked for and one is, those after it may be further behind."""
    margin, ranks = request.options.copy_margin, request.rank_scores
    source = _faithfulness(request.source_as_target, request, scores)
    best = max(ranks[text] for text in request.beam)

    def within(margin: float) -> list[Hypothesis]:
        kept = [text for text in request.beam if ranks[text] >= best - margin]
        return [text for text in kept if _faithfulness(text.ids, request, scores) >= source - margin]

    faithful = within(margin)
    further = within(_FURTHER * margin) if faithful and request.wanted > 1 else []
    request.leave_out([*faithful, *(text for text in further if text not in faithful)])


def _faithfulness(ids: IdTuple, request: SearchRequest, scores: Mapping[Pair, float]) -> float:
    """How likely a text is from the source, and the source from the text, each for a subword."""
    forth = scores[request.source, ids] / max(1, len(ids))
    weight = request.options.channel_weight
    channel = scores[_channel(ids, request)] / max(1, len(request.source_as_target)) if weight else 0.0
    return forth + weight * channel
