"""`syntagma serve`: the HTTP service and the studio page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from syntagma.cli.common import Device, Precision, option


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("serve")(serve)


def serve(
    model: Annotated[
        list[str] | None,
        option("Models", "A bundled model's name or a model folder; repeat it.", show_default="all bundled"),
    ] = None,
    host: Annotated[str, option("Address", "The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Address", "The port; 0 takes a free one.", min=0, max=65535)] = 8000,
    token: Annotated[
        str | None,
        option("Address", "What clients must show; needed beyond loopback.", envvar="SYNTAGMA_TOKEN"),
    ] = None,
    token_file: Annotated[
        Path | None,
        option("Address", "A file with the token, so that it stands in no command line."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("Address", "A further name of this service, such as a proxy's; repeat it."),
    ] = None,
    root_path: Annotated[
        str,
        option("Address", "The path under which a proxy serves it, such as /syntagma.", show_default="none"),
    ] = "",
    compare: Annotated[
        Path | None,
        option("Experiments", "A blind comparison: JSON lines of a source and two systems' outputs."),
    ] = None,
    control_task: Annotated[
        Path | None,
        option("Experiments", "An experiment on partial control, /control: what `control-task` wrote."),
    ] = None,
    votes: Annotated[Path, option("Experiments", "Where votes, edits and judgements are kept.")] = Path("votes.sqlite"),
    questions: Annotated[
        Path | None,
        option(
            "Experiments",
            'What voters are asked: JSON lines {"name": ..., "text": ...}.',
            show_default="the paper's questions",
        ),
    ] = None,
    ties: Annotated[bool, option("Experiments", "Let voters answer that there is no difference.")] = True,
    batch_size: Annotated[int, option("Load", "Texts searched at once.", min=1)] = 32,
    queue: Annotated[int, option("Load", "Texts that may wait; beyond, 503 is answered.", min=1)] = 128,
    seconds: Annotated[float, option("Load", "The time limit of a request.")] = 30.0,
    patience: Annotated[
        float,
        option("Load", "Seconds a request may wait for others; who would wait longer gets 503 at once."),
    ] = 0.75,
    drain: Annotated[
        float,
        option("Load", "Seconds after a signal for a proxy to see it: /readyz and new requests get 503."),
    ] = 0.0,
    log_level: Annotated[str, option("Load", "error, warning, info (a line for each request) or debug.")] = "warning",
    threads: Annotated[
        int | None,
        option("Machine", "CPU threads of a model.", min=1, show_default="one for small models"),
    ] = None,
    device: Device = "auto",
    precision: Precision = None,
) -> None:
    """Serve models over HTTP, with a page to watch sentences grow and to change them.

    Example: syntagma serve --model DIR --port 8000, then open http://127.0.0.1:8000/
    """
    from syntagma.errors import MissingExtra

    try:
        from syntagma.serve.run import ServeSettings
        from syntagma.serve.run import serve as run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("syntagma"):
            raise
        raise MissingExtra(error.name, "serve", "the service") from None
    run(
        ServeSettings(
            models=tuple(model or ()),
            host=host,
            port=port,
            token=token if token_file is None else _read_token(token_file, token),
            hosts=tuple(allow_host or ()),
            root_path=root_path.rstrip("/"),
            compare=None if compare is None else str(compare),
            control_task=None if control_task is None else str(control_task),
            votes=str(votes),
            questions=None if questions is None else str(questions),
            ties=ties,
            batch=batch_size,
            queue=queue,
            seconds=seconds,
            patience=patience,
            drain=drain,
            log_level=log_level,
            threads=threads,
            device=device,
            precision=precision,
        )
    )


def _read_token(file: Path, given: str | None) -> str:
    """The token that a file holds."""
    from syntagma.errors import ConfigError

    if given is not None:
        raise ConfigError("a token and a token file are both given", remedy="give one of them")
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"the token file {file} cannot be read", remedy="give a text file with the token") from None
