"""`syntagma export`: a trained model to share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


class WeightKind(StrEnum):
    """How an export keeps its weights."""

    float32 = "float32"
    float16 = "float16"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("export")(export)


def export(
    model: Annotated[str, typer.Option(help="A bundled model's name, a model folder, or a hub id.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it must not exist yet.")],
    weights: Annotated[WeightKind, typer.Option(help="float32, or float16: half the size.")] = WeightKind.float16,
    search: Annotated[
        list[str] | None, typer.Option(help="key=value: how the model is searched unless told otherwise; repeat it.")
    ] = None,
    words: Annotated[
        list[Path] | None,
        typer.Option(
            help="Texts whose words the model knows (for known_words_only): a prepared corpus, or a file of texts."
        ),
    ] = None,
    card: Annotated[Path | None, typer.Option(help="A model card to put in the place of the run's.")] = None,
) -> None:
    """Write a model folder for sharing: half-size weights, search settings, a list of known words, a card."""
    from syntagma.files import make_whole

    with make_whole(out) as folder:
        dtype: Literal["float32", "float16"] = "float32" if weights is WeightKind.float32 else "float16"
        _to_folder(model, folder, dtype, search or [], words or [], card)
    print(f"syntagma: the model is in {out}", file=sys.stderr)


def _to_folder(
    model: str,
    out: Path,
    dtype: Literal["float32", "float16"],
    search: list[str],
    words: list[Path],
    card: Path | None,
) -> None:
    from syntagma.config import parse_overrides, read_mapping
    from syntagma.errors import ConfigError
    from syntagma.files import read_lines
    from syntagma.hub import find_folder
    from syntagma.network.storage import copy_folder, from_pretrained, save_pretrained
    from syntagma.search.options import SearchOptions, renamed
    from syntagma.text.lexicon import Lexicon

    folder = find_folder(model, "model", "model")
    values = read_mapping(folder / "config.json")
    about = dict(values.get("about", {}))
    about["search"] = {**renamed(about.get("search", {})), **renamed(parse_overrides(search), warn=True)}
    options = SearchOptions.from_dict(about["search"])
    text = "\n".join(read_lines(card or folder / "README.md")) + "\n"
    if "backbone" in values:  # which may be adapters whose base is elsewhere
        if words or options.known_words_only:
            raise ConfigError("a backbone has no list of words", remedy="leave out --words and known_words_only")
        copy_folder(folder, out, text, about, dtype)
        return
    loaded = from_pretrained(folder)
    known = Lexicon.of(_texts(words)) if words else loaded.words
    if options.known_words_only and known is None:
        raise ConfigError("known_words_only needs the words that the model knows", remedy="give --words")
    save_pretrained(out, loaded.network, loaded.subwords, text, about=about, dtype=dtype, words=known)


def _texts(paths: list[Path]) -> Iterator[str]:
    """The lines of files, and the training targets of prepared corpora."""
    from syntagma.corpus.store import Corpus
    from syntagma.files import read_lines

    for path in paths:
        yield from Corpus.open(path).split("train").targets() if path.is_dir() else read_lines(path)
