"""A chunk's pairs cut into words, filtered, parsed, checked and written: the work that is shared among processes.

Three files result in the work folder, each written whole, the summary last: `chunk-N.parquet` with the pairs that were
kept, `chunk-N.rejects.jsonl` with those that were not, and `chunk-N.json` with the counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from syntagma.corpus.filters import Reason, refuse_lengths, refuse_script, refuse_swaps
from syntagma.corpus.hashing import text_key
from syntagma.corpus.ingest import ROW_REASONS, Chunk, RawPair
from syntagma.corpus.options import SPLITS, CorpusOptions
from syntagma.errors import BracketError, ConfigError, Place, SyntagmaError
from syntagma.files import atomic_write
from syntagma.text import Sentence, Word, split, split_tokens
from syntagma.tree import Tree, clean, prune, read_tree, with_words
from syntagma.tree.node import CLOSE, escape

if TYPE_CHECKING:
    from syntagma.parse.base import ParserBackend

_BLOCK = 512  # sentences handed to the parser at once

PAIR_FIELDS = [
    ("row", pa.int64()),
    ("backwards", pa.bool_()),
    ("source", pa.string()),
    ("words", pa.list_(pa.string())),
    ("spaces", pa.list_(pa.bool_())),
    ("tree", pa.string()),
]
PAIR_SCHEMA = pa.schema(PAIR_FIELDS)
KEY_FIELDS = [("split", pa.int8()), ("key", pa.uint64()), ("source_key", pa.uint64()), ("target_key", pa.uint64())]
CHUNK_SCHEMA = pa.schema([*PAIR_FIELDS, *KEY_FIELDS])
CHUNK_FORMAT = 2


@dataclass(slots=True)
class Summary:
    """The counts of a chunk."""

    number: int
    digest: str
    rows: int
    pairs: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    rejects: dict[str, int] = field(default_factory=dict)
    spacing_changed: dict[str, int] = field(default_factory=dict)
    parser: list[str] | None = None
    format: int = 1
    """Of the chunk's files; those of another version of this program are made again."""

    def check(self) -> Summary:
        """Nothing is dropped silently: what is kept and what is rejected add up to what came in."""
        of_rows = sum(count for reason, count in self.rejects.items() if reason in ROW_REASONS)
        of_pairs = sum(self.rejects.values()) - of_rows
        if sum(self.kept.values()) + of_pairs != self.pairs or of_rows > self.rows:
            raise AssertionError(f"the counts of chunk {self.number} do not add up: {self}")
        return self


