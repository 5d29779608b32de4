"""Who is let in: every request's work is estimated, and who would wait too long is refused at once, not later.

Work is estimated from the bytes of a request's texts and how wide it searches; how many seconds that takes is learnt
for each kind of request, from those that are finished.  Open requests share the machine equally, as the search has
them do: of every second with n requests each gets 1/n.  Heavy requests together get as much as ordinary ones.  So
another request delays a new one by no more than the new one's own work, and all heavy ones by no more than it takes
without them.  Whatever estimates miss, such as other programs, is learnt as `caution`: how many times longer than was
expected 19 of 20 ordinary requests take at most.  The door is shut while somebody inside is late; who is late all the
same, because of others, is refused before anybody gives up waiting.  All of it runs in the event loop.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType

from syntagma.serve.worker import Busy

LEAST_BYTES = 20
PARSED_BYTE = 0.15
"""What a byte takes to be parsed, where to be searched for it takes 1 for each place."""
ORDINARY = 200.0
"""The size of a sentence of seven words as the model usually searches."""
USUAL = 5.0
"""The places that a model's usual search counts for, however wide it is."""
HEAVY = 2_000.0
"""The size from which a request is heavy: who asks for so much knows that it takes longer."""
LARGEST = 64_000.0
"""What one request may ask for: 32 texts of 400 bytes as the model usually searches."""
FIRST_COST = 1e-3
"""Seconds of a unit of size, before anything is known of this machine."""
MEMORY, MOST_EXCESS = 0.9, 4.0
"""How much of a cost is what it was before a request; how many times its estimate a request counts at most."""
LEAST_REST = 1 / 3
"""How much of its estimate an open request is expected to take still, however much it has had."""
ANSWER, LATE, OWN_SHARE = 1.2, 2.4, 3.0
"""How many times the patience an ordinary request is expected to take in all at most, and takes before it is refused;
it gets in any case so many times what it takes alone."""
MORE_CAREFUL, LESS_CAREFUL = 1.3, 0.9863
"""Nineteen requests that are in time weigh as much as one that is late."""
MOST_CAUTION = 8.0
HALF_LIFE = 10.0
"""Seconds after which caution is half forgotten where nothing ordinary is finished: those whom it keeps out cannot tell
that it is not needed any more."""
LONGEST_RETRY = 30
GOLDEN = 0.618
"""The golden ratio, whose multiples fall evenly between whole numbers."""


def search_size(texts: Sequence[str], share: float = 1.0) -> float:
    """The size of searches for texts, so many times as wide as the model usually searches.

    >>> search_size(["It seems like he has made a mistake."]), search_size(["It seems like he has made a mistake."], 2)
    (180.0, 360.0)
    """
    return USUAL * share * _size(texts)


def parse_size(texts: Sequence[str]) -> float:
    """The size of parsing texts."""
    return PARSED_BYTE * _size(texts)


def _size(texts: Sequence[str]) -> int:
    return sum(max(LEAST_BYTES, len(text.encode("utf-8", "replace"))) for text in texts)


class Ticket:
    """A request that was let in; it counts until it leaves."""

    def __init__(self, admission: Admission, kind: str, size: float, heavy: bool) -> None:
        self.admission, self.kind, self.size, self.heavy = admission, kind, size, heavy
        self.begun = admission.clock()
        self.work = admission.cost(kind) * size
        """The seconds of the machine that it is expected to take."""
        self.expected = 0.0
        """The seconds after which it is expected to be finished."""
        self.had = 0.0
        """The seconds of the machine that it has had."""
        self.idle = 0.0
        """Seconds for which it waited for its client."""
        self.is_late = False
        self.searched = True
        """Whether it takes a search; what needs none says nothing of what searching costs."""

    def __enter__(self) -> Ticket:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(finished=kind is None)

    @property
    def elapsed(self) -> float:
        """Seconds since it came, without those for which it waited for its client."""
        return self.admission.clock() - self.begun - self.idle

    @property
    def rest(self) -> float:
        """The seconds of the machine that it is expected to take still."""
        return max(self.work - self.had, LEAST_REST * self.work)

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

    @asynccontextmanager
    async def in_time(self) -> AsyncIterator[None]:
        """Refuse the request where it is late because of others."""
        loop = asyncio.get_running_loop()

        def check() -> None:
            if not self.heavy and self.admission.open > 1:
                self.is_late = True
                limit.reschedule(loop.time())

        try:
            async with asyncio.timeout(None) as limit:
                timer = loop.call_later(max(LATE * self.admission.patience, OWN_SHARE * self.work), check)
                try:
                    yield
                finally:
                    timer.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            raise self.admission.refusal(self.kind, self.size) from None

    def leave(self, finished: bool = True) -> None:
        """Count no longer; what was `finished` says how fast this machine is."""
        self.admission.forget(self, finished)


