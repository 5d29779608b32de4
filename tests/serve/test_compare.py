from __future__ import annotations

import asyncio
import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve_models import client_of, tiny_service
from syntagma.errors import ConfigError, InputError
from syntagma.serve.compare import VoteStore, VotingSession, read_items
from syntagma.serve.questions import QUESTIONS, Question, read_questions
from syntagma.serve.votes import judge, krippendorff, sign_test, wilson

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def items(tmp_path: Path) -> Path:
    lines = [
        {"source": f"source {n}", "outputs": {"ours": [f"good {n}", "g"], "theirs": [f"bad {n}", "b"]}}
        for n in range(20)
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return path


def test_a_blind_comparison_from_the_first_item_to_the_table(items: Path, tmp_path: Path, syntagma: Run) -> None:
    file = tmp_path / "v.sqlite"
    comparison = VotingSession(read_items(items), VoteStore(file))

    async def test() -> None:
        async with client_of(tiny_service(comparison=comparison)) as client:
            sides = []
            for done in range(20):
                seen = (await client.get("/v1/compare/next", params={"voter": "ann"})).json()
                assert (seen["done"], seen["total"]) == (done, 20)
                assert seen == (await client.get("/v1/compare/next", params={"voter": "ann"})).json()
                assert "ours" not in json.dumps(seen)
                ours = "left" if seen["left"][0].startswith("good") else "right"
                sides.append(ours)
                answers = {"fidelity": ours, "novelty": "tie", "diversity": "left"}
                vote = {"voter": "ann", "item": seen["item"], "answers": answers}
                stored = {"stored": True, "done": done + 1}
                assert (await client.post("/v1/compare/vote", json=vote)).json() == stored
                assert (await client.post("/v1/compare/vote", json=vote)).json() == stored
            assert set(sides) == {"left", "right"}
            last = (await client.get("/v1/compare/next", params={"voter": "ann"})).json()
            assert last == {"item": None, "done": 20, "total": 20, "ties": True, "before": seen["item"]}
            other = vote | {"answers": {"fidelity": "tie"}, "voter": "bob"}
            assert (await client.post("/v1/compare/vote", json=other)).json()["done"] == 0
            changed = vote | {"answers": {"fidelity": "tie"}}
            assert (await client.post("/v1/compare/vote", json=changed)).json()["done"] == 20
            for wrong in ({"item": "x"}, {"answers": {}}, {"answers": {"taste": "left"}}, {"voter": ""}):
                assert (await client.post("/v1/compare/vote", json=vote | wrong)).status_code == 422
            assert (await client.get("/v1/compare/next")).status_code == 422

    asyncio.run(test())
    assert "ours : theirs" in syntagma("votes", file).stdout
    verdicts = {one["question"]: one for one in map(json.loads, syntagma("votes", file, "--json").stdout.splitlines())}
    assert set(verdicts) == {question.name for question in QUESTIONS}
    fidelity = verdicts["fidelity"]
    assert (fidelity["first_wins"], fidelity["second_wins"], fidelity["ties"]) == (19, 0, 2)
    assert (fidelity["share"], fidelity["alpha"], fidelity["voters"]) == (1.0, 1.0, 2)
    assert fidelity["p"] == pytest.approx(2 / 2**19)
    assert verdicts["novelty"]["share"] is None
    rows = list(csv.DictReader(io.StringIO(syntagma("votes", file, "--csv").stdout)))
    assert len(rows) == 62  # what was voted twice is there once, what was changed twice
    assert rows[0]["voter"] == "ann"
    assert "no such file" in syntagma("votes", "nothing.sqlite", check=1).stderr
    assert "cannot be used" in syntagma("votes", items, check=1).stderr


def test_diversity_is_asked_only_where_both_have_several_lines(tmp_path: Path) -> None:
    lines = [
        {"source": "x", "outputs": {"a": "y", "b": ["z", "w"]}},
        {"source": "x", "outputs": {"a": "yy", "b": "zz"}},
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    session = VotingSession(read_items(tmp_path / "items.jsonl"), VoteStore(tmp_path / "v.sqlite"))
    seen = session.next("ann")
    assert [question["name"] for question in seen["questions"]] == ["fidelity", "novelty"]
    with pytest.raises(ConfigError, match="no question about this item"):
        session.vote("ann", seen["item"], {"diversity": "left"})
    assert session.vote("ann", seen["item"], {"fidelity": "left", "novelty": "tie"})["done"] == 1
    with pytest.raises(ConfigError, match="single line"):
        VotingSession(list(session.items.values()), session.store, [Question("d", "?", several=True)])


def test_a_voter_goes_back_and_a_later_answer_counts(items: Path, tmp_path: Path) -> None:
    session = VotingSession(read_items(items), VoteStore(tmp_path / "v.sqlite"), [Question("taste", "Which?")])
    seen = []
    for _ in range(3):
        seen.append(session.next("ann")["item"])
        session.vote("ann", seen[-1], {"taste": "left"})
    now = session.next("ann")
    assert (now["before"], now["answers"]) == (seen[2], {})
    back = session.next("ann", now["before"])
    assert (back["item"], back["before"], back["answers"]) == (seen[2], seen[1], {"taste": "left"})
    assert session.next("ann", seen[0])["before"] is None
    assert session.vote("ann", seen[2], {"taste": "right"})["done"] == 3
    assert session.next("ann", seen[2])["answers"] == {"taste": "right"}
    with pytest.raises(ConfigError, match="no such item"):
        session.next("ann", "nothing")


def test_questions_are_anybodys_and_a_choice_may_be_forced(items: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"name": "fluency", "text": "Which reads better?"}\n\n')
    questions = read_questions(tmp_path / "q.jsonl")
    session = VotingSession(read_items(items), VoteStore(tmp_path / "v.sqlite"), questions, ties=False)
    seen = session.next("ann")
    assert (seen["ties"], seen["questions"]) == (False, [{"name": "fluency", "text": "Which reads better?"}])
    with pytest.raises(ConfigError, match="must be chosen"):
        session.vote("ann", seen["item"], {"fluency": "tie"})
    assert session.vote("ann", seen["item"], {"fluency": "right"})["done"] == 1


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("{", "not JSON"), ("[]", "no question"), ('{"name": "x"}', "no question"), ("", "0 questions"),
        ('{"name": "x", "text": "?", "lines": 2}', "no question"),
        ('{"name": "x", "text": "?", "several": 1}', "no question"),
        ('{"name": "x", "text": "?"}\n{"name": "x", "text": "??"}', "comes twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_questions_is_said(lines: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(lines)
    with pytest.raises(InputError, match=what):
        read_questions(tmp_path / "q.jsonl")


@pytest.mark.parametrize(
    ("line", "what"),
    [("{", "not JSON"), ("[]", "two systems"), ('{"source": "x", "outputs": {"a": "b"}}', "two systems"),
     ('{"source": "x", "outputs": {"a": "b", "c": [1]}}', "no texts"), ("", "no items"),
     ('{"source": "x", "id": "1", "outputs": {"a": "b", "c": "d"}}\n' * 2, "comes twice")],
)  # fmt: skip
def test_what_is_wrong_with_items_is_said(line: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(line)
    with pytest.raises(InputError, match=what):
        read_items(tmp_path / "x.jsonl")


def test_sides_stay_when_the_file_is_opened_again(items: Path, tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        comparison = VotingSession(read_items(items), VoteStore(tmp_path / "v.sqlite"))
        found.append([comparison.sides(voter, item) for voter in "ab" for item in comparison.items.values()])
        comparison.store.close()
    assert found[0] == found[1]
    assert found[0][:20] != found[0][20:]


@given(st.integers(0, 300), st.integers(0, 300))
def test_laws_of_the_intervals_and_the_sign_test(wins: int, losses: int) -> None:
    votes = wins + losses
    if votes:
        low, high = wilson(wins, votes)
        assert 0 <= low <= wins / votes <= high <= 1
    assert 0 < sign_test(wins, losses) <= 1
    assert sign_test(wins, losses) == sign_test(losses, wins)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=12))
def test_laws_of_agreement(units: list[list[str]]) -> None:
    alpha = krippendorff(units)
    assert (alpha is None) == all(len(unit) < 2 for unit in units)
    if alpha is not None:
        assert alpha <= 1
        assert (alpha == 1) == all(len(set(unit)) == 1 for unit in units if len(unit) > 1)


def test_a_published_example_of_agreement() -> None:
    """The three observers with gaps of the Wikipedia article on Krippendorff's alpha: 0.691 for nominal data."""
    observers = ["*****34121133*3", "1*213343*******", "**21344*21133*4"]
    units = [[value for value in unit if value != "*"] for unit in zip(*observers, strict=True)]
    assert krippendorff(units) == pytest.approx(0.691, abs=5e-4)


def test_the_last_vote_counts() -> None:
    rows = [
        (n, "t", "ann", "1", "novelty", answer, "a", "b", won)
        for n, (answer, won) in enumerate([("left", "a"), ("right", "b")])
    ]
    (verdict,) = judge(rows)
    assert (verdict.first_wins, verdict.second_wins, verdict.alpha) == (0, 1, None)
    assert judge([]) == []
