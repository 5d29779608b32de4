from __future__ import annotations

import threading
from contextlib import closing
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from syntagma.corpus import Corpus
from syntagma.errors import ConfigError
from syntagma.network.batch import Example, make_batch
from syntagma.network.config import ModelConfig
from syntagma.network.network import Network
from syntagma.network.storage import from_pretrained
from syntagma.train import TrainConfig, train
from syntagma.train.data import Data, DataError, Levels, Position, ahead, keep_levels, walk
from syntagma.train.material import gather
from train.toy import make_corpus

ARCHITECTURES = ("extra-encoder", "extra-attention", "concat", "seq2seq", "linearised")


def network_config(corpus: Corpus, architecture: str = "extra-encoder", **changes: object) -> ModelConfig:
    values = {"data": "x", "preset": "tiny", "architecture": architecture, **changes}
    return TrainConfig.from_dict(values).network(corpus.subwords)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_batches_keep_to_the_budget(corpus: Corpus, architecture: str, whole: bool) -> None:
    if whole and architecture in ("seq2seq", "linearised"):
        with pytest.raises(ConfigError, match="writes nothing but whole texts; leave seq2seq_objective out"):
            network_config(corpus, architecture, seq2seq_objective=True)
        return
    data = Data(corpus.split("train").examples, "train", network_config(corpus, architecture, seq2seq_objective=whole))
    batches = data.batches(600, seed=3)
    seen = []
    for numbers in batches.epoch(0):
        batch = data.batch(numbers)
        width = batch.source.shape[1] + batch.inputs.shape[1]
        width += 0 if batch.contexts is None else batch.contexts.ids.shape[1]
        assert len(batch.source) * width <= 600 or len(numbers) == 1
        seen += numbers
    assert sorted(seen) == list(range(len(data)))


def test_baselines_learn_the_whole_target(corpus: Corpus) -> None:
    stored = corpus.split("train").examples[0]
    for architecture, ids in (("seq2seq", stored.target_ids), ("linearised", stored.linear_ids)):
        data = Data(corpus.split("train").examples, "train", network_config(corpus, architecture))
        assert data.example(0) == Example(stored.source_ids.tolist(), [((), ids.tolist())])


@pytest.mark.parametrize("architecture", ["extra-encoder", "extra-attention"])
@torch.no_grad()
def test_whole_texts_are_learnt_beside_the_levels_and_apart_from_them(corpus: Corpus, architecture: str) -> None:
    config = network_config(
        corpus, architecture, label_index=True, history=True, copy=True, seq2seq_objective=True, dropout=0.0
    )
    torch.manual_seed(1)
    network = Network(config).eval()
    both = Data(corpus.split("train").examples, "train", config).example(0)
    *levels, whole = both.levels
    assert whole == ((config.end,), corpus.split("train").examples[0].target_ids.tolist())
    scores = [network.token_scores(make_batch([Example(both.source, some)], config)) for some in (levels, [whole])]
    together = network.token_scores(make_batch([both], config))
    assert torch.allclose(together, torch.cat(scores, dim=1), atol=1e-5)


def test_whole_texts_alone(corpus: Corpus) -> None:
    examples = corpus.split("train").examples
    config = network_config(corpus, seq2seq_objective=True)
    both, alone = Data(examples, "train", config), Data(examples, "train", config, seq2seq_only=True)
    for number in range(len(both)):
        assert alone.example(number).levels == both.example(number).levels[-1:]
        made = alone.batch([number])
        assert alone.costs[number].tolist() == [made.source.shape[1], 1, made.inputs.shape[1]]
    with pytest.raises(ConfigError, match="give seq2seq_objective=true as well"):
        Data(examples, "train", network_config(corpus), seq2seq_only=True)


def test_walking_goes_on_anywhere(corpus: Corpus) -> None:
    data = Data(corpus.split("train").examples, "train", network_config(corpus))
    batches = data.batches(600, seed=3)
    walked = [step for step, _ in zip(walk(batches, Position(0, 0)), range(3 * len(batches)), strict=False)]
    for at in (1, len(batches) - 1, len(batches), 2 * len(batches) + 1):
        assert next(walk(batches, walked[at - 1][1])) == walked[at]


@torch.no_grad()
def test_dropped_levels_leave_the_others_as_they_are(corpus: Corpus) -> None:
    config = network_config(corpus, label_index=True, history=True, dropout=0.0)
    data = Data(corpus.split("train").examples, "train", config)
    torch.manual_seed(1)
    network = Network(config).eval()
    examples = [data.example(number) for number in (0, 1, 2, 5)]
    flags = [[at % 2 == row % 2 for at in range(len(one.levels))] for row, one in enumerate(examples)]
    flags[2] = [True] * len(flags[2])
    flags[3] = [at == len(flags[3]) - 1 for at in range(len(flags[3]))]
    whole = make_batch(examples, config)
    kept = keep_levels(whole, flags, config.pad)
    opposite = keep_levels(whole, [[not flag for flag in row] for row in flags], config.pad)
    losses = [network.loss(batch, 0.1) for batch in (whole, kept, opposite)]
    assert losses[0].tokens == losses[1].tokens + losses[2].tokens
    assert float(losses[0].total) == pytest.approx(float(losses[1].total + losses[2].total), rel=1e-5)
    assert kept.tokens == sum(
        len(infill) + 1
        for one, row in zip(examples, flags, strict=True)
        for (_, infill), keep in zip(one.levels, row, strict=True)
        if keep
    )


