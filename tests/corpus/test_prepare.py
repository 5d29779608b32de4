from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from syntagma.corpus import Corpus, CorpusOptions, Input, prepare
from syntagma.corpus.options import AUTO
from syntagma.errors import ConfigError, InputError, SyntagmaError
from syntagma.hub import find_folder
from syntagma.text.vocabulary import load_vocabulary

Make = Callable[..., Corpus]
Write = Callable[[int], tuple[str, str]]


def rejects(corpus: Corpus) -> list[dict[str, object]]:
    lines = (corpus.folder / "rejects.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_every_pair_is_kept_or_rejected_with_a_reason(made: Make) -> None:
    text = (
        "I  nod.\tI do nod . \n"  # kept, spaces made plain
        "I nod.\tI do nod .\n"  # duplicate
        "only\n"  # no target
        "x\t\n"  # empty
        "same.\tsame.\n"
        "\udcff\tb\n"  # not UTF-8
        "a b c d e f g\tI go home now, thank you so much.\n"  # too long
        "one\tI FAIL here\n"  # the parser refuses it
        "two\tI BUG here\n"  # the parser breaks
        "three\ta b c d e f\n"
    )
    corpus = made(text, max_words=8)
    assert [(pair.source, pair.target) for pair in corpus] == [("I nod.", "I do nod ."), ("three", "a b c d e f")]
    found = [(entry["row"], entry["line"], entry["reason"]) for entry in rejects(corpus)]
    assert found == [
        (2, 2, "duplicate"),
        (3, 3, "missing-column"),
        (4, 4, "empty-side"),
        (5, 5, "identical"),
        (6, 6, "not-utf-8"),
        (7, 7, "too-long"),
        (8, 8, "parser"),
        (9, 9, "parser"),
    ]
    assert corpus.facts["counts"] == {"rows": 10, "rows_rejected": 3, "pairs": 7, "pairs_kept": 2}
    assert sum(corpus.facts["rejects"].values()) == len(found)
    assert corpus.facts["spacing_changed"] == {"source": 1, "target": 1}
    assert corpus.facts["parser"] == {"name": "fake", "version": "3"}
    assert not (corpus.folder / "work").exists()


def test_a_broken_parser_is_an_error_and_not_a_reject(made: Make) -> None:
    with pytest.raises(RuntimeError, match="broken"):
        made("a\tBUG\nb\tBUG it\n")


def test_both_ways_and_selection(made: Make) -> None:
    rows = "".join(f"I see {n}.\tI do see {n}.\t{'that' if n % 2 else 'lex'}\n" for n in range(200)) + "a\tb\tno\n"
    corpus = made(rows, both_ways=True, where=("2=lex,that",), keep_fraction=("2=that:0.1",))
    kept = {(pair.source, pair.target) for pair in corpus}
    assert all((target, source) in kept for source, target in kept)
    thinned = corpus.facts["rejects"]["keep-fraction"]
    assert 75 < thinned < 100
    assert len(kept) == len(corpus) == 2 * (200 - thinned)
    assert corpus.facts["rejects"]["where"] == 1
    assert {pair.backwards for pair in corpus} == {True, False}


def test_the_first_rows_of_each_input(made: Make, tmp_path: Path) -> None:
    rows = "".join(f"I see {n}.\tI do see {n}.\t{'yes' if n % 2 else 'no'}\n" for n in range(40))
    (tmp_path / "dev.tsv").write_text("".join(f"You see {n}.\tYou do see {n}.\tyes\n" for n in range(9)))
    options = {"where": ("2=yes",), "max_rows": 7, "chunk_rows": 4}
    corpus = made(rows, inputs=(Input(str(tmp_path / "dev.tsv"), split="dev"),), **options)
    assert [pair.source for pair in corpus.split("train")] == [f"I see {n}." for n in range(1, 15, 2)]
    assert len(corpus.split("dev")) == 7
    assert corpus.facts["counts"]["rows"] == 21, "rows after the last that is taken are not counted"


def test_chunks_do_not_change_what_is_kept(made: Make) -> None:
    rows = "".join(f"I see {n % 150}.\tI do see {n % 70}!\n" for n in range(300))
    settings = {"both_ways": True, "dev": 10, "test": 11, "label_noise": 0.3, "shard_pairs": 64}
    first = made(rows, "a", chunk_rows=1000, **settings)
    second = made(rows, "b", chunk_rows=7, **settings)
    assert list(first) == list(second)
    assert first.facts["splits"] == second.facts["splits"]
    assert first.fingerprint == second.fingerprint
    assert len(first.split("dev")) == 10
    assert len(first.split("test")) == 10  # 11 would part a pair from its reverse


def test_drawn_splits_share_no_pair_with_training(made: Make) -> None:
    rows = "".join(f"I see {n}.\tI do see {n}!\n" for n in range(100))
    corpus = made(rows, both_ways=True, dev=20, test=20)
    parts = {name: {frozenset((p.source, p.target)) for p in corpus.split(name)} for name in corpus.splits}
    assert len(parts["dev"]) == len(parts["test"]) == 10
    assert not parts["train"] & parts["dev"] | parts["train"] & parts["test"] | parts["dev"] & parts["test"]
    other = made(rows, "b", both_ways=True, dev=20, test=20, seed=5)
    assert {p.source for p in corpus.split("dev")} != {p.source for p in other.split("dev")}
    with pytest.raises(ConfigError, match="dev and test ask for 500 pairs, and 200 were kept"):
        made(rows, "c", both_ways=True, dev=300, test=200)


def test_split_files_are_kept_whole_and_held_out(made: Make, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("I see.\tI do see.\nsame\tsame\nI see.\tI do see.\n")
    (tmp_path / "bad.tsv").write_text("No.\tNo way.\n")
    rows = "I see.\tI do see.\nI do see.\tI see.\nNo way.\tNo.\nYes.\tOh yes.\n"
    corpus = made(rows, inputs=(Input(str(tmp_path / "dev.tsv"), split="dev"),), exclude=(str(tmp_path / "bad.tsv"),))
    assert [pair.source for pair in corpus.split("train")] == ["Yes."]
    assert [pair.source for pair in corpus.split("dev")] == ["I see.", "same", "I see."]
    assert corpus.facts["rejects"] == {"held-out": 3}


def test_trees_from_a_file(write_pairs: Write, tmp_path: Path) -> None:
    pairs, trees = write_pairs(120)
    options = CorpusOptions(inputs=(Input(pairs),), parser=f"brackets:{trees}", vocab_size=400, chunk_rows=50)
    corpus = prepare(options, tmp_path / "out", workers=1)
    given = dict(zip(Path(pairs).read_text().splitlines(), Path(trees).read_text().splitlines(), strict=True))
    assert len(corpus) > 80
    for pair in corpus:
        assert str(pair.full) == given[f"{pair.source}\t{pair.target}"]
    assert corpus.facts["parser"] == {"name": "brackets", "version": "1"}


def test_trees_are_cleaned_and_spaced_like_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('x\tHe can\'t say "no".\ny\tGo.\nz\tStop.\n')
    tree = "(S (NP-SBJ (PRP He)) (VP (MD ca) (RB n't) (VP (VB say) (`` ``) (INTJ no) ('' '') (NP (-NONE- *)))) (. .))"
    (tmp_path / "a.trees").write_text(f"{tree}\n(S (VP Go\n\n")
    options = CorpusOptions(
        inputs=(Input(str(tmp_path / "a.tsv")),), parser=f"brackets:{tmp_path / 'a.trees'}", vocab_size=300
    )
    corpus = prepare(options, tmp_path / "out", workers=1)
    (pair,) = corpus
    assert pair.target == 'He can\'t say "no".'
    assert str(pair.tree) == '(TOP (S (NP He) (VP ca n\'t (VP say " no ")) .))'
    assert "NP-SBJ" not in str(pair.full)
    assert [entry["reason"] for entry in rejects(corpus)] == ["parser", "parser"]


def test_another_label_set_without_parsing_again(made: Make, fake_parser: list[str], tmp_path: Path) -> None:
    first = made("".join(f"I see {n}.\tI do see it {n}!\n" for n in range(30)), dev=5)
    fake_parser.clear()
    options = CorpusOptions(inputs=(Input(str(first.folder)),), labels=("NP", "X"), vocab_size=300)
    second = prepare(options, tmp_path / "again", workers=1)
    assert not fake_parser
    assert second.facts["parser"] == first.facts["parser"]
    assert {name: len(second.split(name)) for name in second.splits} == {"train": 25, "dev": 5}
    assert [(p.source, p.full) for p in second] == [(p.source, p.full) for p in first]
    assert "(X I)" in str(next(iter(second)).tree)
    assert "(S" not in str(next(iter(second)).tree)


def test_a_tokenizer_is_used_again(made: Make) -> None:
    first = made("I see.\tI do see.\n")
    path = str(first.folder / "tokenizer.json")
    assert made("Oh.\tOh no.\n", "b", tokenizer=path).fingerprint == first.fingerprint
    assert made("Oh.\tOh no.\n", "d", tokenizer=str(first.folder)).fingerprint == first.fingerprint
    with pytest.raises(
        ConfigError, match=r"this vocabulary has the labels S NP VP PP, not S NP; give --labels S,NP,VP,PP"
    ):
        made("Oh.\tOh no.\n", "c", tokenizer=path, labels=("S", "NP"))


def test_the_tokenizer_of_a_bundled_model(made: Make) -> None:
    corpus = made("Oh.\tOh no.\n", tokenizer="paraphrase-en")
    assert (
        corpus.fingerprint
        == load_vocabulary(find_folder("paraphrase-en", "model", "model") / "tokenizer.json").fingerprint
    )
    with pytest.raises(ConfigError, match="there is no model 'paraphrase-xx'; give a folder, a hub id, or a bundled"):
        made("Oh.\tOh no.\n", "b", tokenizer="paraphrase-xx")
    with pytest.raises(InputError, match=r"no\.json: it cannot be opened"):
        made("Oh.\tOh no.\n", "c", tokenizer="no.json")


def test_depth_noise_and_scripts(made: Make) -> None:
    text = "I see.\tI do see it all.\nО нет.\tOh no.\n"
    assert made(text, max_levels=2, source_script="Latin+Cyrillic").facts["rejects"] == {"too-deep": 1}
    assert made(text, "b", source_script="Latin").facts["rejects"] == {"script": 1}
    noisy, plain = made(text, "c", label_noise=1.0), made(text, "d")
    assert [p.tree for p in noisy] != [p.tree for p in plain]
    assert [p.words for p in noisy] == [p.words for p in plain]


def test_noise_is_put_on_training_pairs_only(made: Make) -> None:
    text = "".join(f"I see {n}.\tI do see {n} of it.\n" for n in range(40))
    noisy, plain = made(text, "a", dev=10, test=5, label_noise=1.0), made(text, "b", dev=10, test=5)
    for name in ("dev", "test"):
        assert list(noisy.split(name)) == list(plain.split(name))
    assert all(a.tree != b.tree for a, b in zip(noisy.split("train"), plain.split("train"), strict=True))


def test_labels_that_the_parser_lacks(made: Make) -> None:
    with pytest.raises(ConfigError, match="the parser fake makes no QP; keep some of its labels: TOP, S"):
        made("I see.\tI do see.\n", labels=("S", "QP"))


def test_errors_are_one_sentence(made: Make, tmp_path: Path, write_pairs: Write) -> None:
    with pytest.raises(InputError, match=r"in\.tsv: there are no pairs; give a file"):
        made("")
    with pytest.raises(InputError, match=r"in\.tsv: no line has the columns asked for \(no column 1 in line 1\)"):
        made("a\nb\n", "b")
    with pytest.raises(
        InputError, match=r"no training pair was kept, most often for the reason 'identical'; look there"
    ):
        made("a\ta\n", "c")
    assert (tmp_path / "c" / "rejects.jsonl").read_text().count("identical") == 1
    pairs, _ = write_pairs(3)
    (tmp_path / "wrong.trees").write_text("(S a)\n" * 3)
    with pytest.raises(
        SyntagmaError, match=r"wrong\.trees, line 1: the tree has other words than the target: 'a' where"
    ):
        prepare(
            CorpusOptions(inputs=(Input(pairs),), parser=f"brackets:{tmp_path / 'wrong.trees'}"),
            tmp_path / "d",
            workers=1,
        )


def test_other_folders_and_other_options_are_refused(made: Make, tmp_path: Path, fake_parser: list[str]) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("precious")
    with pytest.raises(
        ConfigError, match=r"full: it holds something else than a corpus; give --out a new or empty folder"
    ):
        made("a\tb\n", "full")
    made("a\tb\n")
    fake_parser.clear()
    made("a\tb\n")  # there already: nothing is done
    assert not fake_parser
    with pytest.raises(ConfigError, match=r"begun with other options \(max_words was 128, now 9\); give another --out"):
        made("a\tb\n", max_words=9)
    options = CorpusOptions(inputs=(Input(str(tmp_path / "in.tsv")),), max_words=9, vocab_size=300)
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert prepare(options, tmp_path / "out", workers=1, overwrite=True).options == options
    assert (tmp_path / "out" / "mine.txt").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_words": 9, "max_words": 3}, "no length is between 9 and 3"),
        ({"label_noise": 2.0}, "'label_noise' cannot be 2.0; give a number from 0 to 1"),
        ({"parser": "brackets"}, "lacks its file"),
        ({"parser": "brackets:x", "both_ways": True}, "needs trees of both sides"),
        ({"columns": ("0",)}, "1 columns were given"),
        ({"labels": ("S", "S")}, "some twice"),
        ({"chunk_rows": 0}, "'chunk_rows' cannot be 0"),
        ({"max_ratio": 0.5}, "'max_ratio' cannot be 0.5; give a number of at least 1"),
        ({"inputs": ()}, "no input was given"),
        ({"inputs": (Input("a", split="valid"),)}, "'valid' is not a split"),
    ],
)
def test_options_that_cannot_be(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CorpusOptions(**{"inputs": (Input("a.tsv"),), **settings})  # type: ignore[arg-type]


def test_options_refuse_unknown_keys() -> None:
    plain = CorpusOptions(inputs=(Input("a.tsv"),)).to_dict()
    with pytest.raises(ConfigError, match="'max_word' is not a setting of CorpusOptions; did you mean 'max_words'"):
        CorpusOptions.from_dict({**plain, "max_word": 3})
    with pytest.raises(ConfigError, match="'pth' is not a setting of Input"):
        CorpusOptions.from_dict({**plain, "inputs": [{"pth": "a"}]})


def texts_of(corpus: Corpus, split: str) -> tuple[set[str], set[str]]:
    pairs = list(corpus.split(split))
    return {pair.source for pair in pairs}, {pair.source for pair in pairs} | {pair.target for pair in pairs}


@pytest.mark.parametrize("both_ways", [False, True])
def test_no_source_of_dev_is_shown_in_training(made: Make, both_ways: bool) -> None:
    """Each text has several partners, as in real collections of paraphrases."""
    rows = "".join(f"I see {n % 40}.\tI do see it {n % 30}!\n" for n in range(120))
    corpus = made(rows, dev=8, test=4, both_ways=both_ways)
    for split in ("dev", "test"):
        assert not texts_of(corpus, split)[0] & texts_of(corpus, "train")[1]
    lost = [entry for entry in rejects(corpus) if entry["reason"] == "held-out-text"]
    assert len(lost) == corpus.facts["rejects"]["held-out-text"] > 0
    held = texts_of(corpus, "dev")[0] | texts_of(corpus, "test")[0]
    assert all({entry["source"], entry["target"]} & held for entry in lost)
    sides = {entry["detail"] for entry in lost}
    assert sides <= {"the source is a source of dev or test", "the target is a source of dev or test"}
    kept = made(rows, "kept", dev=8, test=4, both_ways=both_ways, keep_overlap=True)
    assert len(kept.split("train")) == len(corpus.split("train")) + len(lost)
    assert [pair.source for pair in kept.split("dev")] == [pair.source for pair in corpus.split("dev")]


def test_no_source_of_a_given_dev_file_is_shown_in_training(made: Make, tmp_path: Path) -> None:
    (tmp_path / "dev.tsv").write_text("I see it.\tI do.\n")
    inputs = (Input(str(tmp_path / "dev.tsv"), split="dev"),)
    rows = "I see it.\tSee it I do.\nDo I see it?\tI see it.\nOh.\tI do.\nOh no.\tOh.\n"
    corpus = made(rows, inputs=inputs)
    assert [(pair.source, pair.target) for pair in corpus.split("train")] == [("Oh.", "I do."), ("Oh no.", "Oh.")]
    assert [(entry["line"], entry["detail"]) for entry in rejects(corpus)] == [
        (1, "the source is a source of dev or test"),
        (2, "the target is a source of dev or test"),
    ]
    assert len(made(rows, "kept", inputs=inputs, keep_overlap=True).split("train")) == 4


def test_dev_by_itself(made: Make, tmp_path: Path) -> None:
    rows = "".join(f"I see {n}.\tI do see it {n}!\n" for n in range(30))
    drawn = made(rows, dev=AUTO)
    assert {name: len(drawn.split(name)) for name in drawn.splits} == {"train": 20, "dev": 10}
    again = prepare(
        CorpusOptions(inputs=(Input(str(drawn.folder)),), dev=AUTO, vocab_size=300), tmp_path / "again", workers=1
    )
    assert {name: len(again.split(name)) for name in again.splits} == {"train": 20, "dev": 10}
    (tmp_path / "dev.tsv").write_text("Oh.\tOh no.\n")
    given = made(rows, "given", inputs=(Input(str(tmp_path / "dev.tsv"), split="dev"),), dev=AUTO)
    assert {name: len(given.split(name)) for name in given.splits} == {"train": 30, "dev": 1}
    assert made("I see.\tI do see.\n", "few", dev=AUTO).splits == ("train",)


def test_nothing_left_to_train_on(made: Make) -> None:
    with pytest.raises(ConfigError, match="every training pair has a side that is a source of dev or test; draw fewer"):
        made("".join(f"I see.\tI do see it {n}!\n" for n in range(30)), dev=2)


def test_targets_in_another_language_than_the_parsers_get_a_warning(
    made: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    made("I nod.\tIch habe das Buch nicht gelesen.\nYes.\tEr ist nicht da, und sie ist es auch nicht.\n")
    assert "the text looks like German, but the parser neural is for English" in capsys.readouterr().err
