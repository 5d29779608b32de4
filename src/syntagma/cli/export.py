"""`syntagma export`: a trained model to share, with the graphs that run it without torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import AsJson, option, report
from syntagma.cli.settings import settings_command, settings_option

if TYPE_CHECKING:
    from syntagma.network.purpose import Purpose


_SETTINGS = "syntagma.search.options:SearchOptions"
_MODEL, _ABOUT = "The model", "Model card"


class PrecisionKind(StrEnum):
    """How an export keeps its weights."""

    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("export", cls=settings_command(_SETTINGS, former="--search"))(export)


def export(
    model: Annotated[str, option(_MODEL, "A bundled model's name, a model folder, or a hub id.")],
    out: Annotated[Path, option(_MODEL, "The folder to write; it must not exist yet.")],
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE", help="How the model is searched unless told otherwise.", show_default=False
        ),
    ] = None,
    precision: Annotated[
        PrecisionKind | None,
        option(_MODEL, "fp32, fp16 (half the size), int8 (a quarter).", show_default="as it is, at most fp16"),
    ] = None,
    words: Annotated[
        list[Path] | None,
        option(_MODEL, "Texts whose words the model knows (for known_words_only): a prepared corpus, or a file."),
    ] = None,
    settings: Annotated[bool, settings_option(_MODEL, _SETTINGS)] = False,
    card: Annotated[Path | None, option(_ABOUT, "A model card to put in the place of the run's.")] = None,
    task: Annotated[
        str | None, option(_ABOUT, "What the model is for: paraphrase or translate.", show_default="as it was")
    ] = None,
    source_language: Annotated[
        str | None, option(_ABOUT, "The code of the language that it reads, such as de.", show_default="as it was")
    ] = None,
    target_language: Annotated[
        str | None, option(_ABOUT, "The code of the language that it writes.", show_default="as it was")
    ] = None,
    as_json: AsJson = False,
    weights: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Write a model folder for sharing: small weights, graphs for ONNX Runtime, search settings, a card.

    A folder of an older format is brought up to this one.

    Example: syntagma export --model run --out my-model --precision int8 --words corpus beam=5 known_words_only=true
    """
    from syntagma.files import atomic_folder
    from syntagma.network.purpose import Purpose

    purpose = Purpose(task, source_language, target_language).checked()
    with atomic_folder(out) as folder:
        _write(model, folder, _former(weights) if weights else precision, given or [], words or [], card, purpose)
    report(as_json, f"the model is in {out}", model=str(out))


def _former(weights: str) -> PrecisionKind:
    """The precision that the former option `--weights` means."""
    from syntagma.errors import ConfigError

    names = {"float32": PrecisionKind.fp32, "float16": PrecisionKind.fp16, "int8": PrecisionKind.int8}
    if weights not in names:
        raise ConfigError(f"{weights!r} is no precision", remedy="give --precision fp32, fp16 or int8")
    print(f"syntagma: --weights {weights} is now --precision {names[weights]}", file=sys.stderr)
    return names[weights]


def _write(
    model: str,
    out: Path,
    precision: PrecisionKind | None,
    search: list[str],
    words: list[Path],
    card: Path | None,
    purpose: Purpose,
) -> None:
    from syntagma.aliases import renamed
    from syntagma.errors import ConfigError
    from syntagma.files import read_lines
    from syntagma.network.export import export_backbone, export_network
    from syntagma.network.folder import ModelFolder
    from syntagma.search.options import SearchOptions
    from syntagma.settings import parse_overrides
    from syntagma.text.lexicon import Lexicon

    folder = ModelFolder.open(model)
    if "engine" in folder.values:
        raise ConfigError(f"{model!r} is an export for another engine", remedy="export the model that it was made from")
    about: dict[str, Any] = {**folder.purpose.to_dict(), **folder.about, **purpose.to_dict()}
    about["search"] = renamed("SearchOptions", about.get("search", {})) | renamed(
        "SearchOptions", parse_overrides(search), warn=True
    )
    options = SearchOptions.from_dict(about["search"])
    text = "\n".join(read_lines(card or folder.path / "README.md")) + "\n"
    if not folder.is_native:  # a backbone, which may be adapters whose base is elsewhere
        if words or options.known_words_only:
            raise ConfigError("a backbone has no list of words", remedy="leave out --words and known_words_only")
        export_backbone(folder, out, text, about, precision)
        return
    known = Lexicon.of(_texts(words)) if words else folder.words
    if options.known_words_only and known is None:
        raise ConfigError("known_words_only needs the words that the model knows", remedy="give --words")
    export_network(folder, out, text, about, precision, known)


def _texts(paths: list[Path]) -> Iterator[str]:
    """The lines of files, and the training targets of prepared corpora."""
    from syntagma.corpus.store import Corpus
    from syntagma.files import read_lines

    for path in paths:
        yield from Corpus.open(path).split("train").targets() if path.is_dir() else read_lines(path)
