"""`syntagma generate`: text from a model, with its structure."""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from syntagma.cli.common import Device, Precision, option
from syntagma.cli.settings import (
    derived_flags,
    read_settings,
    settings_command,
    settings_option,
    split_settings,
    with_flags,
)
from syntagma.settings import Settings, setting

if TYPE_CHECKING:
    from syntagma.cli.output import Target
    from syntagma.errors import SyntagmaError
    from syntagma.search import Generator, Output, Steering
    from syntagma.search.steered import Text


_SEARCH_OPTIONS = "syntagma.search.options:SearchOptions"
_STEERED = "syntagma.search.steered:SteeredText"
SETTINGS = (_SEARCH_OPTIONS, "syntagma.cli.generate:GenerateSettings")
_TEXTS, _SEARCH, _STEERING, _OUTPUT, _MACHINE = PANELS = "Texts", "Search", "Steering", "Output", "Machine"
_NOTES_SHOWN = 3
"""Lines for which a note is shown; of the others that have it their number is."""


@dataclass(frozen=True)
class GenerateSettings(Settings):
    """How texts are read and results made, apart from the search."""

    jsonl: bool | None = None
    """Whether each line is a JSON object: "source", and its own "template", "must" and so on; by the name if none."""
    templates: str | None = None
    """A file with a template for each text, a line each; an empty line is none."""
    exemplars: str | None = None
    """A file with an exemplar for each text, a line each; an empty line is none."""
    exemplar: str | None = None
    """A sentence whose shape to follow."""
    exemplar_depth: int | None = setting(None, ge=1)
    """How deep the exemplar's shape counts."""
    control: Literal["soft", "hard"] | None = None
    """Favour the template's shape (soft, as where none is given), or guarantee it (hard)."""
    must_not: tuple[str, ...] = ()
    """Words that must not appear."""
    explain: str | None = None
    """A page to write that shows why, for one text."""
    profile: bool = False
    """Say on stderr where the time went."""
    batch_size: int | Literal["auto"] = setting("auto", ge=1)
    """Texts searched at once."""
    executor: str = "local"
    """Where the work is done: local, or ray (extra: ray)."""
    workers: int | None = setting(None, ge=1)
    """Processes, or Ray actors; if none 1, and all cores for a file of many lines."""
    threads: int | None = setting(None, ge=1)
    """CPU threads; if none one a process."""


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    kind, flags = command_parts()
    for name, help in (("generate", generate.__doc__ or ""), ("paraphrase", _PARAPHRASE)):
        app.command(name, cls=kind)(with_flags(generate, flags, PANELS, "paraphrase-en", help))


def command_parts() -> tuple[Any, list[inspect.Parameter]]:
    """The class of a command that generates, and the flags that it has beside its own parameters."""
    flags = [
        *derived_flags(_SEARCH_OPTIONS, _SEARCH, {"beam": "the model's, 5"}),
        *derived_flags(_STEERED, _STEERING, dict.fromkeys(("template", "start", "must"), False)),
    ]
    return settings_command(*SETTINGS, former="--search", flags=[_STEERED]), flags


_PARAPHRASE = """Say English texts in other words: `generate` with the bundled paraphrase model.

Example: syntagma paraphrase --nbest 5 --trace "It seems like he has made a mistake."
"""


