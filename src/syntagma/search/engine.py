"""The engine: the inner beam searches of all live sentences, decoded together in one batch.

Every step feeds one token to every row, whatever its sentence, depth and length.  A row is a partial infill; a *group*
holds the rows of one job.  When a job is done its rows leave; when a sentence has all its jobs it moves to its next
depth, or leaves and the next sentence enters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import torch

from syntagma.model.batch import check_lengths, pad_rows, stack_contexts
from syntagma.model.network import Encoded, Network
from syntagma.model.state import DecoderState
from syntagma.search.beam import Candidate, Job, Sentence
from syntagma.search.grammar import IMPOSSIBLE, Grammar, Place
from syntagma.template import Guide


@dataclass(frozen=True, slots=True)
class Row:
    """A partial infill: its tokens, the sum of their log-probabilities, and where it stands."""

    tokens: tuple[int, ...]
    score: float
    place: Place
    guide: Guide | None


@dataclass(eq=False)
class Group:
    """The inner beam search of one job: live rows and finished infills."""

    job: Job
    rows: list[Row]
    finished: list[Candidate] = field(default_factory=list)


class Engine:
    """Runs searches for as many sentences at once as `batch` says."""

    def __init__(self, network: Network, grammar: Grammar, batch: int = 32) -> None:
        self.network = network.eval()
        self.grammar = grammar
        self.batch = batch
        self.row_steps = 0
        """Rows decoded so far, summed over steps: what the search costs."""

    def run(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Each sentence once its beam is final, in the order in which they finish."""
        waiting = iter(sentences)
        alive = 0
        ready: list[Sentence] = []  # sentences that are between two depths
        state: DecoderState | None = None
        groups: list[Group] = []
        while True:
            entering = list(islice(waiting, self.batch - alive))
            self._encode(entering)
            alive += len(entering)
            jobs: list[Job] = []
            for sentence in ready + entering:
                fresh = sentence.next_jobs()
                jobs += fresh
                if not fresh:
                    alive -= 1
                    sentence.encoded = None
                    yield sentence
            if jobs:
                opened = self._open(jobs)
                state = DecoderState.join([state, opened]) if state is not None and groups else opened
                groups += [Group(job, [self._first_row(job)]) for job in jobs]
            if not groups:
                if not ready and not entering:
                    return
                ready = []
                continue
            assert state is not None
            state, groups = self._step(state, groups)
            ready = []
            for group in [group for group in groups if not group.rows]:
                group.job.found = group.finished
                sentence = group.job.sentence
                if all(job.found is not None for job in sentence.jobs):
                    sentence.advance()
                    ready.append(sentence)
            groups = [group for group in groups if group.rows]

    @torch.inference_mode()
    def _encode(self, sentences: Sequence[Sentence]) -> None:
        """Encode the sources of entering sentences, all at once; each keeps its row."""
        if not sentences:
            return
        config = self.network.config
        rows = [[*sentence.source, config.end] for sentence in sentences]
        check_lengths(config, source=max(map(len, rows)))
        encoded = self.network.encode(pad_rows(rows, config.pad))
        for number, sentence in enumerate(sentences):
            sentence.encoded = encoded.row(number, len(rows[number]))

    @torch.inference_mode()
    def _open(self, jobs: Sequence[Job]) -> DecoderState:
        """A state with one row for each job, before its first token."""
        sentences = list({id(job.sentence): job.sentence for job in jobs}.values())
        row_of = {id(sentence): row for row, sentence in enumerate(sentences)}
        encoded = Encoded.stack([s.encoded for s in sentences if s.encoded is not None], self.network.config.pad)
        rows = torch.tensor([row_of[id(job.sentence)] for job in jobs])
        contexts = None
        if self.network.config.guided:
            contexts = stack_contexts([[job.hypothesis.context] for job in jobs], self.network.config)
        return self.network.open(encoded, rows, contexts)

    def _first_row(self, job: Job) -> Row:
        options = job.sentence.options
        # Under a guide an infill may grow past its tokens by the constituents that the template still needs.
        reserve = 64 if job.hypothesis.guide is not None else 0
        longest = min(options.max_tokens, self.network.config.max_positions - 1 - reserve)
        place = Place.start(job.parts, longest, job.labels) if job.parts else Place(0, 0, longest, False)
        return Row((), 0.0, place, job.hypothesis.guide)

    @torch.inference_mode()
    def _step(self, state: DecoderState, groups: list[Group]) -> tuple[DecoderState, list[Group]]:
        """Feed every row its last token and choose how each group goes on."""
        config = self.network.config
        rows = [row for group in groups for row in group.rows]
        self.row_steps += len(rows)
        tokens = torch.tensor([row.tokens[-1] if row.tokens else config.start for row in rows])
        scores = self.network.step(state, tokens)
        scores += self.grammar.mask([row.place for row in rows], [row.guide for row in rows])
        widest = max(group.job.sentence.options.beam for group in groups)
        best, chosen = (part.tolist() for part in scores.topk(min(widest + 1, scores.shape[1])))
        parents: list[int] = []
        same_sizes = True
        offset = 0
        for group in groups:
            size = len(group.rows)
            kept = self._choose(group, best[offset : offset + size], chosen[offset : offset + size])
            parents += [offset + parent for parent in kept]
            same_sizes = same_sizes and len(kept) == size
            offset += size
        if parents != list(range(offset)):
            index = torch.tensor(parents, dtype=torch.long)
            if same_sizes:
                state.reorder(index)
            else:
                state = state.select(index)
        return state, groups

    def _choose(self, group: Group, best: list[list[float]], chosen: list[list[int]]) -> list[int]:
        """The group's next rows and finished infills; which row each of the rows continues."""
        options = group.job.sentence.options
        end, part = self.network.config.end, self.network.config.part
        ways = [
            (-(row.score + score), number, token)
            for number, row in enumerate(group.rows)
            for score, token in zip(best[number], chosen[number], strict=True)
            if score != IMPOSSIBLE
        ]
        ways.sort()
        finished = group.finished
        live: list[tuple[float, int, int]] = []
        if options.score == "sum":  # Algorithm 2: finished infills keep their place only while their score does
            pool = [(-done.score, -1, at) for at, done in enumerate(finished)] + ways
            pool.sort()
            kept = pool[: options.beam]
            before, finished = finished, []
            for cost, number, token in kept:
                if number < 0:
                    finished.append(before[token])
                elif token == end:
                    finished.append(self._finish(group.rows[number], -cost))
                else:
                    live.append((cost, number, token))
        else:  # finished infills leave the competition, and their score is the mean
            for cost, number, token in ways[: options.beam]:
                if token == end:
                    finished.append(self._finish(group.rows[number], -cost / (len(group.rows[number].tokens) + 1)))
            live = [way for way in ways if way[2] != end][: options.beam]
            if len(finished) >= options.beam:
                live = []
            finished = sorted(finished, key=lambda done: -done.score)[: options.beam]
        group.finished = finished
        if options.bounds and options.score == "sum" and live:
            threshold = group.job.sentence.threshold()
            live = [way for way in live if group.job.bound(-way[0]) >= threshold]
        group.rows = [self._extend(group.rows[number], token, -cost, part) for cost, number, token in live]
        return [number for _, number, _ in live]

    def _extend(self, row: Row, token: int, score: float, part: int) -> Row:
        return Row((*row.tokens, token), score, row.place.after(token, part), self.grammar.follow(row.guide, token))

    @staticmethod
    def _finish(row: Row, score: float) -> Candidate:
        return Candidate(row.tokens, score, row.guide.next_level() if row.guide is not None else None)
