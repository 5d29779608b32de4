"""`syntagma generate`: text from a model, with its structure."""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from syntagma.cli.common import Device, Precision, option
from syntagma.cli.settings import settings_command, settings_option

if TYPE_CHECKING:
    from syntagma.errors import SyntagmaError
    from syntagma.search import Generator, Output, SearchOptions, Steering
    from syntagma.search.steered import Text


_SETTINGS = "syntagma.search.options:SearchOptions"
_TEXTS, _SEARCH, _STEERING, _OUTPUT, _MACHINE = "Texts", "Search", "Steering", "Output", "Machine"
_NOTES_SHOWN = 3
"""Lines for which a note is shown; of the others that have it their number is."""


class ControlKind(StrEnum):
    """How a template is followed."""

    soft = "soft"
    hard = "hard"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    kind = settings_command(_SETTINGS, "--search")
    app.command("generate", cls=kind)(generate)
    app.command("paraphrase", cls=kind)(_with_model(_PARAPHRASE, "paraphrase-en"))


_PARAPHRASE = """Say English texts in other words: `generate` with the bundled paraphrase model.

Example: syntagma paraphrase --nbest 5 --trace "It seems like he has made a mistake."
"""


def _with_model(explained: str, model: str) -> Callable[..., None]:
    """`generate` with another default model."""
    signature = inspect.signature(generate, eval_str=True)
    parameters = [one.replace(default=model) if one.name == "model" else one for one in signature.parameters.values()]

    def command(**given: Any) -> None:
        generate(**given)

    command.__doc__ = explained
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def generate(
    texts: Annotated[
        list[str] | None, typer.Argument(help="Texts; without any, -i is read.", show_default=False)
    ] = None,
    source: Annotated[
        str, option(_TEXTS, "A file of texts, one a line (also gzip); - is standard input.", "-i", "--input")
    ] = "-",
    jsonl: Annotated[
        bool | None,
        option(
            _TEXTS,
            'Each line is a JSON object: "source", and its own "template", "exemplar", "must", ...',
            "--jsonl/--no-jsonl",
            show_default="by the name, .jsonl",
        ),
    ] = None,
    model: Annotated[str, option(_SEARCH, "A bundled model's name, a model folder, or a hub id.")] = "paraphrase-en",
    beam: Annotated[
        int | None, option(_SEARCH, "The beam's width; 1 is greedy.", min=1, show_default="the model's, 5")
    ] = None,
    nbest: Annotated[int, option(_SEARCH, "How many hypotheses to print for each text.", min=1)] = 1,
    sample: Annotated[bool, option(_SEARCH, "Draw hypotheses instead of searching.", "--sample")] = False,
    search: Annotated[
        list[str] | None,
        option(_SEARCH, "key=value: another setting of the search (see --settings); or a named one: paper. Repeat it."),
    ] = None,
    settings: Annotated[bool, settings_option(_SEARCH, _SETTINGS)] = False,
    template: Annotated[str | None, option(_STEERING, "The tree's shape, e.g. '(S (NP) (VP *))'.")] = None,
    exemplar: Annotated[str | None, option(_STEERING, "A sentence whose shape to follow.")] = None,
    templates: Annotated[
        str | None, option(_STEERING, "A file with a template for each text, a line each; an empty line is none.")
    ] = None,
    exemplars: Annotated[
        str | None, option(_STEERING, "A file with an exemplar for each text, a line each; an empty line is none.")
    ] = None,
    exemplar_depth: Annotated[int | None, option(_STEERING, "How deep the exemplar's shape counts.", min=1)] = None,
    control: Annotated[
        ControlKind, option(_STEERING, "Favour the template's shape, or guarantee it.")
    ] = ControlKind.soft,
    start: Annotated[str | None, option(_STEERING, "A context to grow from, e.g. '<NP> <VP> , right ?'.")] = None,
    must: Annotated[list[str] | None, option(_STEERING, "A word that must appear; repeat it for several.")] = None,
    must_not: Annotated[list[str] | None, option(_STEERING, "A word that must not appear; repeat it.")] = None,
    trace: Annotated[bool, option(_OUTPUT, "Show every level with its scores.", "--trace")] = False,
    explain: Annotated[Path | None, option(_OUTPUT, "Write a page here that shows why (one text only).")] = None,
    as_json: Annotated[bool, option(_OUTPUT, "One JSON object a text.", "--json")] = False,
    out: Annotated[Path | None, option(_OUTPUT, "Write here instead of standard output.")] = None,
    resume: Annotated[bool, option(_OUTPUT, "Go on where an interrupted run with --out stopped.", "--resume")] = False,
    overwrite: Annotated[
        bool, option(_OUTPUT, "Replace what is under --out, once the run is over.", "--overwrite")
    ] = False,
    batch_size: Annotated[str, option(_MACHINE, "Texts searched at once, or auto.")] = "auto",
    profile: Annotated[bool, option(_MACHINE, "Say on stderr where the time went.", "--profile")] = False,
    device: Device = "auto",
    precision: Precision = None,
    executor: Annotated[str, option(_MACHINE, "local, or ray (extra: ray).")] = "local",
    workers: Annotated[
        int | None,
        option(_MACHINE, "Processes, or Ray actors.", min=1, show_default="1; for a file of many lines all cores"),
    ] = None,
    threads: Annotated[int | None, option(_MACHINE, "CPU threads.", min=1, show_default="one a process")] = None,
) -> None:
    """Generate a text for each source; see its structure with --trace, steer it with --template and --start.

    Example: syntagma generate --model DIR --beam 5 --nbest 5 "It seems like he has made a mistake."

    Example: syntagma generate --model DIR --search paper --search alpha=0.5 -i sources.txt --out outputs.txt
    """
    from syntagma.cli.output import check_target, target
    from syntagma.files import scan_lines

    if check_target(out, resume, overwrite):
        print(f"syntagma: {out} is finished already; --overwrite makes it anew", file=sys.stderr)
        return
    base, options = _search_options(search or [])
    options |= {name: value for name, value in (("beam", beam), ("sample", sample or None)) if value is not None}
    if not options.get("sample") and options.keys() & {"temperature", "top_p", "seed"}:
        raise typer.BadParameter("temperature, top_p and seed are for samples: give --sample as well")
    if explain is not None:
        options["split"] = False
    from syntagma.search import Generator
    from syntagma.search.generator import AUTO
    from syntagma.stopwatch import Stopwatch

    batch = AUTO if batch_size == "auto" else _count(batch_size)
    generator = Generator.from_pretrained(model, device=device, precision=precision, threads=threads)
    if base is not None:
        generator.defaults = base
    asked: dict[str, Any] = {
        "template": template, "exemplar": exemplar, "exemplar_depth": exemplar_depth, "control": control.value,
        "start": start, "must": must or (), "must_not": must_not or (),
    }  # fmt: skip
    steering = generator.steering(**asked)
    chosen = generator.defaults.for_texts(nbest, options)
    if jsonl is None:
        jsonl = not texts and source.endswith((".jsonl", ".jsonl.gz"))
    given_lines: Iterator[str | SyntagmaError] = iter(texts) if texts else scan_lines(source)
    lines = _steered(given_lines, jsonl, templates, exemplars, asked)
    printer = _Printer(nbest, trace, as_json)
    if workers is None:
        alone = profile or executor != "local" or threads is not None or texts or not Path(source).is_file()
        workers, lines = (1, lines) if alone else _workers(lines, device)
    run = {
        "model": _fingerprint(model), "search": chosen.to_dict(), "steering": asked, "nbest": nbest,
        "trace": trace, "json": as_json,
    }  # fmt: skip
    seen: deque[Text] = deque()
    notes = Counter[str]()
    watch = Stopwatch()
    with target(out, run, resume, overwrite) as records, _progress(texts, source, out) as advance:
        failed = records.failed
        advance(records.done)

        def remembered() -> Iterator[Text]:
            for line in records.rest(lines):
                seen.append(line)
                yield line

        if explain is not None:
            results: Iterator[list[Output] | SyntagmaError] = _explain(
                generator, list(remembered()), steering, chosen.to_dict(), explain
            )
        elif executor == "local" and workers == 1:
            results = generator.stream(
                remembered(), steering=steering, options=chosen, batch=batch, nbest=nbest, watch=watch
            )
        else:
            from syntagma.search.parallel import SearchWork, parallel

            work = SearchWork(model, chosen.to_dict(), asked, batch, nbest, device, precision)
            results = parallel(work, remembered(), executor, workers)
        for number, found in enumerate(results, 1):
            text = seen.popleft()
            if number <= records.done:
                continue
            records.write(text, printer.record(text, found), not isinstance(found, list))
            advance(1)
            if not isinstance(found, list):
                failed += 1
                print(f"syntagma: line {number}: {found}", file=sys.stderr)
            elif found and (note := found[0].note):
                notes[note] += 1
                if notes[note] <= _NOTES_SHOWN:
                    print(f"syntagma: line {number}: {note}", file=sys.stderr)
    for note, count in notes.items():
        if count > _NOTES_SHOWN:
            print(f"syntagma: {count - _NOTES_SHOWN} more lines: {note}", file=sys.stderr)
    if profile:
        for line in watch.report(getattr(generator.runtime, "seconds", None)).splitlines():
            print(f"syntagma: {line}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _search_options(given: list[str]) -> tuple[SearchOptions | None, dict[str, Any]]:
    """The setting of the search that a name stands for, if any is given, and the settings given as key=value."""
    from syntagma.search.options import SearchOptions, named

    base = None
    for name in given:
        if "=" not in name:
            base = named(name)
    return base, SearchOptions.read_arguments(one for one in given if "=" in one)


def _explain(
    generator: Generator,
    texts: list[Text],
    steering: Steering,
    options: dict[str, Any],
    page: Path,
) -> Iterator[list[Output] | SyntagmaError]:
    """Write the page that explains the search for one text; what it found."""
    from syntagma.errors import ConfigError, SyntagmaError
    from syntagma.files import atomic_write
    from syntagma.search.explain import explain
    from syntagma.search.steered import SteeredText

    if len(texts) != 1 or isinstance(texts[0], SyntagmaError):
        raise ConfigError("--explain is for one text", remedy="give it as the argument")
    text = texts[0]
    if isinstance(text, SteeredText):
        steering, text = generator.steering(**text.steering()), text.source
    explanation = explain(generator, text, steering, **options)
    with atomic_write(page) as stream:
        stream.write(explanation.to_html())
    yield list(explanation.outputs)


def _steered(
    lines: Iterator[str | SyntagmaError],
    jsonl: bool,
    templates: str | None,
    exemplars: str | None,
    general: dict[str, Any],
) -> Iterator[Text]:
    """The lines as texts, with the steering that they or the lines of another file carry."""
    from syntagma.errors import ConfigError
    from syntagma.files import scan_lines
    from syntagma.search.steered import pair_lines, read_json_lines

    if jsonl + (templates is not None) + (exemplars is not None) > 1:
        what = "JSON lines, --templates and --exemplars each say how a line is steered"
        raise ConfigError(what, remedy="give one of them")
    general = {name: value for name, value in general.items() if (name, value) != ("control", "soft")}
    if jsonl:
        return read_json_lines(lines, general)
    if templates is not None:
        return pair_lines(lines, "template", scan_lines(templates), general, templates)
    if exemplars is not None:
        return pair_lines(lines, "exemplar", scan_lines(exemplars), general, exemplars)
    return lines


def _count(text: str) -> int:
    from syntagma.errors import ConfigError

    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"a batch size of {text!r} makes no sense", remedy="give a number of at least 1, or auto")
    return int(text)


