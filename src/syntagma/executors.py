"""Executors: this process, several processes, or a Ray cluster.  Each gives the results in the order of the jobs.

A piece of work is a callable that can be pickled and is called with one job at a time; what it loads it keeps between
jobs.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from typing import Any, TypeVar

from syntagma.errors import ConfigError, MissingExtra, SyntagmaError
from syntagma.process import keep_freed_memory

Job = TypeVar("Job")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: the stage, what is done of it, of how much (None: unknown), and what earlier runs had done."""

    stage: str
    done: float
    total: float | None
    before: float = 0


Watch = Callable[[Progress], None]


def usable_cores() -> int:
    """The cores that this process may run on, which may be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(executor: str, work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Iterator[Result]:
    """The results of the jobs."""
    if executor == "ray":
        return run_ray(work, jobs, workers)
    if executor != "local":
        raise ConfigError(f"there is no executor {executor!r}", remedy="use local or ray")
    return run_here(work, jobs) if workers == 1 else run_processes(work, jobs, workers)


def run_here(work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
    """Run the jobs in this process, one after the other."""
    with _threads_restored():
        for job in jobs:
            yield work(job)


@contextmanager
def _threads_restored() -> Iterator[None]:
    """Restore the number of threads afterwards: a parser runs with one."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else None
    try:
        yield
    finally:
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(before or os.cpu_count() or 1)


def run_processes(work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Iterator[Result]:
    """Run the jobs in fresh processes; at most two jobs for each are in memory."""
    context = get_context("spawn")
    waiting: deque[Future[Result]] = deque()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(work,))
    try:
        for job in jobs:
            waiting.append(pool.submit(_do, job))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        what = "a worker process died, for want of memory perhaps"
        raise SyntagmaError(what, remedy="run the same command again to go on, with fewer workers") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_work: Callable[[Any], Any] | None = None


def _start(work: Callable[[Any], Any]) -> None:
    global _work
    _work = work
    keep_freed_memory()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["OMP_NUM_THREADS"] = "1"
    if "torch" in sys.modules:  # which has read that variable already, if the work came with it
        sys.modules["torch"].set_num_threads(1)
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # Ctrl-C reaches all; only the parent speaks
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when its parent is killed; otherwise it would wait for jobs for ever."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _do(job: Any) -> Any:
    assert _work is not None
    return _work(job)


@contextmanager
def session(executor: str, workers: int) -> Iterator[None]:
    """Start what an executor needs for a run: for `ray`, the cluster that RAY_ADDRESS names, or a Ray of its own."""
    if executor != "ray":
        yield
        return
    ray = _ray()
    own = not ray.is_initialized()
    if own:
        local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **local)
    try:
        yield
    finally:
        if own:
            ray.shutdown()


def _ray() -> Any:
    try:
        import ray  # type: ignore[import-not-found, unused-ignore]
        import ray.data  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise MissingExtra("ray", "ray", "the executor ray") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    return ray


def run_ray(work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Iterator[Result]:
    """Run the jobs in actors of Ray Data, inside a `session`.

    The jobs themselves are held in memory: hand over names of files, on storage that every machine sees, not what is in
    them.
    """
    ray = _ray()
    packed = [{"number": number, "job": pickle.dumps(job)} for number, job in enumerate(jobs)]
    if not packed:
        return
    ray.data.DataContext.get_current().enable_progress_bars = False
    data = ray.data.from_items(packed, override_num_blocks=len(packed)).map_batches(
        _Actor,
        fn_constructor_args=(pickle.dumps(work),),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )
    yield from _in_order(data.iter_rows())


def _in_order(rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    early: dict[int, Any] = {}
    following = 0
    for row in rows:
        result = pickle.loads(row["result"])
        if isinstance(result, SyntagmaError):
            raise result
        early[row["number"]] = result
        while following in early:
            yield early.pop(following)
            following += 1


class _Actor:
    """A Ray actor: it has the work, and so the parser, as long as it lives."""

    def __init__(self, work: bytes) -> None:
        self.work = pickle.loads(work)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        results = []
        for job in batch["job"]:
            try:
                results.append(pickle.dumps(self.work(pickle.loads(job))))
            except SyntagmaError as error:
                results.append(pickle.dumps(error))
        return {"number": batch["number"], "result": results}
