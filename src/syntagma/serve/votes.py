"""The verdict of votes: for each question and pair of systems who won, how sure that is, and whether voters agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

COLUMNS = ("number", "time", "voter", "item", "question", "answer", "left", "right", "winner")


@dataclass(frozen=True)
class Verdict:
    """One question about two systems; `share` and its interval are of the votes that are no ties."""

    question: str
    first: str
    second: str
    first_wins: int
    second_wins: int
    ties: int
    share: float | None
    """How much of the votes without ties went to `first`."""
    low: float | None
    high: float | None
    p: float | None
    """Of the sign test: how likely so uneven a result is if neither is better."""
    alpha: float | None
    """Krippendorff's, nominal: 1 is perfect agreement, 0 that of chance; None where no item has two votes."""
    voters: int
    items: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def judge(rows: Iterable[Sequence[Any]]) -> list[Verdict]:
    """The verdicts of raw votes, in the order of `COLUMNS`; only the last of a voter, item and question counts."""
    last = {(row[2], row[3], row[4]): row for row in rows}
    groups: dict[tuple[str, str, str], list[Sequence[Any]]] = {}
    for row in last.values():
        first, second = sorted((row[6], row[7]))
        groups.setdefault((row[4], first, second), []).append(row)
    return [_verdict(*key, groups[key]) for key in sorted(groups)]


def _verdict(question: str, first: str, second: str, rows: list[Sequence[Any]]) -> Verdict:
    wins = Counter(row[8] for row in rows)
    decided = wins[first] + wins[second]
    low, high = wilson(wins[first], decided) if decided else (None, None)
    by_item: dict[str, list[Hashable]] = {}
    for row in rows:
        by_item.setdefault(row[3], []).append(row[8])
    return Verdict(
        question, first, second, wins[first], wins[second], wins[None],
        wins[first] / decided if decided else None, low, high,
        sign_test(wins[first], wins[second]) if decided else None,
        krippendorff(by_item.values()), len({row[2] for row in rows}), len(by_item),
    )  # fmt: skip


def wilson(wins: int, votes: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval for a share, by default of 95%.

    >>> tuple(round(end, 4) for end in wilson(8, 10))
    (0.4902, 0.9433)
    """
    share = wins / votes
    centre = (share + z * z / (2 * votes)) / (1 + z * z / votes)
    half = z / (1 + z * z / votes) * math.sqrt(share * (1 - share) / votes + z * z / (4 * votes * votes))
    # At the ends the formula gives 0 and 1 up to rounding.
    return (max(0.0, centre - half) if wins else 0.0), (min(1.0, centre + half) if wins < votes else 1.0)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided exact p that a fair coin falls at least as unevenly.

    >>> round(sign_test(8, 2), 4)
    0.1094
    """
    votes, fewer = wins + losses, min(wins, losses)
    # In logarithms: a fair coin's tail underflows for a few thousand votes.
    logs = [
        math.lgamma(votes + 1) - math.lgamma(k + 1) - math.lgamma(votes - k + 1) - votes * math.log(2)
        for k in range(fewer + 1)
    ]
    return min(1.0, 2 * math.fsum(map(math.exp, logs)))


def krippendorff(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Krippendorff's alpha for nominal values; units with fewer than two values do not count.

    >>> round(krippendorff([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]), 4)
    0.5333
    """
    disagreement, totals = 0.0, Counter[Hashable]()
    for unit in units:
        if len(unit) < 2:
            continue
        counts = Counter(unit)
        totals.update(counts)
        pairs = len(unit) ** 2 - sum(count * count for count in counts.values())
        disagreement += pairs / (len(unit) - 1)
    size = sum(totals.values())
    expected = size * size - sum(count * count for count in totals.values())
    if not size:
        return None
    return 1.0 if not expected else 1 - (size - 1) * disagreement / expected