def _workers(lines: Iterator[Text], device: str) -> tuple[int, Iterator[Text]]:
    """As many processes as pay off for a file, and its lines, of which no more is read than it takes to know."""
    import os

    from syntagma.search.parallel import CHUNK, processes_for

    head = list(islice(lines, 2 * CHUNK * (os.cpu_count() or 1)))
    return processes_for(len(head), device), chain(head, lines)


def _fingerprint(model: str) -> str:
    from syntagma.hub import find_folder, hash_folder

    return hash_folder(find_folder(model, "model", "model"))


def _progress(texts: list[str] | None, source: str, out: Path | None) -> AbstractContextManager[Callable[[int], None]]:
    """A bar on stderr where the results are not to be seen."""
    from syntagma.cli.common import count_lines, progress

    if texts or (out is None and sys.stdout.isatty()):
        return nullcontext(lambda done: None)
    return progress("texts", lambda: count_lines(source))


class _Printer:
    """How results are written: a record for each source."""

    def __init__(self, nbest: int, trace: bool, as_json: bool) -> None:
        self.nbest, self.trace, self.as_json = nbest, trace, as_json

    def record(self, source: Text, found: list[Output] | SyntagmaError) -> str:
        """The record of one source."""
        outputs = found[: self.nbest] if isinstance(found, list) else []
        if self.as_json:
            steering: dict[str, Any] = getattr(source, "steering", dict)()
            values: dict[str, Any] = {
                "source": source if isinstance(source, str) else getattr(source, "source", None),
                "hypotheses": [self._values(output) for output in outputs],
                **({"steering": steering} if steering else {}),
            }
            if not isinstance(found, list):
                values["error"] = str(found)
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
