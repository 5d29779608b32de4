"""Many texts searched at once, their results in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from syntagma.errors import SyntagmaError
from syntagma.search.document import Document
from syntagma.search.options import SearchOptions
from syntagma.search.request import SearchRequest
from syntagma.search.result import Output
from syntagma.search.scheduler import Scheduler
from syntagma.search.steering import Steering

if TYPE_CHECKING:
    from syntagma.search.generator import Generator


def in_order(
    generator: Generator,
    scheduler: Scheduler,
    texts: Iterable[tuple[str, Steering | SyntagmaError]],
    options: SearchOptions,
    nbest: int,
) -> Iterator[list[Output] | SyntagmaError]:
    """The outputs of each text, which comes with its steering, or what was wrong with it."""
    begun: dict[int, tuple[Document, Steering]] = {}
    ready: dict[int, list[Output] | SyntagmaError] = {}

    def requests() -> Iterator[SearchRequest]:
        for number, (text, steering) in enumerate(texts):
            try:
                if isinstance(steering, SyntagmaError):
                    raise steering
                document = generator.document(number, text, steering, options, nbest)
                if document.requests:
                    begun[number] = document, steering
                    yield from document.requests
                else:
                    ready[number] = document.answer
            except SyntagmaError as error:
                ready[number] = error

    following = 0
    for request in scheduler.run(requests()):
        if begun[request.number][0].has_finished(request):
            ready[request.number] = generator.document_outputs(*begun.pop(request.number))
        while following in ready:
            yield ready.pop(following)
            following += 1
    while following in ready:
        yield ready.pop(following)
        following += 1
