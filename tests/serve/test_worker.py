from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from search_models import TEXTS
from serve_models import growing_generator
from syntagma.errors import ConfigError
from syntagma.search import Steering
from syntagma.search.request import SearchRequest
from syntagma.serve.worker import MANY, Busy, SearchFailed, Worker

GENERATOR = growing_generator()
SOURCES = [*TEXTS, "an apple", "I didn't", "He can't have an apple, didn't he?", "<NP>", "a mistake"]


def request(text: str, number: int = 0, beam: int = 3) -> SearchRequest:
    return GENERATOR.request(number, text, Steering(), GENERATOR.defaults.changed({"beam": beam}))


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not what():
            await asyncio.sleep(0.005)


def gated(worker: Worker) -> threading.Event:
    """Let the worker step its scheduler only while the gate is open."""
    gate, step = threading.Event(), worker._scheduler.step

    def wait_and_step() -> list[SearchRequest]:
        gate.wait(30)
        return step()

    worker._scheduler.step = wait_and_step  # type: ignore[method-assign]
    return gate


@pytest.mark.parametrize("batch", [1, 3, 32])
def test_answers_are_those_of_each_text_alone(batch: int) -> None:
    async def ask() -> list[list[str]]:
        worker = Worker(GENERATOR, batch=batch)
        worker.start()
        asked = [request(text, beam=1 + at % 4) for at, text in enumerate(SOURCES)]
        found = await asyncio.gather(*(worker.search([one]) for one in asked))
        worker.stop()
        assert (worker.finished, worker.alive, worker.waiting) == (len(SOURCES), 0, 0)
        outputs = [GENERATOR.outputs(done, Steering()) for (done,) in found if isinstance(done, SearchRequest)]
        return [[output.text for output in some] for some in outputs if isinstance(some, list)]

    alone = [[output.text for output in GENERATOR(text, beam=1 + at % 4)] for at, text in enumerate(SOURCES)]
    assert asyncio.run(ask()) == alone


def test_who_leaves_frees_the_place() -> None:
    async def ask() -> None:
        worker = Worker(GENERATOR, batch=1)
        gate = gated(worker)
        worker.start()
        inside = asyncio.create_task(worker.search([request(TEXTS[0])]))
        await until(lambda: worker.alive == 1)
        queued = asyncio.create_task(worker.search([request(TEXTS[1])]))
        await until(lambda: worker.waiting == 1)
        for task in (inside, queued):
            task.cancel()
        await asyncio.gather(inside, queued, return_exceptions=True)
        assert worker.waiting == 0
        last = asyncio.create_task(worker.search([request(TEXTS[2])]))
        gate.set()
        (done,) = await last
        assert isinstance(done, SearchRequest)
        assert (worker.finished, worker.withdrawn, worker.alive) == (1, 2, 0)
        worker.stop()

    asyncio.run(ask())


def test_a_full_queue_refuses_at_once_and_a_stop_finishes_what_was_begun() -> None:
    async def ask() -> None:
        worker = Worker(GENERATOR, batch=1, queue=1)
        gate = gated(worker)
        worker.start()
        inside = asyncio.create_task(worker.search([request(TEXTS[0])]))
        await until(lambda: worker.alive == 1)
        queued = asyncio.create_task(worker.search([request(text) for text in TEXTS]))
        await until(lambda: worker.waiting == 3)
        with pytest.raises(Busy, match="too many"):
            await worker.search([request(TEXTS[2])])
        stopping = asyncio.create_task(asyncio.to_thread(worker.stop))
        await until(lambda: worker._stopping)
        with pytest.raises(Busy, match="stopping"):
            await worker.search([request(TEXTS[2])])
        gate.set()
        await stopping
        assert all(isinstance(done, SearchRequest) for done in [*(await inside), *(await queued)])

    asyncio.run(ask())


def test_one_call_leaves_places_for_others() -> None:
    async def ask() -> None:
        worker = Worker(GENERATOR, batch=4)
        gate = gated(worker)
        worker.start()
        many = asyncio.create_task(worker.search([request(text) for text in SOURCES]))
        await until(lambda: worker.alive == 2)
        other = asyncio.create_task(worker.search([request(TEXTS[0])]))
        await until(lambda: worker.waiting == len(SOURCES) - 1)
        gate.set()
        await other
        assert worker.waiting
        await many
        worker.stop()

    asyncio.run(ask())


def test_the_texts_of_a_call_with_many_take_turns_as_one() -> None:
    async def ask() -> None:
        worker = Worker(GENERATOR, batch=32)
        many, few = [request(TEXTS[0]) for _ in range(MANY + 1)], [request(TEXTS[1]) for _ in range(2)]
        worker.put(many)
        worker.put(few)
        assert len({one.call for one in many}) == 1
        assert [one.call for one in few] == [None, None]
        scheduler = worker.generator.scheduler(fair=True)
        scheduler.add([*many, *few])
        scheduler.step()
        assert [lane is None for _, lane in scheduler._lanes] == [False, True]

    asyncio.run(ask())


@pytest.mark.parametrize(("error", "expected"), [(ValueError("x"), SearchFailed), (ConfigError("x"), ConfigError)])
def test_what_breaks_the_scheduler_fails_alone(error: Exception, expected: type[Exception]) -> None:
    def break_down(_: SearchRequest) -> None:
        raise error

    async def ask() -> None:
        worker = Worker(GENERATOR)
        gate = gated(worker)
        worker.start()
        asked = [request(text) for text in SOURCES]
        asked[2].on_level = break_down
        task = asyncio.create_task(worker.search(asked))
        await until(lambda: worker.alive == len(SOURCES))
        gate.set()
        found = await task
        assert isinstance(found[2], expected)
        for text, done in zip(SOURCES, found, strict=True):
            if isinstance(done, SearchRequest):
                outputs = GENERATOR.outputs(done, Steering())
                assert isinstance(outputs, list)
                assert outputs[0].text == GENERATOR(text)[0].text
        assert sum(isinstance(done, SearchRequest) for done in found) == len(SOURCES) - 1
        (again,) = await worker.search([request(TEXTS[0])])
        assert isinstance(again, SearchRequest)
        worker.stop()

    asyncio.run(ask())
