"""`syntagma translate`: `generate` with the bundled model that translates from one language to another."""

from __future__ import annotations

import inspect
import json
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import option
from syntagma.cli.generate import PANELS, SETTINGS, command_parts, generate
from syntagma.cli.settings import split_settings, with_flags

if TYPE_CHECKING:
    from syntagma.network.purpose import Purpose

_LANGUAGES = "Languages"
_SAMPLE = 100
"""Lines that are looked at to guess their language, at most."""
_HOW = "docs/translation.md"


def register(app: typer.Typer) -> None:
    """Add the command of this file to `app`."""
    kind, flags = command_parts()
    panels = (PANELS[0], _LANGUAGES, *PANELS[1:])
    languages = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in (("source_language", _From), ("target_language", _To))
    ]
    app.command("translate", cls=kind)(with_flags(_translate, [*languages, *flags], panels, None, _HELP))


_HELP = """Translate texts with the bundled model for their languages; a model of your own with --model.

Example: syntagma translate "Er scheint einen Fehler gemacht zu haben."

Example: syntagma translate --from de --to en -i german.txt --out english.txt
"""
_From = Annotated[
    str | None,
    option(_LANGUAGES, "The code of the texts' language, such as de.", "--from", show_default="guessed, and said"),
]
_To = Annotated[
    str | None, option(_LANGUAGES, "The code of the language to translate into.", "--to", show_default="the model's")
]


@wraps(generate)
def _translate(source_language: str | None, target_language: str | None, model: str | None, **given: Any) -> None:
    """Generate with the model for the languages, or with the one that is named."""
    origin, goal = _code(source_language, "--from"), _code(target_language, "--to")
    sample = [] if origin else _sample(given["texts"], given["source"])
    if model is None:
        model = _choose(origin, goal, sample)
    else:
        _check(model, origin, goal, sample)
    generate(model=model, **given)


def _code(language: str | None, flag: str) -> str | None:
    """The code of a language without its region: `zh` for `zh-TW`."""
    from syntagma.errors import ConfigError

    if language is None:
        return None
    code = re.split("[-_]", language.strip().lower())[0]
    if not re.fullmatch("[a-z]{2,3}", code):
        raise ConfigError(f"{flag} {language!r} is no code of a language", remedy="give one such as de, en or zh")
    return code


def _check(model: str, source: str | None, target: str | None, sample: Sequence[str]) -> None:
    """Refuse languages that are not those of a model that is named; warn of texts that look like another."""
    from syntagma.errors import ConfigError
    from syntagma.hub import find_folder
    from syntagma.network.purpose import Purpose
    from syntagma.settings import read_mapping
    from syntagma.text.language import guess_language

    folder = find_folder(model, "model", "model")
    purpose = Purpose.of(read_mapping(folder / "config.json").get("about", {}), folder.resolve().name)
    requested = {"--from": (source, purpose.source_language), "--to": (target, purpose.target_language)}
    for flag, (wanted, known) in requested.items():
        if wanted and known and wanted != known:
            what = f"the model {model} translates {_direction(purpose)}, but {flag} is {wanted}"
            raise ConfigError(what, remedy="leave out --model, or the language")
    guessed = guess_language(sample)
    if guessed and purpose.source_language and guessed != purpose.source_language:
        note = f"the text looks like {_name(guessed)}, but the model {model} reads {_name(purpose.source_language)}"
        print(f"syntagma: {note}; --from {purpose.source_language} says that it is right", file=sys.stderr)


def _choose(source: str | None, target: str | None, sample: Sequence[str]) -> str:
    """The bundled model for a direction, or for what the texts look like, which is said."""
    from syntagma.errors import ConfigError
    from syntagma.network.purpose import bundled_purposes
    from syntagma.text.language import guess_language

    models = bundled_purposes("translate")
    fitting = {name: model for name, model in models.items() if target in (None, model.target_language)}
    sources = [model.source_language or "" for model in fitting.values()]
    guessed = None if source else guess_language(sample) or (guess_language(sample, sources) if sources else None)
    wanted = source or guessed
    chosen = [name for name, model in fitting.items() if wanted in (None, model.source_language)]
    if not chosen:
        if guessed and guessed in (target, *(model.target_language for model in models.values() if not target)):
            what = f"the text looks like {_name(guessed)} already"
            raise ConfigError(what, remedy="say its language with --from, or another one to translate into with --to")
        raise ConfigError(*_missing(wanted, target, guessed is not None, models))
    name = chosen[0]
    if source is None:
        known = f"the text looks like {_name(guessed)}" if guessed else "the text's language is not clear"
        note = f"{known}: {name} translates it {_direction(models[name])}"
        print(f"syntagma: {note} (--from says another language)", file=sys.stderr)
    return name


def _missing(
    source: str | None, target: str | None, guessed: bool, models: Mapping[str, Purpose]
) -> tuple[str, None, str]:
    """The error where no bundled model translates in a direction: the fact, no place, and the recipe for one."""
    direction = " ".join(f"{word} {_name(code)}" for word, code in (("from", source), ("to", target)) if code)
    known = ", ".join(f"{name} ({_direction(model)})" for name, model in models.items())
    if source and source == target:
        return f"both languages are {_name(source)}", None, "use `syntagma paraphrase` for English"
    seen = f"the text looks like {_name(source)}, and " if guessed else ""
    recipes = Path(__file__).parents[1] / "recipes"
    recipe = f"small-{source or 'en'}-{target or 'en'}"
    if (recipes / f"{recipe}.yaml").is_file():
        made = f"`syntagma reproduce {recipe} --data DIR` trains one ({_HOW})"
    else:
        made = f"train one of your own pairs with the recipe translate-small ({_HOW})"
    remedy = f"{made}, which --model takes; bundled are: {known}"
    return (
        f"{seen}no bundled model translates {direction}",
        None,
        f"say --from if it is not, or {remedy}" if seen else remedy,
    )


def _direction(purpose: Purpose) -> str:
    """The direction in words: `from German to English`."""
    return f"from {_name(purpose.source_language)} to {_name(purpose.target_language)}"


def _name(code: str | None) -> str:
    from syntagma.text.language import NAMES

    return NAMES.get(code or "", f"the language {code!r}" if code else "a language that nobody named")


def _sample(given: Sequence[str] | None, source: str) -> list[str]:
    """Texts to guess the language by; none of a pipe that has a name, which can be read only once."""
    texts, settings = split_settings(list(given or ()), *SETTINGS)
    if texts:
        lines = list(texts)
    elif source == "-":
        lines = _peek().splitlines()
    elif Path(source).is_file():
        from syntagma.errors import SyntagmaError
        from syntagma.files import scan_lines

        try:
            lines = [line for line in islice(scan_lines(source), _SAMPLE) if isinstance(line, str)]
        except SyntagmaError:  # whoever reads all of it will say so
            lines = []
    else:
        lines = []
    named = not texts and source.endswith((".jsonl", ".jsonl.gz")) and "jsonl=false" not in settings
    is_json = named or "jsonl=true" in settings
    return [_source(line) for line in lines] if is_json else lines


def _peek() -> str:
    """The text that standard input has ready; it stays there."""
    peek = getattr(getattr(sys.stdin, "buffer", None), "peek", None)
    head: bytes = peek(1) if peek else b""
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head)
        except zlib.error:  # whoever reads all of it will say so
            return ""
    return head.decode("utf-8", errors="ignore")


def _source(line: str) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return str(value.get("source", "")) if isinstance(value, dict) else ""
