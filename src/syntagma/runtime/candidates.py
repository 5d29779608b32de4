"""From the scores of a step to its candidates: the mask, the best continuations, a draw; all in numpy."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from syntagma.network.config import ModelConfig
from syntagma.runtime.base import IMPOSSIBLE, Draw, IdArray, Mask, ScoreArray, WordSet

_BLOCKS = 512
_WIDE = 1 << 15
_FEW = 16
_LIKELIEST = 256
_MOST_BIASES = 256


class Candidates(NamedTuple):
    """The candidates of a `Step`: tokens and scores [N, K], the scores asked for [A]."""

    tokens: IdArray
    scores: ScoreArray
    asked: ScoreArray


class Selector:
    """Finds candidates among the scores of one model's vocabulary."""

    def __init__(self, config: ModelConfig) -> None:
        self.size = config.outputs or config.vocabulary
        self._all_written = self.size == config.vocabulary
        self.controls = np.array(config.controls, np.int64)
        no_text = {config.pad, config.start, config.sep, *config.context_marks, *config.controls}
        self._no_text = np.array(sorted(number for number in no_text if number < self.size), np.int64)
        self._biases: WeakKeyDictionary[WordSet, ScoreArray] = WeakKeyDictionary()
        """What large sets of words add to scores [V]: nothing where a word is in it, else minus infinity."""

    def select(
        self, scores: ScoreArray, norm: ScoreArray | None, mask: Mask, k: int, draw: Draw | None = None
    ) -> Candidates:
        """Candidates among scores [N, V], which are changed; `norm` [N] is taken off them to give log-probabilities."""
        self.restrict(scores, mask)
        rows, ids = mask.asked.T
        asked = scores[rows, np.minimum(ids, self.size - 1)]
        asked[ids >= self.size] = IMPOSSIBLE
        if norm is not None:
            asked -= norm[rows]
        tokens = best(scores, k) if draw is None else draw_tokens(scores, draw)
        chosen = scores[_each_row(scores), tokens]
        if norm is not None:
            chosen -= norm[:, None]
        return Candidates(tokens, chosen, asked)

    def restrict(self, scores: ScoreArray, mask: Mask) -> None:
        """Set to `IMPOSSIBLE` what the mask forbids in scores [N, V]."""
        controls = np.where(mask.controls, scores[:, self.controls], np.float32(IMPOSSIBLE))
        for row, words in zip(scores, mask.words, strict=True):
            if words is not None:
                self._leave(row, words)
        scores[:, self._no_text] = IMPOSSIBLE
        scores[:, self.controls] = controls
        if len(mask.denied):
            rows, ids = mask.denied[mask.denied[:, 1] < self.size].T
            scores[rows, ids] = IMPOSSIBLE

    def _leave(self, row: ScoreArray, words: WordSet) -> None:
        """Leave only those words in a row of scores [V]."""
        if len(words.ids) * _FEW < self.size:
            ids = self._written(words)
            kept = row[ids]
            row.fill(IMPOSSIBLE)
            row[ids] = kept
            return
        bias = self._biases.get(words)
        if bias is None:
            if len(self._biases) >= _MOST_BIASES:
                self._biases.clear()
            bias = self._biases[words] = np.full(self.size, IMPOSSIBLE, np.float32)
            bias[self._written(words)] = 0.0
        np.add(row, bias, out=row)

    def _written(self, words: WordSet) -> IdArray:
        return words.ids if self._all_written else words.ids[words.ids < self.size]


def best(scores: ScoreArray, k: int) -> IdArray:
    """The columns [N, K] of the highest scores [N, V] of each row, best first; of equal ones the lower column.

    >>> best(np.array([[0.5, 2.0, 1.0, 2.0]], np.float32), 3).tolist()
    [[1, 3, 2]]
    """
    rows, size = scores.shape
    k = min(k, size)
    if k == 0 or rows == 0:
        return np.zeros((rows, k), np.int64)
    each = _each_row(scores)
    if rows * size > _WIDE and k * _FEW < _BLOCKS and size > 8 * _BLOCKS:
        columns, more = _likely_columns(scores, k)
        values = scores[each, columns]
    else:
        columns, values, more = np.broadcast_to(np.arange(size), scores.shape), scores, None
    within = np.argpartition(values, -k, axis=1)[:, -k:]
    least = values[each, within].min(axis=1)
    chosen = columns[each, within]
    level = np.count_nonzero(values >= least[:, None], axis=1) > k
    if more is not None:
        level |= more >= least
    for row in np.flatnonzero(level & (least > IMPOSSIBLE)):  # several equal scores for the last place
        above = np.flatnonzero(scores[row] >= least[row])
        chosen[row] = above[np.argsort(-scores[row, above], kind="stable")[:k]]
    return chosen[each, np.lexsort((chosen, -scores[each, chosen]), axis=1)]


def _each_row(table: ScoreArray) -> IdArray:
    """The numbers [N, 1] of rows, to index some columns of each with; numpy's own function takes longer."""
    return np.arange(len(table))[:, None]


def _likely_columns(scores: ScoreArray, k: int) -> tuple[IdArray, ScoreArray]:
    """Columns [N, M] that hold the k highest values of each row, and the highest value of the others [N].

    Column c is in the block c modulo the number of blocks.  The k highest values stand in the k blocks with the highest
    maxima, or in the few columns that are left over.
    """
    rows, size = scores.shape
    count = _block_count(size)
    deep = size // count
    whole = deep * count
    highest = scores[:, :whole].reshape(rows, deep, count).max(axis=1)
    order = np.argpartition(highest, -k - 1, axis=1)
    columns = (order[:, -k:, None] + count * np.arange(deep)).reshape(rows, -1)
    rest = np.broadcast_to(np.arange(whole, size), (rows, size - whole))
    return np.concatenate([columns, rest], axis=1), highest[np.arange(rows), order[:, -k - 1]]


@cache
def _block_count(size: int) -> int:
    """A number of blocks that leaves few of so many columns over."""
    return min(range(_BLOCKS * 3 // 4, _BLOCKS * 5 // 4), key=lambda count: size % count)


def draw_tokens(scores: ScoreArray, draw: Draw) -> IdArray:
    """A column [N, 1] for each row of scores [N, V], drawn among the likeliest that make up `top_p`.

    Columns are laid side by side from the likeliest on, each as wide as its share; the uniform number says where to
    look.
    """
    tokens = np.zeros((len(scores), 1), np.int64)
    for row, uniform in enumerate(draw.uniforms):
        logits = scores[row].astype(np.float64) / draw.temperature
        highest = logits.max()
        if highest > IMPOSSIBLE:
            shares = np.exp(logits - highest)
            shares /= shares.sum()
            order = best(scores[row : row + 1], _LIKELIEST)[0]
            if shares[order].sum() <= (uniform if draw.top_p >= 1 else draw.top_p):
                order = np.argsort(-scores[row], kind="stable")
            tokens[row] = order[_place(shares[order], draw.top_p, uniform)]
    return tokens


def _place(shares: npt.NDArray[np.float64], top_p: float, uniform: float) -> int:
    """Where among shares, highest first, a uniform number falls once those beyond `top_p` are cut off."""
    sums = np.cumsum(shares)
    if top_p >= 1:
        return min(int(np.searchsorted(sums, uniform, side="right")), int(np.count_nonzero(shares)) - 1)
    count = max(int(np.count_nonzero(sums - shares < top_p)), 1)
    return min(int(np.searchsorted(sums[:count], uniform * sums[count - 1], side="right")), count - 1)
