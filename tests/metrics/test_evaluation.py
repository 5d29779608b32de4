from __future__ import annotations

from collections.abc import Iterator

import pytest

from syntagma.errors import ConfigError, SyntagmaError
from syntagma.metrics import Bleu, Candidate, DLex, DSyn, MetricOptions, OneReference, Rouge, Segment, evaluate, select
from syntagma.metrics.evaluation import BATCH
from syntagma.metrics.parsing import TreeMaker
from syntagma.metrics.per_reference import each_reference
from syntagma.metrics.registry import known_names, to_parse
from syntagma.tree import Tree

TEXT = {"hyp", "refs", "src"}


def names(metrics: list) -> list[str]:
    return [name for metric in metrics for name in metric.names]


def test_batches_make_no_difference() -> None:
    segments = [Segment(f"a b c {n % 7} d", ("a b c 3 d",), "a b c") for n in range(2 * BATCH + 5)]
    metrics = [Bleu(), Rouge(), DLex()]
    sizes: list[int] = []
    [result] = evaluate(metrics, [(segment,) for segment in segments], progress=sizes.append)
    expected = [score.value for metric in metrics for score in metric.corpus(segments)]
    assert result.values() == pytest.approx(expected)
    assert sizes == [BATCH, BATCH, 5]
    assert result.segments == len(segments)
    assert result.segment_scores().shape == (len(segments), 5)


def test_only_a_few_segments_are_held_at_a_time() -> None:
    class Counted(str):
        alive = most = 0

        def __new__(cls, text: str) -> Counted:
            cls.alive += 1
            cls.most = max(cls.most, cls.alive)
            return super().__new__(cls, text)

        def __del__(self) -> None:
            type(self).alive -= 1

    def segments() -> Iterator[tuple[Segment, ...]]:
        for n in range(20 * BATCH):
            yield (Segment(Counted(f"a b c d {n}"), ("a b c d",), "a"),)

    evaluate([Bleu(), Rouge(), DLex()], segments())
    assert BATCH <= Counted.most < 4 * BATCH


def test_empty_hypotheses_are_counted_and_score_nothing() -> None:
    [result] = evaluate([Rouge(), DLex()], [(Segment("", ("a",), "a"),), (Segment("a", ("a",), "a"),)])
    assert result.empty == 1
    assert result.values() == [50.0, 0.0, 50.0, 50.0]


def test_no_segments_is_an_error() -> None:
    with pytest.raises(SyntagmaError, match="no segments"):
        evaluate([Bleu()], [])


def test_scores_carry_signatures_and_intervals() -> None:
    [result] = evaluate([Bleu()], [(Segment("a b c d e", ("a b c d f",)),)] * 3)
    [plain], [bounded] = result.scores(), result.scores(resamples=50)
    assert plain.interval is None
    assert bounded.interval == pytest.approx((plain.value, plain.value))
    assert plain.signature.startswith("BLEU|level:corpus|case:mixed|tok:none")
    assert str(bounded).startswith("bleu 66.9 [66.9, 66.9] (BLEU|")


def test_each_reference_alone() -> None:
    segments = [Segment("a b c d", ("a b c e", "a b c d"), "x")]
    metrics = each_reference([Bleu(), DLex()], 2)
    assert names(metrics) == ["bleu", "d_lex", "bleu[ref-0]", "bleu[ref-1]"]
    [result] = evaluate(metrics, [tuple(segments)])
    alone = [Bleu().corpus([segments[0]._replace(refs=(ref,))])[0].value for ref in segments[0].refs]
    assert result.values()[2:] == pytest.approx(alone)
    assert OneReference(Bleu(), 1).signature().endswith("|ref:1")
    assert names(each_reference([Bleu()], 1)) == ["bleu"]


def without_meteor(found: list[str]) -> list[str]:
    return [name for name in found if name != "meteor"]  # which may or may not be installed


def test_the_usual_metrics_are_those_that_the_fields_allow() -> None:
    both = ["bleu", "self_bleu", "ibleu", "rouge1", "rouge2", "rougeL", "d_lex", "chrf", "length_ratio", "copy_rate"]
    assert without_meteor(names(select(None, TEXT, MetricOptions()))) == both
    assert names(select(None, {"hyp", "src"}, MetricOptions())) == ["self_bleu", "d_lex", "copy_rate"]
    trees = names(select(None, {"hyp", "hyp_tree", "src_tree", "induced", "template"}, MetricOptions()))
    assert trees == ["d_syn", "tree_precision", "tree_recall", "tree_f1", "template_match", "template_match_parsed"]


