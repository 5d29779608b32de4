"""Starting and stopping the service: where it may listen, and what it says when it does."""

from __future__ import annotations

import contextlib
import logging
import re
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from syntagma.errors import ConfigError
from syntagma.serve.app import make_app
from syntagma.serve.compare import VoteStore, VotingSession, read_items
from syntagma.serve.control import ControlStore, ControlTask, read_task
from syntagma.serve.middleware import Rules, is_loopback
from syntagma.serve.models import load_bundled_parser, load_models
from syntagma.serve.protocol import PromptProtocol
from syntagma.serve.questions import QUESTIONS, read_questions
from syntagma.serve.service import Service
from syntagma.settings import Settings

SWITCH = 0.001
"""Seconds after which a search gives way to the event loop, which would wait five times as long after every call."""
SHORTEST_TOKEN = 8
LOG_LEVELS = ("error", "warning", "info", "debug")
"""With `info` every request has a line: its id, method, path, status and seconds."""


@dataclass(frozen=True)
class ServeSettings(Settings):
    """How to serve."""

    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    hosts: tuple[str, ...] = ()
    """Further names by which the service is known, such as that of a proxy before it."""
    compare: str | None = None
    control_task: str | None = None
    votes: str = "votes.sqlite"
    questions: str | None = None
    """A file of the comparison's questions; those of the paper unless given."""
    ties: bool = True
    """Whether voters may see no difference."""
    batch: int = 32
    queue: int = 128
    seconds: float = 30.0
    patience: float = 0.75
    """Seconds that a request may wait for others; who would wait longer is refused at once."""
    threads: int | None = None
    device: str = "auto"
    precision: str | None = None
    drain: float = 0.0
    """Seconds after a signal in which it finishes what it has begun, answers new requests with 503 and Retry-After, and
    says on /readyz that it stops, so that a proxy can see it."""
    log_level: str = "warning"
    root_path: str = ""
    """The path under which a proxy serves it, such as /syntagma; empty where it has a host of its own."""

    def __post_init__(self) -> None:
        for name in ("batch", "queue"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name!r} cannot be {getattr(self, name)}", remedy="give a number of at least 1")
        if not 0 < self.seconds <= 3600:
            raise ConfigError(f"a time limit of {self.seconds} s makes no sense", remedy="give up to 3600 seconds")
        if not 0 < self.patience <= self.seconds:
            raise ConfigError(f"a patience of {self.patience} s makes no sense", remedy="give less than --seconds")
        if not 0 <= self.drain <= 3600:
            raise ConfigError(f"draining for {self.drain} s makes no sense", remedy="give up to 3600 seconds")
        if self.log_level not in LOG_LEVELS:
            raise ConfigError(f"there is no log level {self.log_level!r}", remedy=f"use {', '.join(LOG_LEVELS)}")
        if self.root_path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", self.root_path):
            raise ConfigError(f"{self.root_path!r} is no path to serve under", remedy="give one such as /syntagma")
        if self.token is None and not is_loopback(self.host):
            raise ConfigError(
                f"{self.host} can be reached from other machines, and there is no token",
                remedy="give one with --token or SYNTAGMA_TOKEN, or listen on 127.0.0.1",
            )
        if self.token is not None and not (
            len(self.token) >= SHORTEST_TOKEN and self.token.isascii() and self.token.isprintable()
        ):
            raise ConfigError(
                f"the token is no row of at least {SHORTEST_TOKEN} plain characters", remedy="give a longer one"
            )
        if self.token is not None and " " in self.token:
            raise ConfigError("the token holds a space", remedy="leave it out")


def serve(settings: ServeSettings) -> None:
    """Serve until a signal comes; then finish what was begun."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="syntagma: %(message)s")
    logging.getLogger("syntagma").setLevel(settings.log_level.upper())
    sys.setswitchinterval(SWITCH)
    with _listen(settings.host, settings.port) as listener:
        comparison = None
        if settings.compare is not None:
            questions = QUESTIONS if settings.questions is None else read_questions(Path(settings.questions))
            items, store = read_items(Path(settings.compare)), VoteStore(Path(settings.votes))
            comparison = VotingSession(items, store, questions, ties=settings.ties)
        control = None
        if settings.control_task is not None:
            control = ControlTask(read_task(Path(settings.control_task)), ControlStore(Path(settings.votes)))
        models = load_models(
            settings.models,
            batch=settings.batch,
            queue=settings.queue,
            threads=settings.threads,
            device=settings.device,
            precision=settings.precision,
        )
        rules = Rules(
            settings.token,
            is_loopback(settings.host),
            frozenset(host.lower() for host in settings.hosts),
            seconds=settings.seconds,
            patience=settings.patience,
            root_path=settings.root_path,
        )
        service = Service(models, parser=load_bundled_parser(), comparison=comparison, control=control, rules=rules)
        service.warm_up()
        config = uvicorn.Config(
            make_app(service),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            http=PromptProtocol,
            lifespan="on",
            timeout_graceful_shutdown=int(settings.seconds) + 5,
        )
        Server(config, service, settings.drain).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"it cannot listen on {host} port {port} ({reason})", remedy="choose another") from None


class Server(uvicorn.Server):
    """uvicorn's server, which says where it is, and ends in peace when it is told to."""

    def __init__(self, config: uvicorn.Config, service: Service, drain: float = 0.0) -> None:
        super().__init__(config)
        self.service, self.drain = service, drain

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        """Start, and tell the address."""
        await super().startup(sockets=list(sockets) if sockets else None)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            name = f"[{host}]" if ":" in host else host
            names = ", ".join(self.service.models)
            with contextlib.suppress(OSError):  # nobody reads it
                root = self.service.rules.root_path
                print(f"syntagma: serving {names} at http://{name}:{port}{root}/", file=sys.stderr, flush=True)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first signal after finishing what was begun, at a second SIGINT at once."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        draining = self.service.stopping
        self.service.drain()
        if self.drain and not draining:
            timer = threading.Timer(self.drain, self._exit)
            timer.daemon = True
            timer.start()
        else:
            self._exit()

    def _exit(self) -> None:
        self.should_exit = True