@pytest.mark.parametrize("architecture", ["extra-encoder", "concat"])
def test_levels_are_drawn_in_favour_of_words(corpus: Corpus, architecture: str) -> None:
    data = Data(corpus.split("train").examples, "train", network_config(corpus, architecture))
    first = corpus.subwords.first_text_id
    controls = frozenset(range(first))
    levels = Levels(0.2, 1, controls)
    words, plain = [], []
    for number in range(len(data)):
        example = data.example(number)
        kept = levels.keep(4, number, example)
        assert kept == levels.keep(4, number, example)
        assert any(kept)
        for (_, infill), keep in zip(example.levels, kept, strict=True):
            share = float(np.mean(np.array(infill) >= first))
            words += [keep] * (share >= 0.5)
            plain += [keep] * (share == 0)
    assert np.mean(words) > 1.5 * np.mean(plain)
    assert Levels(1.0, 1, controls).keep(0, 0, data.example(0)) == [True] * len(data.example(0).levels)
    some, every = data.batch(range(8), levels, 4), data.batch(range(8))
    assert 0 < some.tokens < every.tokens


def test_rows_without_some_levels_stay_about_equally_long(corpus: Corpus) -> None:
    config = network_config(corpus, seq2seq_objective=True)
    data = Data(corpus.split("train").examples, "train", config)
    levels = Levels(0.0, 1, frozenset((config.part, *config.labels)))
    kept = whole = places = 0
    for numbers in data.batches(2000, seed=1).epoch(0):
        batch = data.batch(numbers, levels, 0)
        kept += batch.tokens
        places += batch.inputs.numel()
        whole += data.batch(numbers).tokens
    assert 0.4 < kept / whole < 0.65
    assert places < 0.75 * whole


def test_long_examples_are_refused_or_counted(
    corpus: Corpus, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    examples = corpus.split("train").examples
    longest = int(examples.lengths().source.max()) + 1
    config = network_config(corpus, max_positions=longest - 1)
    sentence = rf"train.*: example \d+ of split 'train' has {longest} tokens in one sequence, more than the model's"
    with pytest.raises(DataError, match=sentence.replace("train.*: ", "", 1)):
        Data(examples, "train", config)
    data = Data(examples, "train", config, skip_long=True)
    assert data.skipped == int((examples.lengths().source + 1 >= longest).sum())
    assert len(data) + data.skipped == len(examples)
    with pytest.raises(DataError, match="every example of split 'train' is too long; give a larger max_positions"):
        Data(examples, "train", network_config(corpus, max_positions=2), skip_long=True)
    settings = {"data": str(corpus.folder), "preset": "tiny", "steps": 1, "threads": 1, "max_positions": longest - 1}
    train(TrainConfig.from_dict(settings | {"skip_long": True}), tmp_path / "run")
    assert f"{data.skipped} examples of split 'train' are longer than the positions" in capfd.readouterr().err


def test_empty_and_missing_splits(corpus: Corpus, tmp_path: Path) -> None:
    settings = {"data": str(corpus.folder), "preset": "tiny", "steps": 1, "threads": 1}
    with pytest.raises(DataError, match="there is no split 'extra'; prepare one; there are: train, dev"):
        train(TrainConfig.from_dict(settings | {"dev_split": "extra"}), tmp_path / "run")

    class Nothing:
        def __len__(self) -> int:
            return 0

    with pytest.raises(DataError, match="c: its split 'dev' is empty; prepare it with a dev split"):
        Data(Nothing(), "dev", network_config(corpus), place="c")  # type: ignore[arg-type]


def test_another_tokenizer_or_label_set(corpus: Corpus, tmp_path: Path) -> None:
    settings = {"data": str(corpus.folder), "preset": "tiny", "steps": 1, "threads": 1, "batch_tokens": 400}
    train(TrainConfig.from_dict(settings), tmp_path / "first", quiet=True)
    start = settings | {"init": str(tmp_path / "first")}
    train(TrainConfig.from_dict(start), tmp_path / "second", quiet=True)
    other = make_corpus(tmp_path / "other", vocab_size=310)
    config = TrainConfig.from_dict(start | {"data": str(other.folder)})
    made = gather(config, other, None, tmp_path / "third")  # type: ignore[arg-type]
    first = from_pretrained(tmp_path / "first")
    for name, weight in made.network.state_dict().items():
        if name != "embedding.weight":
            assert torch.equal(weight, first.network.state_dict()[name]), name
    old, new = first.network.embedding.weight, made.network.get_parameter("embedding.weight")
    pieces = {corpus.subwords.piece(at): at for at in range(corpus.subwords.first_text_id, corpus.subwords.size)}
    shared = [(pieces[p], n) for n in range(10, other.subwords.size) if (p := other.subwords.piece(n)) in pieces]
    assert 256 <= len(shared) < other.subwords.size
    for was, now in [(at, at) for at in range(10)] + shared:
        assert torch.equal(old[was], new[now])
    train(config, tmp_path / "third", quiet=True)
    fewer = make_corpus(tmp_path / "fewer", labels=("S", "NP", "VP"))
    with pytest.raises(
        ConfigError, match=r"its labels \(S NP VP\) are not those of the model; prepare it with the labels"
    ):
        train(TrainConfig.from_dict(start | {"data": str(fewer.folder)}), tmp_path / "fourth", quiet=True)
    with pytest.raises(ConfigError, match="the settings make another network than the model"):
        train(TrainConfig.from_dict(start | {"width": 64}), tmp_path / "fifth", quiet=True)


def test_what_is_made_ahead_comes_in_order_and_raises_in_its_turn() -> None:
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        if number == 4:
            raise DataError("example 4 is damaged")
        return number * number

    with closing(ahead(make, count(), depth=2)) as squares:
        assert [next(squares) for _ in range(4)] == [0, 1, 4, 9]
        assert max(made) <= 3 + 2
        with pytest.raises(DataError, match="example 4 is damaged"):
            next(squares)
    before = threading.active_count()
    with closing(ahead(make, count(10))) as squares:
        next(squares)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
