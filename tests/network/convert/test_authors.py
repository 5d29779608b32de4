from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from syntagma.levels import PART, Label
from syntagma.network.batch import Example, make_batch
from syntagma.network.convert.authors import convert, read_checkpoint
from syntagma.network.network import Network
from syntagma.network.storage import ModelError, from_pretrained
from syntagma.text import Word
from syntagma.text.authors import AuthorsSubwords
from syntagma.text.vocabulary import Vocabulary

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def worst_difference(network: Network, subwords: Vocabulary, reference: Path) -> float:
    """Between the scores of all levels of the traces and ours."""
    differences = []
    for line in (reference / "tiny_trace.beam1.jsonl").read_text().splitlines():
        for level in json.loads(line)["levels"]:
            for item in level:
                source, context = item["input"].split(" <sep> ")
                tokens = [
                    Label(t.strip("<>").replace("TOP", "T")) if t[0] == "<" else _pieces(t, subwords)
                    for t in context.split()
                ]
                levels = [(subwords.encode_tokens(tokens), item["cands"][0]["tokens"][:-1])]
                ids = [at for piece in source.split() for at in _pieces(piece, subwords)]
                with torch.inference_mode():
                    loss = network.loss(make_batch([Example(ids, levels)], network.config))
                differences.append(abs(-loss.nll.item() / loss.tokens - item["cands"][0]["score"]))
    assert len(differences) == 56
    return max(differences)


def _pieces(piece: str, subwords: Vocabulary) -> tuple[int, ...]:
    assert isinstance(subwords, AuthorsSubwords)
    return (subwords._ids[piece],)


def test_every_level_of_the_traces_is_reproduced(reference: Path) -> None:
    network, subwords = convert(
        reference / "tiny_checkpoint.pt", reference / "tiny_dict.txt", reference / "tiny_bpe.codes"
    )
    assert worst_difference(network, subwords, reference) < 1e-4


def test_the_command_writes_a_folder_that_loads(syntagma: Run, reference: Path, tmp_path: Path) -> None:
    files = ["--dict", reference / "tiny_dict.txt", "--bpe", reference / "tiny_bpe.codes"]
    syntagma("convert", reference / "tiny_checkpoint.pt", *files, "--out", "model")
    loaded = from_pretrained(tmp_path / "model")
    assert worst_difference(loaded.network, loaded.subwords, reference) < 1e-4
    again = syntagma("convert", reference / "tiny_checkpoint.pt", *files, "--out", "model", check=1)
    assert "exists already" in again.stderr


def test_text_as_the_authors_cut_it(reference: Path) -> None:
    subwords = AuthorsSubwords.read(reference / "tiny_dict.txt", reference / "tiny_bpe.codes")
    sources = (reference / "toy.src").read_text().splitlines()
    traces = [json.loads(line) for line in (reference / "tiny_trace.beam1.jsonl").read_text().splitlines()]
    for source, trace in zip(sources, traces, strict=True):
        assert " ".join(subwords._entries[at] for at in subwords.encode(source)) == trace["src"][0]
    assert (
        subwords.decode(subwords.encode("there are no time-share apartments ."))
        == "there are no time-share apartments."
    )
    assert not any(subwords.is_label(at) for at in subwords.encode_words([Word("<NP>")])[0])
    tokens = [PART, Label("NP"), Word("apartments", ""), Word(".", "")]
    assert subwords.decode_tokens(subwords.encode_tokens(tokens)) == tokens


class _Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (os.system, ("touch pwned",))


def test_a_crafted_pickle_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"model": {}, "args": _Evil()}, "evil.pt")
    with pytest.raises(ModelError, match="asks to run code, which is refused"):
        read_checkpoint("evil.pt")
    assert not (tmp_path / "pwned").exists()


def test_what_is_no_checkpoint(tmp_path: Path, reference: Path) -> None:
    (tmp_path / "text.pt").write_text("hello")
    with pytest.raises(ModelError, match="not a checkpoint"):
        read_checkpoint(tmp_path / "text.pt")
    with pytest.raises(ModelError, match="cannot be opened"):
        read_checkpoint(tmp_path / "none.pt")
    torch.save({"weights": torch.ones(1)}, tmp_path / "other.pt")
    with pytest.raises(ModelError, match="holds no model"):
        read_checkpoint(tmp_path / "other.pt")
    short = tmp_path / "dict.txt"
    short.write_text("\n".join((reference / "tiny_dict.txt").read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ModelError, match="6864 entries, the dictionary gives 6863"):
        convert(reference / "tiny_checkpoint.pt", short, reference / "tiny_bpe.codes")


def test_all_wrong_weights_are_listed_at_once(tmp_path: Path, reference: Path) -> None:
    weights, settings = read_checkpoint(reference / "tiny_checkpoint.pt")
    del weights["encoder.layers.0.fc1.bias"]
    weights["encoder.strange"] = torch.ones(1)
    weights["decoder.layers.0.fc2.bias"] = torch.ones(3)
    torch.save({"model": weights, "cfg": {"model": settings}}, tmp_path / "broken.pt")
    with pytest.raises(ModelError) as caught:
        convert(tmp_path / "broken.pt", reference / "tiny_dict.txt", reference / "tiny_bpe.codes")
    for name in (
        "source_encoder.layers.0.feed_forward.inner.bias",
        "encoder.strange",
        "decoder.0.feed_forward.outer.bias",
    ):
        assert name in str(caught.value)
