"""Who is let in: every request's work is estimated, and who would wait too long is refused at once, not later.

Work is counted in decoder rows, the unit in which the search knows what it has done; parsing and the description of
levels are counted as so many rows as they take the time of.  How long a row takes is learnt from what is finished.
Open requests share the machine fairly, so another one delays a request by no more than the request's own work: that is
the estimate of a wait.  All of it runs in the event loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from syntagma.serve.worker import Busy

BYTE = 1.0
"""Rows that a byte of a text takes for each place of the beam."""
LEAST_BYTES = 20
PARSED_BYTE = 0.15
"""Rows that a byte takes to be parsed."""
DESCRIBED = 1.6
"""How much more a search takes whose levels are described."""
ORDINARY_ROWS = 200.0
"""What a sentence of ten words takes with a beam of five."""
FIRST_PACE = 3e-4
"""Seconds of a row, before anything is known of this machine."""
MEMORY = 0.95
LONGEST_RETRY = 30


def search_rows(texts: Sequence[str], beam: int, described: bool = False) -> float:
    """The rows that searches for texts will take.

    >>> search_rows(["It seems like he has made a mistake."], 5)
    180.0
    """
    size = sum(max(LEAST_BYTES, len(text.encode("utf-8", "replace"))) for text in texts)
    return BYTE * size * beam * (DESCRIBED if described else 1.0)


def parse_rows(texts: Sequence[str]) -> float:
    """The rows for whose time texts can be parsed."""
    return PARSED_BYTE * sum(max(LEAST_BYTES, len(text.encode("utf-8", "replace"))) for text in texts)


class Ticket:
    """A request that was let in; it counts until it leaves."""

    def __init__(self, admission: Admission, rows: float) -> None:
        self.admission, self.rows = admission, rows
        self.done: float | None = None
        """The rows that it took, where they are known by now."""

    def __enter__(self) -> Ticket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(finished=kind is None)

    def leave(self, finished: bool = True) -> None:
        """Count no longer; what was `finished` says how fast this machine is."""
        self.admission.forget(self, finished)


class Admission:
    """The open requests of a service and what they are expected to take."""

    def __init__(self, patience: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self._clock = patience, clock
        self._open: set[Ticket] = set()
        self._since = 0.0
        self._rows, self._seconds = 1.0, FIRST_PACE  # of late; what is older counts less
        self.refused = 0

    @property
    def pace(self) -> float:
        """Seconds that a row takes, while there is work."""
        return self._seconds / self._rows

    @property
    def open(self) -> int:
        """How many requests are being worked on."""
        return len(self._open)

    def wait(self, rows: float) -> float:
        """The seconds by which what is open would delay a request of so many rows."""
        return self.pace * sum(min(rows, ticket.rows) for ticket in self._open)

    @property
    def has_room(self) -> bool:
        """Whether an ordinary request would be let in."""
        return self.wait(ORDINARY_ROWS) <= self.patience

    def enter(self, rows: float) -> Ticket:
        """Let a request in; `Busy`, with the seconds after which there is room, where it would wait too long."""
        delay = self.wait(rows)
        if delay > self.patience:
            self.refused += 1
            retry = min(LONGEST_RETRY, max(1, math.ceil(delay - self.patience / 2)))
            raise Busy("too many requests are waiting", remedy=f"ask again in {retry} s", retry_after=retry)
        if not self._open:
            self._since = self._clock()
        ticket = Ticket(self, rows)
        self._open.add(ticket)
        return ticket

    def forget(self, ticket: Ticket, finished: bool) -> None:
        """A request has left."""
        if ticket not in self._open:
            return
        self._open.discard(ticket)
        if finished:
            now = self._clock()
            self._rows = MEMORY * self._rows + (ticket.rows if ticket.done is None else ticket.done)
            self._seconds = MEMORY * self._seconds + now - self._since
            self._since = now