class Admission:
    """The open requests of a service and what they are expected to take."""

    def __init__(self, patience: float = 0.75, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience, self.clock = patience, clock
        self._costs: dict[str, float] = {}
        self._open: set[Ticket] = set()
        self._working: set[Ticket] = set()  # without those whose clients are waited for
        self._shared = clock()  # until when time was shared out
        self._last_caution = 1.0
        self._judged = 0.0  # when the caution was changed last
        self._promised = 0.0  # until when those who were refused have been told to come back
        self.refused = 0
        self.shut = False
        """Whether nobody is let in any more."""

    # -- what things take

    def cost(self, kind: str) -> float:
        """Seconds that a unit of size takes for a kind of request."""
        return self._costs.get(kind, max(self._costs.values(), default=FIRST_COST))

    def learn(self, kind: str, cost: float) -> None:
        """Begin with a cost that was measured."""
        self._costs[kind] = cost

    @property
    def open(self) -> int:
        """How many requests are being worked on."""
        return len(self._open)

    @property
    def caution(self) -> float:
        """How many times longer than expected 19 of 20 ordinary requests take at most."""
        return 1.0 + (self._last_caution - 1.0) * math.exp2(-(self.clock() - self._judged) / HALF_LIFE)

    def _share_out(self) -> None:
        """Give the time that has passed to those who were worked for."""
        now = self.clock()
        passed, self._shared = now - self._shared, now
        ordinary = [ticket for ticket in self._working if not ticket.heavy]
        heavy = [ticket for ticket in self._working if ticket.heavy]
        for sharing in (ordinary, heavy):
            for ticket in sharing:
                ticket.had += passed / len(sharing) / (2 if ordinary and heavy else 1)

    def delay(self, work: float, heavy: bool = False) -> float:
        """The seconds by which what is open delays a request of so much work."""
        self._share_out()
        by_ordinary = sum(min(work, ticket.rest) for ticket in self._open if not ticket.heavy)
        by_heavy = sum(min(work, ticket.rest) for ticket in self._open if ticket.heavy)
        if not heavy:
            by_heavy = min(by_heavy, work + by_ordinary)
        return self._slowness() * (by_ordinary + by_heavy)

    def _slowness(self) -> float:
        """How many times slower than it was the machine is, by what open requests have had without being finished."""
        ordinary = [ticket for ticket in self._open if not ticket.heavy]  # of which more is known
        thought = sum(ticket.work for ticket in ordinary)
        return max(1.0, sum(ticket.had for ticket in ordinary) / thought) if thought else 1.0

    # -- the door

    def has_room_for(self, kind: str, size: float, heavy: bool = False) -> bool:
        """Whether a request would be let in; one who is alone, or alone among heavy ones, always is."""
        if not self._open or (not heavy and all(ticket.heavy for ticket in self._open)):
            return True
        if any(ticket.elapsed > ANSWER * self.patience for ticket in self._working if not ticket.heavy):
            return False
        work, caution = self.cost(kind) * size, self.caution
        delay = self.delay(work, heavy)
        in_all = delay if heavy else delay + work
        return caution * delay <= self.patience and caution * in_all <= ANSWER * self.patience

    def has_room(self) -> bool:
        """Whether an ordinary request of any kind would be let in."""
        return all(self.has_room_for(kind, ORDINARY) for kind in self._costs or [""])

    def enter(self, kind: str, size: float, heavy: bool = False) -> Ticket:
        """Let a request in; `Busy`, with the seconds after which there is room, where it would wait too long."""
        if self.shut:
            raise Busy("the service is stopping", remedy="ask again in a moment")
        heavy = heavy or size > HEAVY
        if not self.has_room_for(kind, size, heavy):
            raise self.refusal(kind, size)
        ticket = Ticket(self, kind, size, heavy)
        ticket.expected = self.delay(ticket.work, heavy) + ticket.work
        self._open.add(ticket)
        self._working.add(ticket)
        return ticket

    def refusal(self, kind: str, size: float) -> Busy:
        """The refusal of a request.

        Those who are refused are told times one after the other, as far apart as their work takes: a crowd that comes
        back as it was told finds room, instead of coming back all at once.
        """
        self.refused += 1
        now, work = self.clock(), self.cost(kind) * min(size, HEAVY)
        soonest = now + max(0.0, self.delay(work) - self.patience / 2)
        self._promised = max(self._promised, soonest) + work
        longest = now + LONGEST_RETRY
        if self._promised > longest:  # who would have to wait longer comes at any time before, not all at the end
            self._promised = longest
            retry = math.ceil(LONGEST_RETRY * (1 - (self.refused * GOLDEN % 1) / 2))
        else:
            retry = max(1, math.ceil(self._promised - now))
        return Busy("too many requests are waiting", remedy=f"ask again in {retry} s", retry_after=retry)

    def pause(self, ticket: Ticket) -> None:
        """Nothing is done for a request until its client has taken what it was sent."""
        self._share_out()
        self._working.discard(ticket)

    def resume(self, ticket: Ticket) -> None:
        """Work goes on."""
        self._share_out()
        if ticket in self._open:
            self._working.add(ticket)

    def forget(self, ticket: Ticket, finished: bool) -> None:
        """A request has left; one that is finished, or was late, says what such requests take."""
        if ticket not in self._open:
            return
        self._share_out()
        self._open.discard(ticket)
        self._working.discard(ticket)
        late_already = ticket.is_late and ticket.had > ticket.work
        if not ticket.searched or not (finished or late_already):
            return
        before = self.cost(ticket.kind)
        now = min(ticket.had / ticket.size, MOST_EXCESS * before)
        self._costs[ticket.kind] = MEMORY * before + (1 - MEMORY) * now
        if not ticket.heavy:
            caution = self.caution
            late = ticket.is_late or ticket.elapsed > caution * ticket.expected
            caution *= MORE_CAREFUL if late else LESS_CAREFUL
            self._last_caution, self._judged = min(MOST_CAUTION, max(1.0, caution)), self.clock()