def generate(
    model: Annotated[str, option(_SEARCH, "A bundled model's name, a model folder, or a hub id.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Texts; without any, -i is read. And settings, key=value.", show_default=False),
    ] = None,
    source: Annotated[
        str,
        option(
            _TEXTS, "A file of texts, one a line, or of JSON lines (also gzip); - is standard input.", "-i", "--input"
        ),
    ] = "-",
    nbest: Annotated[int, option(_SEARCH, "How many hypotheses to print for each text.", min=1)] = 1,
    search: Annotated[
        str | None, option(_SEARCH, "A named setting of the search: paper.", show_default="the model's")
    ] = None,
    settings: Annotated[bool, settings_option(_SEARCH, *SETTINGS)] = False,
    trace: Annotated[bool, option(_OUTPUT, "Show every level with its scores.", "--trace")] = False,
    as_json: Annotated[bool, option(_OUTPUT, "One JSON object a text.", "--json")] = False,
    out: Annotated[Path | None, option(_OUTPUT, "Write here instead of standard output.")] = None,
    resume: Annotated[bool, option(_OUTPUT, "Go on where an interrupted run with --out stopped.", "--resume")] = False,
    overwrite: Annotated[
        bool, option(_OUTPUT, "Replace what is under --out, once the run is over.", "--overwrite")
    ] = False,
    device: Device = "auto",
    precision: Precision = None,
    **given: Any,
) -> None:
    """Generate a text for each source; see its structure with --trace, steer it with --template and --start.

    Example: syntagma generate --model DIR --beam 5 --nbest 5 "It seems like he has made a mistake."

    Example: syntagma generate --model DIR --search paper -i sources.txt --out outputs.txt alpha=0.5 workers=2
    """
    from syntagma.cli.output import check_finished, check_target, target
    from syntagma.files import scan_lines
    from syntagma.search.options import named

    finished = check_target(out, resume, overwrite)
    texts, arguments = split_settings(texts or [], *SETTINGS)
    options, values = read_settings(arguments, *SETTINGS)
    chosen = GenerateSettings.from_dict(values)
    base = None if search is None else named(search)
    asked = {name: value for name, value in given.items() if value is not None}
    if "beam" in asked:
        options["beam"] = asked.pop("beam")
    for name in ("exemplar", "exemplar_depth", "control", "must_not"):
        if value := getattr(chosen, name):
            asked[name] = value
    if not options.get("sample") and options.keys() & {"temperature", "top_p", "seed"}:
        raise typer.BadParameter("temperature, top_p and seed are for samples: give sample=true as well")
    if chosen.explain is not None:
        options["split"] = False
    from syntagma.search import Generator
    from syntagma.search.batches import AUTO
    from syntagma.stopwatch import Stopwatch

    batch = AUTO if chosen.batch_size == "auto" else chosen.batch_size
    generator = Generator.from_pretrained(model, device=device, precision=precision, threads=chosen.threads)
    if base is not None:
        generator.defaults = base
    steering = generator.steering(**asked)
    how = generator.defaults.for_texts(nbest, options)
    generator.check_options(how)
    jsonl = chosen.jsonl
    if jsonl is None:
        jsonl = not texts and source.endswith((".jsonl", ".jsonl.gz"))
    given_lines: Iterator[str | SyntagmaError] = iter(texts) if texts else scan_lines(source)
    lines = _steered(given_lines, jsonl, chosen, asked)
    workers = chosen.workers
    if workers is None:
        alone = chosen.profile or chosen.executor != "local" or chosen.threads is not None
        alone = alone or bool(texts) or not Path(source).is_file()
        workers, lines = (1, lines) if alone else _workers(lines, device)
    run: dict[str, Any] = {} if out is None else {
        "model": _fingerprint(model), "search": how.to_dict(), "steering": asked, "nbest": nbest,
        "trace": trace, "json": as_json, "precision": precision,
    }  # fmt: skip
    if finished and out is not None:
        failed = check_finished(out, run, lines)
        print(f"syntagma: {out} is finished already; --overwrite makes it anew", file=sys.stderr)
        raise typer.Exit(int(failed > 0))
    watch = Stopwatch()

    def search_all(sources: Iterator[Text]) -> Iterator[list[Output] | SyntagmaError]:
        if chosen.explain is not None:
            return _explain(generator, list(sources), steering, how.to_dict(), Path(chosen.explain))
        if chosen.executor == "local" and workers == 1:
            return generator.stream(sources, steering=steering, options=how, batch=batch, nbest=nbest, watch=watch)
        from syntagma.search.parallel import SearchWork, parallel

        work = SearchWork(model, how.to_dict(), asked, batch, nbest, device, precision)
        return parallel(work, sources, chosen.executor, workers)

    with target(out, run, resume, overwrite) as records, _progress(texts, source, out) as advance:
        failed = _write(records, lines, search_all, _Printer(nbest, trace, as_json), advance)
    if chosen.profile:
        for line in watch.report(getattr(generator.runtime, "seconds", None)).splitlines():
            print(f"syntagma: {line}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _write(
    records: Target,
    lines: Iterator[Text],
    search: Callable[[Iterator[Text]], Iterator[list[Output] | SyntagmaError]],
    printer: _Printer,
    advance: Callable[[int], None],
) -> int:
    """Write a record for each line that has none yet, with notes and errors on stderr; how many lines failed."""
    failed = records.failed
    advance(records.done)
    pending: deque[Text] = deque()
    notes = Counter[str]()

    def remembered() -> Iterator[Text]:
        for line in records.rest(lines):
            pending.append(line)
            yield line

    for number, result in enumerate(search(remembered()), 1):
        text = pending.popleft()
        if number <= records.done:
            continue
        records.write(text, printer.record(text, result), not isinstance(result, list))
        advance(1)
        if not isinstance(result, list):
            failed += 1
            where = "" if result.place.line else f"line {number}: "
            print(f"syntagma: {where}{result}", file=sys.stderr)
        elif result and (note := result[0].note):
            notes[note] += 1
            if notes[note] <= _NOTES_SHOWN:
                print(f"syntagma: line {number}: {note}", file=sys.stderr)
    for note, count in notes.items():
        if count > _NOTES_SHOWN:
            print(f"syntagma: {count - _NOTES_SHOWN} more lines: {note}", file=sys.stderr)
    return failed


