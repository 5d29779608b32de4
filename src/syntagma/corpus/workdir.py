"""The folder that a corpus is made in: which run owns it, and what may be removed from it.

While a corpus is being made, `work/options.json` says with which options; when it is complete, `corpus.json` does.  A
folder that holds anything else is never touched.  What holds for a corpus holds for every other `Product` that is made
in pieces.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from syntagma.corpus.options import CorpusOptions
from syntagma.errors import ConfigError, Place, SyntagmaError
from syntagma.files import atomic_write
from syntagma.settings import Settings

WORK: Final = "work"


@dataclass(frozen=True, slots=True)
class Product:
    """The product of a run: its name, the file that is written last, its other files, and its options."""

    name: str
    facts: str
    files: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], Settings]


CORPUS: Final = Product(
    "corpus",
    "corpus.json",
    ("pairs-*.parquet", "ids-*.arrow", "rejects.jsonl", "tokenizer.json"),
    CorpusOptions.from_dict,
)


class StaleWork(ConfigError):
    """Earlier work that does not fit what is asked for now."""


def make_or_resume(
    folder: Path, options: Settings, overwrite: bool, make: Callable[[], None], product: Product = CORPUS
) -> None:
    """Call `make` in a folder that is ours, unless all is there; with `overwrite`, anew where old work does not fit."""
    if claim(folder, options, overwrite, product):
        return
    try:
        make()
    except StaleWork:
        if not overwrite:
            raise
        remove(folder, product)
        claim(folder, options, overwrite, product)
        make()


def claim(folder: Path, options: Settings, overwrite: bool, product: Product = CORPUS) -> bool:
    """Make the folder ours; whether the product is there already."""
    if (folder / WORK / "removing").exists():
        remove(folder, product)
    begun = _begun_with(folder, product)
    if begun is None and not _is_free(folder):
        what = f"it holds something else than a {product.name}"
        raise ConfigError(what, Place(str(folder)), "give --out a new or empty folder")
    complete = (folder / product.facts).exists()
    if begun is not None and begun != options and not overwrite and (complete or _has_work(folder)):
        changed = "; ".join(begun.differences(options))
        what = f"this {product.name} was begun with other options ({changed})"
        raise StaleWork(what, Place(str(folder)), "give another --out, or --overwrite to start anew")
    if begun == options and not (complete and overwrite):
        if complete:
            shutil.rmtree(folder / WORK, ignore_errors=True)  # the last run may have been killed at its very end
        else:
            _sweep(folder)
        return complete
    if begun is not None:
        remove(folder, product)
    with atomic_write(folder / WORK / "options.json") as stream:
        json.dump(options.to_dict(), stream, ensure_ascii=False, indent=1)
    return False


def remove(folder: Path, product: Product = CORPUS) -> None:
    """Remove a product, finished or not, and nothing else; a removal that is killed is ended by the next run."""
    (folder / WORK).mkdir(exist_ok=True)
    (folder / WORK / "removing").touch()
    (folder / product.facts).unlink(missing_ok=True)
    for pattern in (*product.files, ".*.part"):
        for path in folder.glob(pattern):
            path.unlink()
    for path in (folder / WORK).iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "removing":
            path.unlink()
    shutil.rmtree(folder / WORK)


def _begun_with(folder: Path, product: Product) -> Settings | None:
    for path in (folder / product.facts, folder / WORK / "options.json"):
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return product.read(values["options"] if path.name == product.facts else values)
        except OSError:
            continue
        except (ValueError, KeyError, TypeError, SyntagmaError):
            what = f"it holds a {product.name} that this program cannot read"
            raise ConfigError(what, Place(str(folder)), "give another --out") from None
    return None


def _is_free(folder: Path) -> bool:
    """Whether the folder is empty, or was left by a run that was killed before it had done anything."""
    inside = list(folder.iterdir())
    work = folder / WORK
    return not inside or (inside == [work] and work.is_dir() and all(path.suffix == ".part" for path in work.iterdir()))


def _has_work(folder: Path) -> bool:
    return any((folder / WORK).glob("chunk-*.json"))


def _sweep(folder: Path) -> None:
    """Remove the unfinished files of a run that was killed."""
    work = folder / WORK
    for path in (*folder.glob(".*.part"), *work.glob(".*.part"), *work.glob("spool-*")):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
