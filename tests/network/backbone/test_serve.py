"""A service over a pretrained backbone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from serve_models import client_of
from syntagma.corpus import Corpus
from syntagma.network.backbone.storage import make_backbone
from syntagma.runtime.hf import HfRuntime
from syntagma.search import Generator, SearchOptions
from syntagma.serve.models import serve_model
from syntagma.serve.service import Service

TEXT = "the fish was what I saw on the mat"


@pytest.mark.parametrize("kind", ["bart", "gpt2"])
def test_growing_level_by_level_comes_to_what_generate_gives(corpus: Corpus, bases: dict[str, Path], kind: str) -> None:
    """The client sends back states, from which contexts are built and tokenised anew."""
    network, vocabulary, _ = make_backbone(str(bases[kind]), corpus.labels, "concat")
    options = SearchOptions.from_dict({"beam": 3, "max_depth": 4, "max_tokens": 12})
    generator = Generator(HfRuntime(network), vocabulary, options)
    wanted = generator(TEXT, nbest=3)

    async def grow() -> None:
        async with client_of(Service({"backbone": serve_model("backbone", generator)})) as client:
            body: dict[str, Any] = {"text": TEXT, "nbest": 3}
            for _ in range(10):
                answer = await client.post("/v1/grow", json=body)
                assert answer.status_code == 200, answer.text
                found = answer.json()
                if found["finished"]:
                    break
                body["beam_state"] = [{"state": node["state"]} for node in found["beam"]]
            assert [output["text"] for output in found["outputs"]] == [output.text for output in wanted]
            assert [output["score"] for output in found["outputs"]] == pytest.approx(
                [o.score for o in wanted], abs=1e-4
            )
            page = await client.post("/v1/explain", json={"text": TEXT})
            assert page.status_code == 200
            assert TEXT in page.text

    asyncio.run(grow())
