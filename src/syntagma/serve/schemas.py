"""Requests and answers of the service, as OpenAPI tells them.

Requests are strict: an unknown key, a value of another type or beyond a limit is refused.  Answers are described here
and made elsewhere as plain values.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model, model_validator

from syntagma.aliases import ALIASES, renamed
from syntagma.search.options import SearchOptions
from syntagma.search.steered import Control, SteeredText
from syntagma.settings import NumberRange, describe

TEXT, LONG_TEXT, TEXTS, PARSED = 400, 20_000, 32, 64
BEAM, NBEST, DEPTH, WISHES, PINS = 16, 16, 32, 16, 64
CONTEXT, STATE, WORD = 2_000, 40_000, 80
EXAMPLE = "It seems like he has made a mistake."

Text = Annotated[str, StringConstraints(min_length=1, max_length=TEXT, pattern=r"\S")]
"""A text with at least one visible character."""
LongText = Annotated[str, StringConstraints(min_length=1, max_length=LONG_TEXT, pattern=r"\S")]
"""A text of several sentences."""
Word = Annotated[str, StringConstraints(min_length=1, max_length=WORD, pattern=r"\S")]
Context = Annotated[str, StringConstraints(min_length=1, max_length=CONTEXT, pattern=r"\S")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Words = Annotated[list[Word], Field(max_length=WISHES)]


class Request(BaseModel):
    """Base of every request."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_SERVED = {
    "beam": NumberRange(ge=1, le=BEAM),
    "max_depth": NumberRange(ge=1, le=DEPTH),
    "channel_weight": NumberRange(ge=0, le=100),
    "novelty_weight": NumberRange(ge=0, le=100),
    "diversity_penalty": NumberRange(ge=0, le=100),
    "num_beam_groups": NumberRange(ge=0, le=BEAM),
    "num_structures": NumberRange(ge=0, le=BEAM),
    "num_plans": NumberRange(ge=0, le=BEAM),
    "num_drafts": NumberRange(ge=0, le=6 * BEAM),
    "prune": NumberRange(ge=0, le=1000),
    "reward": NumberRange(ge=-100, le=100),
    "seed": NumberRange(ge=0, le=2**53 - 1),
    "temperature": NumberRange(ge=0.01, le=100),
}
"""Bounds of the service, where they are closer than those of `SearchOptions`."""
_KEPT = {"max_tokens", "max_row_steps", "bounds"}
"""Options that are the service's own business."""


def _search_fields() -> dict[str, Any]:
    """The fields of `SearchOptions` that a client may set, under former names as well."""
    hints = get_type_hints(SearchOptions)
    metadata = {item.name: item.metadata for item in fields(SearchOptions)}
    options: dict[str, Any] = {}
    for line in describe(SearchOptions):
        if line.name not in _KEPT:
            bounds = _SERVED.get(line.name) or metadata[line.name].get("bounds", NumberRange())
            limits = {name: value for name, value in bounds._asdict().items() if value is not None}
            options[line.name] = (hints[line.name] | None, Field(None, description=line.help, **limits))
    for former, alias in ALIASES["SearchOptions"].items():
        kind = Literal["score", "joint", "whole"] if former == "rank" else hints[alias.name]
        options[former] = (kind | None, Field(None, description=f"Now {alias.name}.", deprecated=True))
    return options


_STEERING = {line.name: line.help for line in describe(SteeredText)}
SearchFields: Any = create_model("SearchFields", __base__=Request, **_search_fields())


class RequestOptions(SearchFields):  # type: ignore[misc]
    """How to search and what to ask of the structure; what is left out is the model's default."""

    model: Name | None = Field(None, description="A name of /v1/models; by default the first.")
    nbest: int | None = Field(None, ge=1, le=NBEST, description="How many outputs to answer with.")
    template: Context | None = Field(None, description=_STEERING["template"])
    exemplar: Text | None = Field(None, description=_STEERING["exemplar"])
    exemplar_depth: int | None = Field(None, ge=1, le=DEPTH, description=_STEERING["exemplar_depth"])
    control: Control = Field("soft", description=_STEERING["control"])
    start: Context | None = Field(None, description=_STEERING["start"])
    must: Words = Field([], description=_STEERING["must"])
    must_not: Words = Field([], description=_STEERING["must_not"])

    def search(self) -> dict[str, Any]:
        """The options that are given, of those that `SearchOptions` has."""
        given = self.model_dump(include=set(SearchFields.model_fields), exclude_none=True)
        return renamed("SearchOptions", given)


def _one_or_many(values: Any) -> Any:
    """Exactly one of `text` and `texts`."""
    if isinstance(values, dict) and (values.get("text") is None) == (values.get("texts") is None):
        raise ValueError("give either text or texts")
    return values


_EITHER = {"oneOf": [{"required": ["text"]}, {"required": ["texts"]}]}


class GenerateRequest(RequestOptions):
    """Texts to generate for."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "beam": 5, "nbest": 2}], **_EITHER}  # type: ignore[dict-item]
    )
    text: Text | None = None
    texts: Annotated[list[Text], Field(min_length=1, max_length=TEXTS)] | None = None
    _either = model_validator(mode="before")(_one_or_many)


class ParseRequest(Request):
    """Texts to parse."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"texts": ["He nods."]}], **_EITHER}  # type: ignore[dict-item]
    )
    text: Text | None = None
    texts: Annotated[list[Text], Field(min_length=1, max_length=PARSED)] | None = None
    tokenized: bool = Field(False, description="Whether white space parts the words already.")
    _either = model_validator(mode="before")(_one_or_many)