def _explain(
    generator: Generator,
    texts: list[Text],
    steering: Steering,
    options: dict[str, Any],
    page: Path,
) -> Iterator[list[Output] | SyntagmaError]:
    """Write the page that explains the search for one text, and give its outputs."""
    from syntagma.errors import ConfigError, SyntagmaError
    from syntagma.files import atomic_write
    from syntagma.search.explain import explain
    from syntagma.search.steered import SteeredText

    if len(texts) != 1 or isinstance(texts[0], SyntagmaError):
        raise ConfigError("explain= is for one text", remedy="give it as the argument")
    text = texts[0]
    if isinstance(text, SteeredText):
        steering, text = generator.steering(**text.steering()), text.source
    explanation = explain(generator, text, steering, **options)
    with atomic_write(page) as stream:
        stream.write(explanation.to_html())
    yield list(explanation.outputs)


def _steered(
    lines: Iterator[str | SyntagmaError], jsonl: bool, chosen: GenerateSettings, general: dict[str, Any]
) -> Iterator[Text]:
    """The lines as texts, with the steering that they or the lines of another file carry."""
    from syntagma.errors import ConfigError
    from syntagma.files import scan_lines
    from syntagma.search.steered import pair_lines, read_json_lines

    templates, exemplars = chosen.templates, chosen.exemplars
    if jsonl + (templates is not None) + (exemplars is not None) > 1:
        what = "JSON lines, templates= and exemplars= each say how a line is steered"
        raise ConfigError(what, remedy="give one of them")
    general = {name: value for name, value in general.items() if (name, value) != ("control", "soft")}
    if jsonl:
        return read_json_lines(lines, general)
    if templates is not None:
        return pair_lines(lines, "template", scan_lines(templates), general, templates)
    if exemplars is not None:
        return pair_lines(lines, "exemplar", scan_lines(exemplars), general, exemplars)
    return lines


def _workers(lines: Iterator[Text], device: str) -> tuple[int, Iterator[Text]]:
    """As many processes as pay off for a file, and its lines, of which no more is read than it takes to know."""
    import os

    from syntagma.search.parallel import CHUNK, processes_for

    head = list(islice(lines, 2 * CHUNK * (os.cpu_count() or 1)))
    return processes_for(len(head), device), chain(head, lines)


def _fingerprint(model: str) -> str:
    from syntagma.hub import find_folder, hash_folder

    return hash_folder(find_folder(model, "model", "model"))


def _progress(texts: list[str], source: str, out: Path | None) -> AbstractContextManager[Callable[[int], None]]:
    """A bar on stderr where the results are not to be seen."""
    from syntagma.cli.common import count_lines, progress

    if texts or (out is None and sys.stdout.isatty()):
        return nullcontext(lambda done: None)
    return progress("texts", lambda: count_lines(source))


class _Printer:
    """How results are written: a record for each source."""

    def __init__(self, nbest: int, trace: bool, as_json: bool) -> None:
        self.nbest, self.trace, self.as_json = nbest, trace, as_json

    def record(self, source: Text, result: list[Output] | SyntagmaError) -> str:
        """The record of one source."""
        outputs = result[: self.nbest] if isinstance(result, list) else []
        if self.as_json:
            steering: dict[str, Any] = getattr(source, "steering", dict)()
            values: dict[str, Any] = {
                "source": source if isinstance(source, str) else getattr(source, "source", None),
                "hypotheses": [self._values(output) for output in outputs],
                **({"steering": steering} if steering else {}),
            }
            if not isinstance(result, list):
                values["error"] = str(result)
            return json.dumps(values, ensure_ascii=False) + "\n"
        if self.nbest == 1 and not self.trace:
            return (_flat(outputs[0].text) if outputs else "") + "\n"
        return "".join(self._block(output) + "\n" for output in outputs) + "\n"

    def _values(self, output: Output) -> dict[str, Any]:
        trace = {"trace": [level.to_dict() for level in output.trace]} if self.trace else {}
        return output.to_dict() | trace

    def _block(self, output: Output) -> str:
        if not self.trace:
            return _flat(output.text)
        from syntagma.cli.common import colour
        from syntagma.search.show import draw_trace

        return f"{_flat(output.text)}\n{draw_trace(output, colour())}"


def _flat(text: str) -> str:
    """Text on one line: line breaks, which only an untrained model writes, become spaces."""
    return " ".join(text.splitlines())
