"""The engine: the inner beam searches of all live sentences, decoded together in one batch.

Every step feeds one token to every row, whatever its sentence, depth and length.  A row is a partial infill; a *group*
holds the rows of one job.  When a job is done its rows leave; when a sentence has all its jobs it moves to its next
depth, or leaves and the next sentence enters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import cast

import numpy as np
import torch
from torch import Tensor

from syntagma.network.batch import Example, make_batch, pad_rows, stack_contexts, whole_level
from syntagma.network.contexts import check_lengths
from syntagma.network.interface import Decodes, Learns, State
from syntagma.network.network import Scores
from syntagma.search.beam import Job, Sentence
from syntagma.search.grammar import IMPOSSIBLE, BracketPlace, Grammar, Place
from syntagma.search.inner import Group, Row, Way
from syntagma.search.options import SearchOptions
from syntagma.search.stopwatch import Stopwatch

_JOBS_ABREAST = 128
"""With few sentences a depth's jobs run side by side, for less waiting; with many one after the other, for less work:
what the best context's infills score rules out much of what its rivals would try."""


_READY_SHARE = 4
"""New jobs are begun where one of so many sentences has some: together they cost less than one by one."""


class Engine:
    """Runs searches for as many sentences at once as `batch` says."""

    def __init__(self, network: Decodes, grammar: Grammar, batch: int = 32, watch: Stopwatch | None = None) -> None:
        self.network = network.eval()
        self.grammar = grammar
        self.batch = batch
        self.watch = watch or Stopwatch()
        self.row_steps = 0
        """Rows decoded so far, summed over steps: what the search costs."""
        self._alive: dict[int, Sentence] = {}
        self._ready: list[Sentence] = []  # sentences that are between two depths
        self._waiting: list[Job] = []  # jobs that are not begun yet
        self._state: State | None = None
        self._groups: list[Group] = []

    def run(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Each sentence once its beam is final, in the order in which they finish."""
        waiting = iter(sentences)
        while True:
            self.enter(islice(waiting, self.batch - self.alive))
            if not self.alive:
                return
            yield from self.turn()

    @property
    def alive(self) -> int:
        """How many sentences are being searched."""
        return len(self._alive)

    def enter(self, sentences: Iterable[Sentence]) -> None:
        """Take in sentences; those that are there already go on as before."""
        entering = list(sentences)
        config = self.network.config
        check_lengths(config, source=max((len(sentence.source) + 1 for sentence in entering), default=0))
        self._alive.update((id(sentence), sentence) for sentence in entering)
        self._ready += entering

    def leave(self, sentence: Sentence) -> None:
        """Give up the search for a sentence; its rows go with it."""
        if self._alive.pop(id(sentence), None) is None:
            return
        self._ready = [other for other in self._ready if other is not sentence]
        self._waiting = [job for job in self._waiting if job.sentence is not sentence]
        kept = [group for group in self._groups if group.job.sentence is not sentence]
        if len(kept) < len(self._groups) and self._state is not None:
            stays = [group.job.sentence is not sentence for group in self._groups for _ in group.rows]
            self._state = self._state.select(torch.tensor(stays).nonzero()[:, 0]) if any(stays) else None
        self._groups = kept

    def turn(self) -> list[Sentence]:
        """One token for every row of every sentence; the sentences that are finished, which leave."""
        done = self._open_jobs()
        if not self._groups or self._state is None:
            return done
        self._state = self._step(self._state, self._groups)
        self._groups = self._settle(self._groups)
        return done

    def _settle(self, groups: Sequence[Group]) -> list[Group]:
        """The groups that go on; what the others found goes to their sentences."""
        for group in groups:
            sentence = group.job.sentence
            if not group.rows and sentence.complete(group.job, group.finished):
                self._ready.append(sentence)
        return [group for group in groups if group.rows]

    def _open_jobs(self) -> list[Sentence]:
        """Begin the next depth of the sentences that are between two; those that have none are done."""
        done: list[Sentence] = []
        abreast = max(1, _JOBS_ABREAST // max(1, self.alive))
        for sentence in self._ready:
            fresh = sentence.next_jobs(abreast)
            self._waiting += fresh
            if not fresh:
                sentence.encoded = None
                del self._alive[id(sentence)]
                done.append(sentence)
        self._ready = []
        self._ask_again(done)
        sentences = list({id(job.sentence): job.sentence for job in self._waiting}.values())
        if not sentences or (self._groups and len(sentences) * _READY_SHARE < self.alive):
            return done
        self._encode([sentence for sentence in sentences if sentence.encoded is None])
        with self.watch("context encoding"):
            opened = self._open(self._waiting, sentences)
        fresh_groups = [Group(job, [self._first_row(job)]) for job in self._waiting]
        self._waiting = []
        if self.network.config.guided:
            opened = self._begin(opened, fresh_groups)
            fresh_groups = self._settle(fresh_groups)
        if fresh_groups:
            with self.watch("moving rows"):
                grown = self._state is not None and self._groups
                self._state = type(opened).join([self._state, opened]) if grown else opened
            self._groups += fresh_groups
        return done

    @torch.inference_mode()
    def _ask_again(self, sentences: Sequence[Sentence]) -> None:
        """Order finished texts by a second opinion: how likely texts are when they are written in one go."""
        asked = [(sentence, sentence.questions()) for sentence in sentences]
        questions = [question for _, mine in asked for question in mine]
        if not questions:
            return
        config = self.network.config
        examples = [Example(source, [whole_level(target, config)]) for source, target in questions]
        with self.watch("second opinion"):
            scores = cast(Learns, self.network).token_scores(make_batch(examples, config))
            answers = iter(scores.double().sum(dim=1).tolist())
        for sentence, mine in asked:
            if mine:
                sentence.reorder(dict(zip(mine, islice(answers, len(mine)), strict=True)))

    @torch.inference_mode()
    def _encode(self, sentences: Sequence[Sentence]) -> None:
        """Encode the sources of entering sentences, all at once; each keeps its row."""
        if not sentences:
            return
        config = self.network.config
        rows = [[*sentence.source, config.end] for sentence in sentences]
        with self.watch("source encoding"):
            encoded = self.network.encode(pad_rows(rows, config.pad))
        for number, sentence in enumerate(sentences):
            sentence.encoded = encoded.row(number, len(rows[number]))

    @torch.inference_mode()
    def _open(self, jobs: Sequence[Job], sentences: Sequence[Sentence]) -> State:
        """A state with one row for each of these sentences' jobs, before its first token."""
        row_of = {id(sentence): row for row, sentence in enumerate(sentences)}
        sources = [sentence.encoded for sentence in sentences if sentence.encoded is not None]
        encoded = type(sources[0]).stack(sources, self.network.config.pad)
        rows = torch.tensor([row_of[id(job.sentence)] for job in jobs])
        contexts = None
        if self.network.config.guided:
            contexts = stack_contexts([[job.hypothesis.context] for job in jobs], self.network.config)
        opened: State = self.network.open(encoded, rows, contexts)
        return opened

    def _first_row(self, job: Job) -> Row:
        # An infill may grow past its tokens by what a template still needs, and by what the user has written.
        reserve = 64 if job.hypothesis.guide is not None else sum(map(len, job.hypothesis.pins.values()))
        longest = min(job.tokens, self.network.config.max_positions - 1 - reserve)
        place: Place | BracketPlace
        if job.parts:
            place = Place.start(job.parts, longest, job.labels)
        elif self.network.config.architecture == "linearised":
            place = BracketPlace(0, True, longest)
        else:
            place = Place(0, 0, longest, labels=False)
        return Row((), 0.0, place, job.hypothesis.guide)

    @torch.inference_mode()
    def _begin(self, state: State, groups: list[Group]) -> State:
        """Open the first part of every infill, which nothing can come before, and choose how each group goes on."""
        part = self.grammar.config.part
        self.row_steps += 2 * len(groups)
        with self.watch("decoding and output layer"):
            likely, scores = self.network.begin(state, torch.full((len(groups),), part))
        stays = [
            at
            for at, (group, score) in enumerate(zip(groups, likely.tolist(), strict=True))
            if group.choose([Way(-score, 0, part)], self.grammar)
        ]
        if len(stays) < len(groups):  # some cannot reach their beam any more
            if not stays:
                return state
            index = torch.tensor(stays)
            state, scores = state.select(index), Scores(scores.logits[index], scores.norm[index])
        return self._choose(state, [groups[at] for at in stays], scores)

    @torch.inference_mode()
    def _step(self, state: State, groups: list[Group]) -> State:
        """Feed every row its last token and choose how each group goes on."""
        rows = [row for group in groups for row in group.rows]
        self.row_steps += len(rows)
        start = self.network.config.start
        with self.watch("decoding and output layer"):
            scores = self.network.step(state, torch.tensor([row.tokens[-1] if row.tokens else start for row in rows]))
        return self._choose(state, groups, scores)

    def _choose(self, state: State, groups: list[Group], scores: Scores) -> State:
        """Choose how each group goes on, now that its rows have scores; the state of the rows that do."""
        rows = [row for group in groups for row in group.rows]
        with self.watch("grammar and choice"):
            self._mask(groups, rows, scores.logits)
            ways = self._ways(groups, rows, scores)
        parents: list[int] = []
        same_sizes = True
        offset = 0
        for group, choices in zip(groups, ways, strict=True):
            size = len(group.rows)
            with self.watch("grammar and choice"):
                kept = group.choose(choices, self.grammar)
            parents += [offset + parent for parent in kept]
            same_sizes = same_sizes and len(kept) == size
            offset += size
        if parents and parents != list(range(offset)):
            index = torch.tensor(parents, dtype=torch.long)
            with self.watch("moving rows"):
                if same_sizes:
                    state.reorder(index)
                else:
                    state = state.select(index)
        return state

    def _mask(self, groups: list[Group], rows: list[Row], scores: Tensor) -> None:
        """Rule out of logits [N, V] what the grammar, templates, pins and wishes forbid."""
        only = {
            at: row.forced[0] if row.forced else self.grammar.closing(row.place)
            for at, row in enumerate(rows)
            if row.forced or row.pinned
        }
        kept = {at: scores[at, token].item() for at, token in only.items()}
        self.grammar.restrict(scores, [row.place for row in rows], [row.guide for row in rows])
        for at, token in only.items():  # what the user has written stands, whatever else holds
            scores[at] = IMPOSSIBLE
            scores[at, token] = kept[at]
        offset = 0
        for group in groups:
            wishes = group.job.sentence.wishes
            if wishes.any:
                for at, row in enumerate(group.rows, offset):
                    if at not in only:
                        scores[at, wishes.banned(row.tokens)] = IMPOSSIBLE
            offset += len(group.rows)
        _rule_out_coined([(row, group.job.sentence) for group in groups for row in group.rows], only, scores)

    def _ways(self, groups: list[Group], rows: list[Row], scores: Scores) -> list[list[Way]]:
        """For each group, the best ways to go on from its rows, and those that its wishes ask for."""
        widest = max(group.job.sentence.options.beam for group in groups)
        best, tokens = top(scores.logits, widest + 1)
        before = torch.tensor([row.score for row in rows], dtype=torch.float64)
        totals = best - scores.norm[:, None] + before[:, None]
        # In a group at most `widest` ways go on, and at most one ends for each of its rows.
        ways = best_ways([len(group.rows) for group in groups], totals, tokens, 2 * widest)
        offset = 0
        for number, group in enumerate(groups):
            after = offset + len(group.rows)
            mine = Scores(scores.logits[offset:after], scores.norm[offset:after])
            if group.job.sentence.options.sample:
                ways[number] = _drawn(group, mine)
            elif group.job.sentence.wishes.any:
                ways[number] = _wished(group, mine, totals[offset:after], tokens[offset:after])
            offset = after
        return ways


def _rule_out_coined(rows: Sequence[tuple[Row, Sentence]], given: Collection[int], scores: Tensor) -> None:
    """Rule out of logits [N, V] what makes up a word, but for rows that the user has written, and for those that could
    write nothing else: tokens may run out in the middle of a word."""
    coined = {
        at: sentence.spelling.coined(row.tokens)
        for at, (row, sentence) in enumerate(rows)
        if sentence.spelling is not None and at not in given
    }
    if coined:
        at = torch.tensor(list(coined))
        spelled = scores[at].masked_fill_(torch.stack(list(coined.values())), IMPOSSIBLE)
        alive = spelled.amax(dim=1) != IMPOSSIBLE
        scores[at[alive]] = spelled[alive]


def top(scores: Tensor, count: int, block: int = 64) -> tuple[Tensor, Tensor]:
    """The best of scores [N, V] and where they are: [N, count] each.

    The best `count` lie in the `count` blocks with the greatest maxima; to find those first is several times faster.
    """
    size = scores.shape[1] // block * block
    if size <= block * count:
        values, at = scores.topk(min(count, scores.shape[1]))
        return values, at
    blocks = scores[:, :size].reshape(len(scores), -1, block)
    chosen = blocks.amax(dim=-1).topk(count).indices
    inside = blocks.gather(1, chosen[:, :, None].expand(-1, -1, block)).flatten(1)
    values, at = torch.cat([inside, scores[:, size:]], dim=1).topk(count)
    in_block = chosen.gather(1, (at // block).clamp(max=count - 1)) * block + at % block
    return values, torch.where(at < count * block, in_block, at - count * block + size)


def best_ways(sizes: Sequence[int], totals: Tensor, tokens: Tensor, count: int) -> list[list[Way]]:
    """Of groups of so many rows, the best ways among the totals [N, K] of going on with tokens [N, K], best first."""
    most, choices = max(sizes), totals.shape[1]
    seats = torch.tensor([group * most + row for group, size in enumerate(sizes) for row in range(size)])
    laid = totals.new_full((len(sizes) * most, choices), IMPOSSIBLE).index_copy_(0, seats, totals)
    named = tokens.new_zeros(len(sizes) * most, choices).index_copy_(0, seats, tokens)
    best, at = laid.view(len(sizes), -1).topk(min(count, most * choices))
    names = named.view(len(sizes), -1).gather(1, at)
    return [
        [Way(-total, row, token) for total, row, token in zip(*group, strict=True) if total != IMPOSSIBLE]
        for group in zip(best.tolist(), (at // choices).tolist(), names.tolist(), strict=True)
    ]


def _wished(group: Group, scores: Scores, totals: Tensor, tokens: Tensor) -> list[Way]:
    """All ways from each row, and beside them those that the wishes ask for."""
    wishes, context = group.job.sentence.wishes, tuple(group.job.hypothesis.context.ids)
    (found,) = best_ways([len(group.rows)], totals, tokens, totals.numel())
    ways = {(way.row, way.token): way for way in found}
    for number, row in enumerate(group.rows):
        for token in wishes.offered(row.tokens, context):
            score = scores.logits[number, token].item()
            if score != IMPOSSIBLE:
                ways.setdefault((number, token), Way(scores.norm[number].item() - score - row.score, number, token))
    return list(ways.values())


def _drawn(group: Group, scores: Scores) -> list[Way]:
    """One way for each row, drawn."""
    ways = []
    for number, row in enumerate(group.rows):
        token = draw(scores.logits[number], group.job.sentence.options, group.job, len(row.tokens))
        score = (scores.logits[number, token] - scores.norm[number]).item()
        ways.append(Way(-(row.score + score), number, token))
    return ways


def draw(scores: Tensor, options: SearchOptions, job: Job, step: int) -> int:
    """A token from scores [V] at a temperature, among the likeliest that make up `top_p`.

    What is drawn depends on the seed, the sentence, the sample and the step only, not on the batch.
    """
    likely = torch.log_softmax(scores / options.temperature, dim=-1)
    ordered, tokens = likely.sort(descending=True, stable=True)
    inside = ordered.exp().cumsum(dim=-1) - ordered.exp() < options.top_p
    count = max(int(inside.sum()), 1)
    chance = np.random.default_rng(
        [options.seed, job.sentence.number, job.hypothesis.sample, job.hypothesis.depth, step]
    )
    shares = ordered[:count].exp().double().numpy()
    return int(tokens[int(chance.choice(count, p=shares / shares.sum()))])
