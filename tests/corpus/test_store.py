from __future__ import annotations

import json
import pickle
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntagma.corpus import Corpus
from syntagma.corpus.chunks import PAIR_SCHEMA
from syntagma.corpus.info import as_dict
from syntagma.corpus.shards import encode_table
from syntagma.errors import ConfigError, InputError
from syntagma.levels import TOP, Label, expand, levels
from syntagma.text import Subwords, Word, join, split
from syntagma.text.subwords import PART_ID, TOP_ID
from syntagma.tree import KEPT_LABELS, ROOT, Tree, prune

Make = Callable[..., Corpus]

SUBWORDS = Subwords.train([split("I can't see the (big) dog, can I?").words] * 3, 320)
WORDS = st.sampled_from(["I", "ca", "n't", "dog", ",", "(", "<NP>", "-LRB-", "他写", "\U0001f600", "the"])
TREES = st.recursive(
    WORDS,
    lambda below: st.tuples(st.sampled_from([*KEPT_LABELS, "ADJP", "X"]), st.lists(below, min_size=1, max_size=4)),
    max_leaves=14,
)


def grow(plan: object) -> Tree | str:
    return plan if isinstance(plan, str) else Tree(plan[0], [grow(one) for one in plan[1]])  # type: ignore[index]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, list[Word]]:
    tree = Tree(ROOT, [grow(draw(TREES))])
    raw = [item for item in tree.walk if item[0] != "(" and item != ")"]
    spaces = draw(st.lists(st.booleans(), min_size=len(raw), max_size=len(raw)))
    texts = [item.replace("-LRB-", "(") for item in raw]
    return tree, [
        Word(text, " " if space and at else "") for at, (text, space) in enumerate(zip(texts, spaces, strict=True))
    ]


def encode(tree: Tree, words: list[Word]) -> dict[str, list[int]]:
    columns = ([1], [False], ["a dog"], [[w.text for w in words]], [[w.space == " " for w in words]], [str(tree)])
    table = pa.table(dict(zip(PAIR_SCHEMA.names, columns, strict=True)), schema=PAIR_SCHEMA)
    return encode_table(table, SUBWORDS, KEPT_LABELS).to_pylist()[0]  # type: ignore[no-any-return]


@given(pairs())
def test_the_ids_of_levels_are_the_contexts_of_the_tree(pair: tuple[Tree, list[Word]]) -> None:
    tree, words = pair
    found = encode(tree, words)
    pieces, at = [], 0
    for size in found["sizes"]:
        pieces.append(found["levels"][at : at + size])
        at += size
    assert at == len(found["levels"])
    text_levels = list(levels(prune(tree), words))
    assert len(pieces) == 2 * len(text_levels)
    context = [TOP_ID]
    for ids, infill, level in zip(pieces[::2], pieces[1::2], text_levels, strict=True):
        assert ids == context
        assert _spelled(ids) == _spelled_tokens(level.context)
        assert infill.count(PART_ID) == sum(map(SUBWORDS.is_label, ids))
        context = list(expand(ids, infill, SUBWORDS.is_label, PART_ID))  # type: ignore[arg-type]
    target = [at for at in found["linear"] if at >= SUBWORDS.first_text_id]
    assert context == target
    assert SUBWORDS.decode(target) == join(words)
    opened = sum(map(SUBWORDS.is_label, found["linear"]))
    assert opened == found["linear"].count(PART_ID) == len(prune(tree).spans()) - 1
    assert SUBWORDS.decode(found["source"]) == "a dog"


def _spelled(ids: list[int]) -> str:
    return "".join(
        f"\0{at}\0" if SUBWORDS.is_label(at) else SUBWORDS.piece(at).decode("latin-1") for at in ids
    ).removeprefix(" ")


def _spelled_tokens(tokens: tuple[object, ...]) -> str:
    return "".join(
        f"\0{SUBWORDS.label_id(token.name)}\0" if isinstance(token, Label) else join([token]).encode().decode("latin-1")  # type: ignore[list-item]
        for token in tokens
    ).removeprefix(" ")


ROWS = "".join(f'I see {n}.\tTom didn\'t see {n} "apples" (I think).\n' for n in range(90))


