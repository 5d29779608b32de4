"""`syntagma export`: a trained model to share, or for another engine."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from syntagma.cli.common import AsJson, report


class EngineKind(StrEnum):
    """The engines that models are exported for."""

    torch = "torch"
    ctranslate2 = "ctranslate2"


class WeightKind(StrEnum):
    """How an export keeps its weights."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("export")(export)


def export(
    model: Annotated[str, typer.Option(help="A bundled model's name, a model folder, or a hub id.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it must not exist yet.")],
    engine: Annotated[
        EngineKind, typer.Option(help="torch: a model folder with chosen search settings; or CTranslate2.")
    ] = EngineKind.torch,
    weights: Annotated[
        WeightKind | None,
        typer.Option(
            help="float32, float16 (torch: half the size), int8 (ctranslate2: a quarter).", show_default=False
        ),
    ] = None,
    search: Annotated[
        list[str] | None, typer.Option(help="key=value: how the model is searched unless told otherwise; repeat it.")
    ] = None,
    words: Annotated[
        list[Path] | None,
        typer.Option(
            help="Texts whose words the model knows, for --search coin=false: a prepared corpus, or a file of texts."
        ),
    ] = None,
    card: Annotated[Path | None, typer.Option(help="A model card to put in the place of the run's.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model folder for sharing (half-size weights, search settings, a card), or for CTranslate2.

    CTranslate2 takes concat and seq2seq models and BART-style backbones; `generate --engine ctranslate2` runs them.
    """
    from syntagma.errors import ConfigError
    from syntagma.files import make_whole

    if engine is EngineKind.ctranslate2:
        if weights is WeightKind.float16 or search or card or words:
            raise ConfigError("CTranslate2 takes float32 or int8 weights only", remedy="leave out what is torch's")
        _to_ctranslate2(model, out, "int8" if weights is WeightKind.int8 else "float32")
    else:
        if weights is WeightKind.int8:
            raise ConfigError(
                "a model folder holds float32 or float16", remedy="quantise as you run it: generate --int8"
            )
        with make_whole(out) as folder:
            dtype: Literal["float32", "float16"] = "float32" if weights is WeightKind.float32 else "float16"
            _to_folder(model, folder, dtype, search or [], words or [], card)
    report(as_json, f"the model for {engine.value} is in {out}", model=str(out), engine=engine.value)


def _to_ctranslate2(model: str, out: Path, weights: Literal["float32", "int8"]) -> None:
    from syntagma.backbone.ctranslate2 import export as run
    from syntagma.backbone.storage import from_pretrained

    loaded = from_pretrained(model)
    run(out, loaded.network, loaded.subwords, loaded.about, weights, loaded.words)


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
    from syntagma.search.options import SearchOptions
    from syntagma.text.lexicon import Lexicon

    folder = find_folder(model, "model", "model")
    values = read_mapping(folder / "config.json")
    if "engine" in values:
        raise ConfigError(f"{model!r} is an export already", remedy="copy its folder as it is")
    about = dict(values.get("about", {}))
    about["search"] = {**about.get("search", {}), **parse_overrides(search)}
    options = SearchOptions.from_dict(about["search"])
    text = "\n".join(read_lines(card or folder / "README.md")) + "\n"
    if "backbone" in values:  # which may be adapters whose base is elsewhere
        if words or not options.coin:
            raise ConfigError("a backbone has no list of words", remedy="leave out --words and coin=false")
        copy_folder(folder, out, text, about, dtype)
        return
    loaded = from_pretrained(folder)
    known = Lexicon.of(_texts(words)) if words else loaded.words
    if not options.coin and known is None:
        raise ConfigError("coin=false needs the words that the model knows", remedy="give --words")
    save_pretrained(out, loaded.network, loaded.subwords, text, about=about, dtype=dtype, words=known)


def _texts(paths: list[Path]) -> Iterator[str]:
    """The lines of files, and the training targets of prepared corpora."""
    from syntagma.corpus.store import Corpus
    from syntagma.files import read_lines

    for path in paths:
        yield from Corpus.open(path).split("train").targets() if path.is_dir() else read_lines(path)
