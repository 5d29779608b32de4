"""`syntagma generate`: text from a model, with its structure."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from syntagma.errors import SyntagmaError
    from syntagma.search import Generator, Output, Steering


class ControlKind(StrEnum):
    """How a template is followed."""

    soft = "soft"
    hard = "hard"


class RerankKind(StrEnum):
    """How finished texts are ordered."""

    none = "none"
    joint = "joint"
    seq2seq = "seq2seq"


class ScoreKind(StrEnum):
    """What an infill's score is."""

    sum = "sum"
    mean = "mean"


def register(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command("generate")(generate)
    app.command("paraphrase")(_with_model(_PARAPHRASE, "paraphrase-en"))
    app.command("translate")(_with_model(_TRANSLATE, "translate-de-en"))


_PARAPHRASE = """Say English texts in other words: `generate` with the bundled paraphrase model.

Example: syntagma paraphrase --nbest 5 --trace "It seems like he has made a mistake."
"""
_TRANSLATE = """Translate German texts into English: `generate` with the bundled translation model.

Example: syntagma translate "Er scheint einen Fehler gemacht zu haben."
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
        str, typer.Option("-i", "--input", help="A file of texts, one a line (also gzip); - is standard input.")
    ] = "-",
    model: Annotated[str, typer.Option(help="A bundled model's name, a model folder, or a hub id.")] = "paraphrase-en",
    beam: Annotated[
        int | None, typer.Option(min=1, help="The beam's width; 1 is greedy.", show_default="the model's, 5")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(min=0, help="The accumulation weight.", show_default="the model's, 0.8")
    ] = None,
    score: Annotated[ScoreKind | None, typer.Option(help="Log-probabilities summed or averaged.")] = None,
    search: Annotated[
        str | None, typer.Option(help="A named setting instead of the model's: paper.", show_default=False)
    ] = None,
    rerank: Annotated[
        RerankKind | None,
        typer.Option(help="Order texts by score, by log-probability, or also by that of the text written in one go."),
    ] = None,
    channel_weight: Annotated[
        float | None, typer.Option(min=0, help="How much the noisy channel, text to source, counts in reranking.")
    ] = None,
    nbest: Annotated[int, typer.Option(min=1, help="How many hypotheses to print for each text.")] = 1,
    template: Annotated[str | None, typer.Option(help="The tree's shape, e.g. '(S (NP) (VP *))'.")] = None,
    exemplar: Annotated[str | None, typer.Option(help="A sentence whose shape to follow.")] = None,
    exemplar_depth: Annotated[int | None, typer.Option(min=1, help="How deep the exemplar's shape counts.")] = None,
    control: Annotated[
        ControlKind, typer.Option(help="Favour the template's shape, or guarantee it.")
    ] = ControlKind.soft,
    reward: Annotated[
        float | None, typer.Option(help="What matching a soft template gains.", show_default="the model's, 0.32")
    ] = None,
    start: Annotated[str | None, typer.Option(help="A context to grow from, e.g. '<NP> <VP> , right ?'.")] = None,
    max_depth: Annotated[
        int | None, typer.Option(min=1, help="How deep a tree may grow.", show_default="the model's, 24")
    ] = None,
    must: Annotated[list[str] | None, typer.Option(help="A word that must appear; repeat it for several.")] = None,
    must_not: Annotated[list[str] | None, typer.Option(help="A word that must not appear; repeat it.")] = None,
    forbid_copy: Annotated[
        bool | None, typer.Option(help="Leave out an output that only repeats the source.", show_default="the model's")
    ] = None,
    adjacent_repeats: Annotated[
        bool | None,
        typer.Option(help="Allow the same words twice in a row.", show_default="the model's, yes"),
    ] = None,
    known_words_only: Annotated[
        bool | None, typer.Option(help="Write no words that the model makes up.", show_default="the model's, no")
    ] = None,
    split: Annotated[
        bool | None,
        typer.Option(help="Go through a text sentence by sentence, unless explained.", show_default="the model's"),
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(min=0, help="Drop what lags behind by so much; faster.", show_default="the model's"),
    ] = None,
    diversity_penalty: Annotated[float | None, typer.Option(min=0, help="A penalty for what hypotheses share.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Draw hypotheses instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Of the samples.", show_default="1.0")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw from the likeliest tokens of that share.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the samples.", show_default="1")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show every level with its scores.")] = False,
    explain: Annotated[Path | None, typer.Option(help="Write a page here that shows why (one text only).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a text.")] = False,
    batch_size: Annotated[str, typer.Option(help="Texts searched at once, or auto.")] = "auto",
    int8: Annotated[
        bool, typer.Option("--int8", help="Int8 weights: faster on a CPU, nearly the same scores.")
    ] = False,
    profile: Annotated[bool, typer.Option("--profile", help="Say on stderr where the time went.")] = False,
    device: Annotated[
        str | None, typer.Option(help="auto, cpu, cuda, cuda:1 or mps.", show_default="where the model is loaded")
    ] = None,
    precision: Annotated[str | None, typer.Option(help="fp32, bf16 or fp16.", show_default="fp32")] = None,
    engine: Annotated[str, typer.Option(help="local, or ray (extra: ray).")] = "local",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes, or Ray actors.", show_default="1; for a file of many lines all cores"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads.", show_default="one for a small model, else all cores")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write here instead of standard output.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run with --out stopped.")
    ] = False,
    rank: Annotated[str | None, typer.Option(hidden=True)] = None,
    back: Annotated[float | None, typer.Option(hidden=True)] = None,
    novel: Annotated[bool | None, typer.Option(hidden=True)] = None,
    stutter: Annotated[bool | None, typer.Option(hidden=True)] = None,
    coin: Annotated[bool | None, typer.Option(hidden=True)] = None,
    diversity: Annotated[float | None, typer.Option(hidden=True)] = None,
) -> None:
    """Generate a text for each source; see its structure with --trace, steer it with --template and --start.

    Example: syntagma generate --model DIR --beam 5 --nbest 5 "It seems like he has made a mistake."
    """
    from syntagma.errors import ConfigError
    from syntagma.files import scan_lines

    if resume and (out is None or texts):
        raise ConfigError("--resume needs the --out of the run to go on with, and its input file", remedy="give both")
    given = {
        "beam": beam, "alpha": alpha, "score": score and score.value, "reward": reward, "max_depth": max_depth,
        "forbid_copy": forbid_copy, "diversity_penalty": diversity_penalty, "sample": sample or None, "top_p": top_p,
        "temperature": temperature, "seed": seed, "prune": prune, "rerank": rerank and rerank.value,
        "channel_weight": channel_weight, "known_words_only": known_words_only,
        "no_adjacent_repeats": None if adjacent_repeats is None else not adjacent_repeats,
        "split": split if explain is None else False,
        "rank": rank, "back": back, "novel": novel, "stutter": stutter, "coin": coin, "diversity": diversity,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    from syntagma.search import Generator
    from syntagma.search.generator import BATCH
    from syntagma.search.options import named
    from syntagma.search.parallel import use_threads_for
    from syntagma.search.stopwatch import Stopwatch

    batch = BATCH if batch_size == "auto" else _count(batch_size)
    generator = Generator.from_pretrained(model, device=device, precision=precision, int8=int8)
    if search is not None:
        generator.defaults = named(search)
    if threads is None:
        use_threads_for(generator.runtime)
    asked: dict[str, Any] = {
        "template": template, "exemplar": exemplar, "exemplar_depth": exemplar_depth, "control": control.value,
        "start": start, "must": must or (), "must_not": must_not or (),
    }  # fmt: skip
    steering = generator.steering(**asked)
    settings = generator.defaults.for_texts(nbest, options)
    lines = iter(texts) if texts else scan_lines(source)
    printer = _Printer(nbest, trace, as_json)
    done = _records(out, printer) if resume and out is not None else 0
    seen: list[str | SyntagmaError] = []

    def remembered() -> Iterator[str | SyntagmaError]:
        for line in islice(lines, done, None):
            seen.append(line)
            yield line

    if workers is None:
        alone = profile or engine != "local" or source == "-" or threads is not None
        workers = 1 if texts or alone else _workers(source)
    failed = 0
    watch = Stopwatch()
    with _target(out, done) as stream:
        if explain is not None:
            results: Iterator[list[Output] | SyntagmaError] = _explain(
                generator, list(remembered()), steering, settings.to_dict(), explain
            )
        elif engine == "local" and workers == 1:
            results = generator.stream(
                remembered(), steering=steering, options=settings, batch=batch, nbest=nbest, watch=watch
            )
        else:
            from syntagma.search.parallel import Work, parallel

            work = Work(model, settings.to_dict(), asked, int8, batch, nbest, device, precision)
            results = parallel(work, remembered(), engine, workers)
        for number, found in enumerate(results, done + 1):
            stream.write(printer.record(seen.pop(0), found))
            stream.flush()
            if not isinstance(found, list):
                failed += 1
                print(f"syntagma: line {number}: {found}", file=sys.stderr)
            elif found and found[0].note:
                print(f"syntagma: line {number}: {found[0].note}", file=sys.stderr)
    if profile:
        for part, share in watch.shares().items():
            print(f"syntagma: {part}: {100 * share:.1f}%", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _explain(
    generator: Generator,
    texts: list[str | SyntagmaError],
    steering: Steering,
    options: dict[str, Any],
    page: Path,
) -> Iterator[list[Output] | SyntagmaError]:
    """Write the page that explains the search for one text; what it found."""
    from syntagma.errors import ConfigError
    from syntagma.files import write_whole
    from syntagma.search.explain import explain

    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ConfigError("--explain is for one text", remedy="give it as the argument")
    explanation = explain(generator, texts[0], steering, **options)
    with write_whole(page) as stream:
        stream.write(explanation.to_html())
    yield list(explanation.outputs)


def _count(text: str) -> int:
    from syntagma.errors import ConfigError

    if not text.isdigit() or int(text) < 1:
        raise ConfigError(f"a batch size of {text!r} makes no sense", remedy="give a number of at least 1, or auto")
    return int(text)


def _workers(source: str) -> int:
    """As many processes as pay off for a file, of which no more is read than it takes to know."""
    import os

    from syntagma.files import scan_lines
    from syntagma.search.parallel import CHUNK, processes_for

    return processes_for(sum(1 for _ in islice(scan_lines(source), 2 * CHUNK * (os.cpu_count() or 1))))


class _Printer:
    """How results are written: a record for each source."""

    def __init__(self, nbest: int, trace: bool, as_json: bool) -> None:
        self.nbest, self.trace, self.as_json = nbest, trace, as_json

    @property
    def one_line(self) -> bool:
        """Whether a record is one line; else it ends with an empty one."""
        return self.as_json or (self.nbest == 1 and not self.trace)

    def record(self, source: str | SyntagmaError, found: list[Output] | SyntagmaError) -> str:
        """The record of one source."""
        outputs = found[: self.nbest] if isinstance(found, list) else []
        if self.as_json:
            values: dict[str, Any] = {
                "source": source if isinstance(source, str) else None,
                "hypotheses": [self._values(output) for output in outputs],
            }
            if not isinstance(found, list):
                values["error"] = str(found)
            return json.dumps(values, ensure_ascii=False) + "\n"
        if self.one_line:
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


def _records(out: Path, printer: _Printer) -> int:
    """How many whole records an interrupted run wrote; what it began and did not finish is cut off."""
    if not out.exists():
        return 0
    from syntagma.files import lines_begun

    if not printer.one_line:
        from syntagma.errors import ConfigError

        raise ConfigError("--resume counts lines, but records have several", remedy="use --json, or --nbest 1")
    return lines_begun(out)


class _target:  # noqa: N801
    """Standard output, or a file that a resumed run appends to."""

    def __init__(self, out: Path | None, done: int) -> None:
        self.out, self.done = out, done

    def __enter__(self) -> IO[str]:
        from syntagma.errors import InputError, Place

        if self.out is None:
            return sys.stdout
        try:
            self.stream = open(self.out, "a" if self.done else "w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(
                f"it cannot be written ({error.strerror})", Place(str(self.out)), "check the path"
            ) from None
        return self.stream

    def __exit__(self, *_: object) -> None:
        if self.out is not None:
            self.stream.close()