def test_metrics_by_name_come_in_the_tables_order() -> None:
    assert names(select(["d_lex", "rouge2", "bleu"], TEXT, MetricOptions())) == [
        "bleu",
        "rouge1",
        "rouge2",
        "rougeL",
        "d_lex",
    ]
    assert names(select(["rouge"], TEXT, MetricOptions())) == ["rouge1", "rouge2", "rougeL"]


def test_a_named_metric_without_its_input_is_an_error() -> None:
    with pytest.raises(ConfigError, match="d_lex needs --src"):
        select(["d_lex"], {"hyp", "refs"}, MetricOptions())
    with pytest.raises(ConfigError, match="no metric 'blue'; use one of bleu, self_bleu"):
        select(["blue"], TEXT, MetricOptions())


def test_a_missing_package_leaves_the_metric_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    from syntagma.metrics import meteor, similarity

    monkeypatch.setattr(meteor, "find_spec", lambda name: None)
    monkeypatch.setattr(similarity, "find_spec", lambda name: None)
    notes: list[str] = []
    assert names(select(["meteor", "similarity", "bleu"], TEXT, MetricOptions(), notes.append)) == ["bleu"]
    assert [note.partition(" left out: ")[0] for note in notes] == ["meteor", "similarity"]
    assert all("pip install" in note for note in notes)


def test_all_names_are_known_and_distinct() -> None:
    assert len(set(known_names())) == len(known_names())
    assert {"bleu", "meteor", "rouge", "d_syn_beam", "similarity"} <= set(known_names())


@pytest.mark.parametrize(
    ("asked", "fields", "expected"),
    [
        (None, TEXT, {"hyp_tree", "src_tree"}),
        (None, {"hyp", "refs"}, set()),
        (["bleu"], TEXT, set()),
        (["d_syn_ref"], TEXT, {"hyp_tree", "ref_trees"}),
        (None, TEXT | {"hyp_tree", "src_tree"}, set()),
        (None, TEXT | {"hyp_tree"}, {"src_tree"}),
        (["tree_f1"], {"hyp", "induced"}, {"hyp_tree"}),
        (["d_syn_beam"], {"hyp", "nbest"}, {"nbest_trees"}),
    ],
)
def test_what_a_parser_is_asked_for(asked: list[str] | None, fields: set[str], expected: set[str]) -> None:
    assert to_parse(asked, fields) == expected


class FlatParser:
    """Every sentence is one NP; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def parse(self, sentences: list[list[str]]) -> list[Tree]:
        self.asked += sentences
        return [Tree("TOP", [Tree("NP", words)]) for words in sentences]


def test_texts_are_parsed_once_and_empty_ones_not_at_all() -> None:
    parser = FlatParser()
    maker = TreeMaker(parser, {"hyp_tree", "src_tree", "ref_trees"})
    one, two = maker([Segment("a b", ("c",), "a b"), Segment("", ("c",), "c")])
    assert one.hyp_tree == one.src_tree == Tree.read("(NP a b)")
    assert one.ref_trees == two.ref_trees == (Tree.read("(NP c)"),)
    assert two.hyp_tree is None
    maker([Segment("a b", ("c",), "d")])
    assert parser.asked == [("a", "b"), ("c",), ("d",)]


def test_a_text_with_an_induced_tree_is_parsed_in_its_words() -> None:
    induced = Tree.read("(TOP (S I can't))")
    maker = TreeMaker(FlatParser(), {"hyp_tree", "nbest_trees"})
    candidates = (Candidate("I can't", induced), Candidate("I can't"), Candidate(""))
    [segment] = maker([Segment("I can't", induced=induced, nbest=candidates)])
    assert segment.hyp_tree == Tree.read("(NP I can't)")
    assert [candidate.tree for candidate in segment.nbest] == [segment.hyp_tree, Tree.read("(NP I ca n't)"), None]


def test_a_text_that_the_parser_refuses_has_no_tree() -> None:
    class Short(FlatParser):
        def parse(self, sentences: list[list[str]]) -> list[Tree]:
            if any(len(words) > 2 for words in sentences):
                raise SyntagmaError("the sentence is too long")
            return super().parse(sentences)

    maker = TreeMaker(Short(), {"hyp_tree"})
    trees = [segment.hyp_tree for segment in maker([Segment("a b"), Segment("a b c"), Segment("d")])]
    assert trees == [Tree.read("(NP a b)"), None, Tree.read("(NP d)")]
    assert maker.refused == ["the sentence is too long"]


def test_evaluation_with_a_parser() -> None:
    maker = TreeMaker(FlatParser(), {"hyp_tree", "src_tree"})
    rows = [(Segment("a b", src="c d e"), Segment("", src="c d e"))]
    ours, theirs = evaluate([DSyn()], rows, maker)
    assert (ours.values(), theirs.values()) == ([0.0], [100.0])
