"""Who is let in: every request's work is estimated, and who would wait too long is refused at once, not later.

Work is counted in decoder rows, the unit in which the search knows what it has done; parsing and the description of
levels are counted as so many rows as they take the time of.  How long a row takes is learnt from what is finished, and
seen at once where nothing is finished for longer than that.  Open requests share the machine fairly, so another one
delays a request by no more than the request's own work: that is the estimate of a wait.  Estimates are compared with
the rows that were taken, so that they are right on the average; and the time that an ordinary request was expected to
take with the time it took, so that nine of ten are right (`caution`): what else the machine does counts as well.
All of it runs in the event loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
LARGEST_ORDINARY = 600.0
"""What counts of a request's own work when it is let in: who asks for more knows that it takes longer."""
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
ANSWER = 1.6
"""How many times the patience an ordinary request is expected to take in all."""
MORE_CAREFUL, LESS_CAREFUL = 1.25, 0.975
"""Nine requests that are in time weigh as much as one that is late."""
MOST_CAUTION = 8.0
HALF_LIFE = 10.0
"""Seconds after which caution is half forgotten where nothing ordinary is finished: those whom it keeps out cannot tell
that it is not needed any more."""


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

    def __init__(self, admission: Admission, rows: float, begun: float, expected: float) -> None:
        self.admission, self.rows = admission, rows
        self.begun, self.expected = begun, expected
        self.done: float | None = None
        """The rows that it took, where they are known by now."""
        self.idle = 0.0
        """Seconds for which it waited for its client."""

    def __enter__(self) -> Ticket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(finished=kind is None)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While the client takes what it was sent, which says nothing of this machine."""
        begun = self.admission.clock()
        self.admission.pause(self)
        try:
            yield
        finally:
            self.admission.resume(self)
            self.idle += self.admission.clock() - begun

    def leave(self, finished: bool = True) -> None:
        """Count no longer; what was `finished` says how fast this machine is."""
        self.admission.forget(self, finished)


class Admission:
    """The open requests of a service and what they are expected to take."""

    def __init__(self, patience: float = 0.75, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self.clock = patience, clock
        self._open: set[Ticket] = set()
        self._working: set[Ticket] = set()  # without those whose clients are waited for
        self._since = self._worked = 0.0  # when the present spell of work began; seconds of those before it
        self._rows, self._seconds = 1.0, FIRST_PACE  # of late; what is older counts less
        self._excess = self._last_caution = 1.0
        self._judged = 0.0  # when the caution was changed last
        self._promised = 0.0  # until when those who were refused have been told to come back
        self.refused = 0

    @property
    def pace(self) -> float:
        """Seconds that a row of an estimate takes, while there is work."""
        learnt = self._excess * self._seconds / self._rows
        if not self._working:
            return learnt
        least = min(ticket.rows for ticket in self._working)
        # All share the machine, so that by then the smallest of them is finished.
        return max(learnt, self._spent() / sum(min(least, ticket.rows) for ticket in self._working))

    def _spent(self) -> float:
        """Seconds of work since a request was finished last."""
        return self._worked + (self.clock() - self._since if self._working else 0.0)

    def pause(self, ticket: Ticket) -> None:
        """Nothing is done for a request until its client has taken what it was sent."""
        self._worked = self._spent()
        self._since = self.clock()
        self._working.discard(ticket)

    def resume(self, ticket: Ticket) -> None:
        """Work goes on."""
        if ticket in self._open:
            self._work_on(ticket)

    def _work_on(self, ticket: Ticket) -> None:
        if not self._working:
            self._since = self.clock()
        self._working.add(ticket)

    def learn(self, rows: float, seconds: float) -> None:
        """Begin with a pace that was measured."""
        self._rows, self._seconds = rows, seconds

    @property
    def open(self) -> int:
        """How many requests are being worked on."""
        return len(self._open)

    def wait(self, rows: float) -> float:
        """The seconds by which what is open would delay a request of so many rows."""
        return self.pace * sum(min(rows, ticket.rows) for ticket in self._open)

    @property
    def caution(self) -> float:
        """How many times longer than expected nine of ten ordinary requests take at most."""
        return 1.0 + (self._last_caution - 1.0) * math.exp2(-(self.clock() - self._judged) / HALF_LIFE)

    def has_room_for(self, rows: float) -> bool:
        """Whether a request of so many rows would be let in; an idle service takes anything."""
        caution = self.caution
        delay, own = caution * self.wait(rows), caution * self.pace * min(rows, LARGEST_ORDINARY)
        return not self._open or (delay <= self.patience and delay + own <= ANSWER * self.patience)

    @property
    def has_room(self) -> bool:
        """Whether an ordinary request would be let in."""
        return self.has_room_for(ORDINARY_ROWS)

    def enter(self, rows: float) -> Ticket:
        """Let a request in; `Busy`, with the seconds after which there is room, where it would wait too long.

        Those who are refused are told times one after the other, as far apart as their work takes: a crowd that comes
        back as it was told finds room, instead of coming back all at once.
        """
        delay, now = self.wait(rows), self.clock()
        if not self.has_room_for(rows):
            self.refused += 1
            soonest = now + max(0.0, delay - self.patience / 2)
            self._promised = max(self._promised, soonest) + min(rows, LARGEST_ORDINARY) * self.pace
            longest = now + LONGEST_RETRY
            if self._promised > longest:  # who would have to wait longer comes at any time before, not all at the end
                self._promised = longest
                retry = math.ceil(LONGEST_RETRY * (1 - (self.refused * GOLDEN % 1) / 2))
            else:
                retry = max(1, math.ceil(self._promised - now))
            raise Busy("too many requests are waiting", remedy=f"ask again in {retry} s", retry_after=retry)
        ticket = Ticket(self, rows, now, delay + rows * self.pace)
        self._open.add(ticket)
        self._work_on(ticket)
        return ticket

    def forget(self, ticket: Ticket, finished: bool) -> None:
        """A request has left."""
        if ticket not in self._open:
            return
        spent, now = self._spent(), self.clock()
        self._open.discard(ticket)
        self._working.discard(ticket)
        done = ticket.rows if ticket.done is None else ticket.done
        if finished and done:  # what needed no search says nothing of its pace
            self._rows = MEMORY * self._rows + done
            self._seconds = MEMORY * self._seconds + spent
            self._worked, self._since = 0.0, now
            # Each request counts once, however hard it was: it is the ordinary ones that estimates are for.
            self._excess = MEMORY * self._excess + (1 - MEMORY) * min(MOST_EXCESS, done / ticket.rows)
            if max(done, ticket.rows) <= LARGEST_ORDINARY:
                caution = self.caution
                late = now - ticket.begun - ticket.idle > caution * ticket.expected
                caution *= MORE_CAREFUL if late else LESS_CAREFUL
                self._last_caution, self._judged = min(MOST_CAUTION, max(1.0, caution)), now