def test_pairs_and_examples_agree_across_shards(made: Make) -> None:
    corpus = made(ROWS, shard_pairs=20, chunk_rows=7, dev=10)
    train = corpus.split("train")
    assert train.shards == (20, 20, 20, 20)
    assert len(train) == len(train.examples) == 80
    assert len(corpus) == 90
    lengths = train.examples.lengths()
    for at, (pair, example) in enumerate(zip(train, train.examples, strict=True)):
        assert corpus.subwords.decode(example.source_ids) == pair.source
        assert corpus.subwords.decode(example.target_ids) == pair.target
        assert example.levels[0].context.tolist() == [TOP_ID]
        assert len(example.levels) == pair.tree.depth - 1 == lengths.levels[at]
        assert len(example.source_ids) == lengths.source[at]
        assert len(example.target_ids) == lengths.target[at]
        assert sum(len(level.context) for level in example.levels) == lengths.contexts[at]
        assert max(len(level.infill) for level in example.levels) == lengths.longest_infill[at]
    assert train.pairs([41, 3]) == [list(train)[41], list(train)[3]]
    assert train.examples[-1].linear_ids.tolist() == train.examples[79].linear_ids.tolist()
    with pytest.raises(IndexError):
        train.examples[80]


def test_examples_are_mapped_and_can_be_pickled(made: Make) -> None:
    examples = made(ROWS).split("train").examples
    assert not examples[3].source_ids.flags.owndata
    assert examples[3].source_ids.dtype == np.uint16
    again = pickle.loads(pickle.dumps(examples))
    assert again[3].linear_ids.tolist() == examples[3].linear_ids.tolist()


def test_the_facts_record_everything(made: Make) -> None:
    corpus = made(ROWS, labels=("S", "NP"), seed=4)
    facts = json.loads((corpus.folder / "corpus.json").read_text())
    assert facts["format"] == 1
    assert facts["options"]["seed"] == 4
    assert facts["labels"] == ["S", "NP"]
    assert facts["tokenizer"]["fingerprint"] == corpus.subwords.fingerprint
    assert facts["options_hash"] == corpus.options.hash


def test_info(made: Make) -> None:
    corpus = made(ROWS + "x\tx\n", dev=10)
    figures = as_dict(corpus, examples=2)
    train = figures["splits"]["train"]
    assert train["pairs"] == 80
    assert train["labels"]["S"] == 80
    assert train["labels"]["NP"] + train["labels"]["PP"] == 160
    assert train["levels"]["mean"] == train["levels"]["longest"] == 4
    assert figures["rejects"] == {"identical": 1}
    assert len(figures["examples"]) == 2
    assert figures["examples"][0]["levels"][0] == "<T>\t<c> <S>"
    counted = sum(str(pair.tree).count("(NP") for pair in corpus.split("train"))
    assert list(corpus.split("train").targets()) == [pair.target for pair in corpus.split("train")]
    assert train["labels"]["NP"] == counted


def test_folders_that_are_no_corpus(made: Make, tmp_path: object) -> None:
    corpus = made(ROWS)
    with pytest.raises(ConfigError, match="there is no split 'dev'; there are: train"):
        corpus.split("dev")
    with pytest.raises(InputError, match="this is not a prepared corpus; make one"):
        Corpus.open(corpus.folder.parent)
    path = corpus.folder / "corpus.json"
    facts = path.read_text()
    path.write_text(facts.replace('"format": 1', '"format": 99'))
    with pytest.raises(ConfigError, match="this corpus has format 99, this program reads 1"):
        Corpus.open(corpus.folder)
    path.write_text(facts[:100])
    with pytest.raises(InputError, match="it is damaged"):
        Corpus.open(corpus.folder)
    path.unlink()
    (corpus.folder / "work").mkdir()
    with pytest.raises(InputError, match="this corpus is not finished; run the same `syntagma prepare` again"):
        Corpus.open(corpus.folder)


def test_another_tokenizer_or_a_damaged_shard_is_noticed(made: Make) -> None:
    corpus = made(ROWS)
    Subwords.train([split("other words").words], 290).save(corpus.folder / "tokenizer.json")
    with pytest.raises(ConfigError, match="not the vocabulary that the corpus was made with"):
        _ = Corpus.open(corpus.folder).subwords
    ids = corpus.folder / "ids-train-00000.arrow"
    ids.write_bytes(ids.read_bytes()[:-50])
    with pytest.raises(InputError, match="it cannot be read"):
        corpus.split("train").examples[0]


def test_top_is_the_first_context() -> None:
    assert SUBWORDS.label_id(TOP.name) == TOP_ID