class Parsing:
    """The work on one chunk; each process loads the parser once, when it first needs it."""

    def __init__(self, options: CorpusOptions, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self._parser: ParserBackend | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.options, self.folder

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.options, self.folder = state
        self._parser = None

    @property
    def parser(self) -> ParserBackend:
        """The parser, loaded."""
        if self._parser is None:
            self._parser = _load(self.options)
        return self._parser

    def __call__(self, job: Chunk | Path) -> Summary:
        """Do a chunk, handed over or saved in a file."""
        chunk = Chunk.load(job) if isinstance(job, Path) else job
        summary = Summary(chunk.number, chunk.digest, chunk.rows, format=CHUNK_FORMAT)
        kept = _PairColumns()
        rejects: list[str] = []
        for entry, outcome in self._outcomes(chunk.entries, summary):
            if entry.reason not in ROW_REASONS:
                summary.pairs += 1
                for bit, side in ((1, "source"), (2, "target")):
                    if entry.touched & bit:
                        summary.spacing_changed[side] = summary.spacing_changed.get(side, 0) + 1
            if isinstance(outcome, _Parsed):
                kept.add(entry, outcome)
                summary.kept[entry.split] = summary.kept.get(entry.split, 0) + 1
            else:
                rejects.append(_reject(entry, outcome))
                summary.rejects[outcome[0]] = summary.rejects.get(outcome[0], 0) + 1
        summary.rejects = dict(sorted(summary.rejects.items()))
        self._write(summary.check(), kept, rejects)
        return summary

    def _write(self, summary: Summary, kept: _PairColumns, rejects: list[str]) -> None:
        name = f"chunk-{summary.number:06d}"
        with atomic_write(self.folder / f"{name}.parquet", "wb") as stream:
            write_parquet(pa.table(kept.columns, schema=CHUNK_SCHEMA), stream)
        with atomic_write(self.folder / f"{name}.rejects.jsonl") as stream:
            stream.writelines(rejects)
        with atomic_write(self.folder / f"{name}.json") as stream:
            json.dump(asdict(summary), stream)

    def _outcomes(self, entries: list[RawPair], summary: Summary) -> Iterator[tuple[RawPair, _Parsed | Reason]]:
        """Keep or reject each pair, in order."""
        outcomes: list[_Parsed | Reason | None] = [self._before_parsing(entry) for entry in entries]
        waiting = [index for index, outcome in enumerate(outcomes) if outcome is None]
        if waiting:
            cut = [self._cut(entries[index].target).words for index in waiting]
            trees = parse_all(self.parser, [[word.text for word in words] for words in cut])
            summary.parser = [self.parser.name, self.parser.version]
            for index, words, tree in zip(waiting, cut, trees, strict=True):
                outcomes[index] = _Parsed(words, tree) if isinstance(tree, Tree) else ("parser", tree)
        for entry, outcome in zip(entries, outcomes, strict=True):
            assert outcome is not None
            yield entry, self._finish(entry, outcome) if isinstance(outcome, _Parsed) else outcome

    def _cut(self, text: str) -> Sentence:
        return split_tokens(text) if self.options.tokenized else split(text)

    def _before_parsing(self, entry: RawPair) -> _Parsed | Reason | None:
        """Why a pair is rejected, or the pair with the tree that came with it; None where it is to be parsed."""
        if entry.reason is not None:
            return entry.reason, entry.detail
        if entry.split == "train":
            refused = refuse_script(self.options, entry.source, entry.target)
            refused = refused or refuse_swaps(self.options, entry.source, entry.target)
            refused = refused or refuse_lengths(self.options, entry.source, entry.target, self._cut)
            if refused is not None:
                return refused
        return None if entry.tree is None else self._given(entry, entry.tree)

    def _given(self, entry: RawPair, line: str) -> _Parsed | Reason:
        """The pair with the tree that came with it."""
        try:
            tree = clean(read_tree(line), self.options.labels)
        except BracketError as error:
            return "parser", str(error)
        own = tree.words()
        words = align(own, entry.target)
        if isinstance(words, str):
            what = f"the tree has other words than the target: {words}"
            place = Place(self.options.trees or entry.file, entry.row)
            raise SyntagmaError(what, place, "give the trees of these targets")
        texts = tuple(word.text for word in words)
        return _Parsed(words, tree if texts == own else with_words(tree, texts))

    def _finish(self, entry: RawPair, parsed: _Parsed) -> _Parsed | Reason:
        """The tree, unless it is too deep."""
        options = self.options
        tree = parsed.tree
        if tree.depth - 1 > options.max_levels:  # only then can the pruned tree be as deep
            levels = prune(tree, options.labels).depth - 1
            if levels > options.max_levels:
                return "too-deep", f"the tree has {levels} levels"
        return _Parsed(parsed.words, tree)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A target in words, and its tree."""

    words: tuple[Word, ...]
    tree: Tree


class _PairColumns:
    """The pairs kept of a chunk, by column."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in CHUNK_SCHEMA.names}

    def add(self, entry: RawPair, parsed: _Parsed) -> None:
        """Append one pair."""
        values = (
            entry.row,
            entry.backwards,
            entry.source,
            [word.text for word in parsed.words],
            [word.space != "" for word in parsed.words],
            str(parsed.tree),
            SPLITS.index(entry.split),
            entry.key,
            text_key(entry.source),
            text_key(entry.target),
        )
        for name, value in zip(self.columns, values, strict=True):
            self.columns[name].append(value)


def write_parquet(table: pa.Table, stream: Any) -> None:
    """The same bytes for the same table."""
    pq.write_table(table.combine_chunks(), stream, compression="zstd", row_group_size=5000, write_statistics=False)


def _reject(entry: RawPair, reason: Reason) -> str:
    values = {
        "row": entry.row,
        "file": entry.file,
        "line": entry.line,
        "backwards": entry.backwards,
        "reason": reason[0],
        "detail": reason[1],
        "source": entry.source,
        "target": entry.target,
    }
    return json.dumps(values, ensure_ascii=False) + "\n"


def _load(options: CorpusOptions) -> ParserBackend:
    from syntagma.parse import load_parser

    parser = load_parser(options.parser)
    torch = sys.modules.get("torch")
    if torch is not None:  # one thread a process, and the same sums whatever the number of processes
        torch.set_num_threads(1)
    made = {*parser.labels, *getattr(parser, "tags", ())}
    missing = [label for label in options.labels if parser.labels and label not in made]
    if missing:
        what = f"the parser {parser.name} makes no {', '.join(missing)}"
        raise ConfigError(what, remedy=f"keep some of its labels: {', '.join(parser.labels)}")
    return parser


def parse_all(parser: ParserBackend, sentences: Sequence[Sequence[str]]) -> list[Tree | str]:
    """The tree of each sentence, or why there is none; one bad sentence does not take others with it.

    A sentence that is there several times is parsed once.
    """
    distinct = list(dict.fromkeys(map(tuple, sentences)))
    parsed: dict[tuple[str, ...], Tree | str] = {}
    for start in range(0, len(distinct), _BLOCK):
        block = distinct[start : start + _BLOCK]
        try:
            trees: list[Tree | str] = list(parser.parse(block))
        except MemoryError:
            raise
        except Exception:
            trees = _parse_singly(parser, block)
        parsed.update((words, _checked(tree, words)) for tree, words in zip(trees, block, strict=True))
    return [parsed[tuple(words)] for words in sentences]


def _parse_singly(parser: ParserBackend, sentences: Sequence[Sequence[str]]) -> list[Tree | str]:
    results: list[Tree | str] = []
    bugs: list[Exception] = []
    for words in sentences:
        try:
            results += parser.parse([words])
        except SyntagmaError as error:
            results.append(error.what)
        except Exception as error:
            results.append(f"{type(error).__name__}: {error}")
            bugs.append(error)
    if len(bugs) == len(sentences) > 1:  # not these sentences are at fault but the parser
        raise bugs[0]
    return results


def _checked(tree: Tree | str, words: Sequence[str]) -> Tree | str:
    if isinstance(tree, str):
        return tree
    leaves = [item for item in tree.walk if item[0] != "(" and item != CLOSE]
    return tree if leaves == [escape(word) for word in words] else "the tree has other words than the sentence"


_QUOTES = (("``", "''", '"', "“", "”", "„"), ("`", "'", "‘", "’", "‚"))


def align(words: Sequence[str], text: str) -> tuple[Word, ...] | str:
    """The words of a tree with the spacing that they have in the text, or what does not fit.

    Typed and Treebank quotes count as the same; the text's are kept.

    >>> align(["ca", "n't", "``", "go", "''"], 'can\\'t "go"')
    (Word(text='ca', space=''), Word(text="n't", space=''), Word(text='"', space=' '), Word(text='go', space=''), \
Word(text='"', space=''))
    """
    aligned: list[Word] = []
    position = 0
    for word in words:
        space = " " if text[position : position + 1] == " " else ""
        position += len(space)
        match = word if text.startswith(word, position) else _other_quote(word, text, position)
        if match is None:
            return f"{word!r} where the target has {text[position : position + 20]!r}"
        aligned.append(Word(match, space))
        position += len(match)
    return (
        tuple(aligned) if position == len(text) else f"nothing where the target has {text[position : position + 20]!r}"
    )


def _other_quote(word: str, text: str, position: int) -> str | None:
    """The quote that stands in the text where the tree has another."""
    kin = next((kin for kin in _QUOTES if word in kin), ())
    return next((quote for quote in kin if text.startswith(quote, position)), None)
