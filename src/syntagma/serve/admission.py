"""Who is let in: every request's work is estimated, and who would wait too long is refused at once, not later.

Work is counted in decoder rows, the unit in which the search knows what it has done; parsing and the description of
levels are counted as so many rows as they take the time of.  How long a row takes is learnt from what is finished.
Open requests share the machine fairly, so another one delays a request by no more than the request's own work: that is
the estimate of a wait.  Estimates are compared with the rows that were taken, so that they are right on the average.
All of it runs in the event loop.
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
GOLDEN = 0.618
"""The golden ratio, whose multiples fall evenly between whole numbers."""
MOST_EXCESS = 4.0
"""How many times its estimate a request can take without being an exception."""
MOST_ROWS = 64_000.0
"""What one request may ask for: 32 texts of 400 bytes with a beam of five."""


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

    def __init__(self, patience: float = 0.75, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self._clock = patience, clock
        self._open: set[Ticket] = set()
        self._since = 0.0
        self._rows, self._seconds = 1.0, FIRST_PACE  # of late; what is older counts less
        self._excess = 1.0
        self._promised = 0.0  # until when those who were refused have been told to come back
        self.refused = 0

    @property
    def pace(self) -> float:
        """Seconds that a row of an estimate takes, while there is work."""
        return self._excess * self._seconds / self._rows

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
        """Let a request in; `Busy`, with the seconds after which there is room, where it would wait too long.

        Those who are refused are told times one after the other, as far apart as their work takes: a crowd that comes
        back as it was told finds room, instead of coming back all at once.
        """
        delay, now = self.wait(rows), self._clock()
        if delay > self.patience:
            self.refused += 1
            self._promised = max(self._promised, now + delay - self.patience / 2) + rows * self.pace
            longest = now + LONGEST_RETRY
            if self._promised > longest:  # who would have to wait longer comes at any time before, not all at the end
                self._promised = longest
                retry = math.ceil(LONGEST_RETRY * (1 - (self.refused * GOLDEN % 1) / 2))
            else:
                retry = max(1, math.ceil(self._promised - now))
            raise Busy("too many requests are waiting", remedy=f"ask again in {retry} s", retry_after=retry)
        if not self._open:
            self._since = now
        ticket = Ticket(self, rows)
        self._open.add(ticket)
        return ticket

    def forget(self, ticket: Ticket, finished: bool) -> None:
        """A request has left."""
        if ticket not in self._open:
            return
        self._open.discard(ticket)
        done = ticket.rows if ticket.done is None else ticket.done
        if finished and done:  # what needed no search says nothing of its pace
            now = self._clock()
            self._rows = MEMORY * self._rows + done
            self._seconds = MEMORY * self._seconds + now - self._since
            self._since = now
            # Each request counts once, however hard it was: it is the ordinary ones that estimates are for.
            self._excess = MEMORY * self._excess + (1 - MEMORY) * min(MOST_EXCESS, done / ticket.rows)