class TemplateRequest(Request):
    """A sentence whose shape is wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Did he really do it?", "depth": 4}]})
    text: Text
    depth: int | None = Field(None, ge=1, le=DEPTH)
    model: Name | None = None


class SentencesRequest(Request):
    """A text whose sentences are wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "He nods. Does he know?"}]})
    text: LongText


class Entry(Request):
    """A context of the beam to grow from: one that the service gave, changed or not, or one of the user's."""

    state: Annotated[str, StringConstraints(min_length=1, max_length=STATE)] | None = None
    context: Context | None = None

    @model_validator(mode="after")
    def _something(self) -> Entry:
        if self.state is None and self.context is None:
            raise ValueError("an entry of beam_state needs a state or a context")
        return self


class Pin(Request):
    """The text that an open label of a context is to become."""

    index: int = Field(ge=0, lt=BEAM, description="Which context of the beam that is sent, from 0.")
    label: int = Field(ge=1, le=10_000, description="Which of its open labels, from 1.")
    words: Context


class Wish(Request):
    """Words of the text, labels of the next infill."""

    words: Words = []
    labels: Annotated[list[Word], Field(max_length=WISHES)] = []


class GrowRequest(RequestOptions):
    """A beam to grow by one depth or several."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": EXAMPLE, "beam": 3}, {"text": EXAMPLE, "start": "<NP> <VP> ."}]}
    )
    text: Text
    beam_state: Annotated[list[Entry], Field(min_length=1, max_length=BEAM)] | None = None
    levels: int | None = Field(None, ge=1, le=DEPTH, description="How many depths; by default 1, in a stream all.")
    pins: Annotated[list[Pin], Field(max_length=PINS)] = Field([])
    require: Wish = Wish()
    forbid: Wish = Wish()


class ExplainRequest(RequestOptions):
    """A text whose search shall be explained."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": EXAMPLE, "beam": 3}]})
    text: Text


class VoteRequest(Request):
    """A vote on one item of a blind comparison."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"voter": "v-1", "item": "7", "answers": {"fidelity": "left"}}]}
    )
    voter: Name
    item: Name
    answers: Annotated[dict[Name, Literal["left", "right", "tie"]], Field(min_length=1)]


# -- answers


class Problem(BaseModel):
    """A problem in one sentence."""

    error: str


class ModelInfo(BaseModel):
    """One model that the service has."""

    name: str
    task: str | None = Field(description="paraphrase or translate, where its folder says so.")
    source_language: str | None = Field(description="The code of the language that it reads.")
    target_language: str | None = Field(description="The code of the language that it writes.")
    guided: bool
    labels: list[str]
    defaults: dict[str, Any]
    limits: dict[str, int]


class ParserInfo(BaseModel):
    """The parser that the service has."""

    name: str
    version: str


class ModelsAnswer(BaseModel):
    """The models that the service has."""

    models: list[ModelInfo]
    parser: ParserInfo | None


class TraceInfo(BaseModel):
    """One level of a hypothesis."""

    depth: int
    context: str
    infill: str
    infill_score: float
    score: float
    rewarded: bool
    edited: bool


class HypothesisInfo(BaseModel):
    """A finished text with its structure."""

    text: str
    score: float
    tree: str | None
    levels: list[str]
    rank_score: float | None = Field(None, description="What decided its place, where outputs were reranked.")
    note: str | None = Field(None, description="What the user should know of it.")
    trace: list[TraceInfo]


class SourceResult(BaseModel):
    """The hypotheses for one source, best first, or what was wrong with it."""

    source: str
    hypotheses: list[HypothesisInfo]
    error: str | None = None


class GenerateAnswer(BaseModel):
    """A result for each text, in order."""

    model: str
    results: list[SourceResult]


class ParseAnswer(BaseModel):
    """A tree for each text, in order."""

    trees: list[str]


class TemplateAnswer(BaseModel):
    """The shape of a sentence."""

    template: str


class SentencesAnswer(BaseModel):
    """The sentences of a text, which are searched one at a time."""

    sentences: list[str]


class TokenInfo(BaseModel):
    """A word or an open label of a context; `new`: the last infill wrote it."""

    text: str
    label: bool
    new: bool


class PartInfo(BaseModel):
    """The part that filled one open label."""

    label: str
    became: str
    score: float


class NodeInfo(BaseModel):
    """A context of the beam."""

    state: str
    context: str
    tokens: list[TokenInfo]
    score: float
    depth: int
    parent: int | None
    finished: bool
    edited: bool
    rewarded: bool
    winner: bool
    reason: str | None = Field(None, description="Why it was dropped, if it was.")
    infill_score: float
    parts: list[PartInfo]


class GrowAnswer(BaseModel):
    """The beam of a depth, what lost there, and the outputs that are finished."""

    depth: int
    finished: bool
    beam: list[NodeInfo]
    lost: list[NodeInfo]
    more_lost: int = Field(description="How many lost that are not listed, all of them further behind.")
    outputs: list[HypothesisInfo]


class QuestionInfo(BaseModel):
    """A question about an item."""

    name: str
    text: str


class CompareAnswer(BaseModel):
    """The next item of a voter; `item` is null when there is none left."""

    item: str | None
    done: int
    total: int
    ties: bool = Field(description="Whether `tie` is an answer.")
    before: str | None = Field(description="The item that the voter finished before this one.")
    source: str | None = None
    left: list[str] | None = None
    right: list[str] | None = None
    questions: list[QuestionInfo] | None = None
    answers: dict[str, str] | None = Field(None, description="What the voter has answered before.")


class VoteAnswer(BaseModel):
    """The vote is on disk."""

    stored: bool
    done: int


class Health(BaseModel):
    """Whether the service works."""

    status: str
