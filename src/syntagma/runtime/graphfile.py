"""The weights that a graph file names, read without the package `onnx`, and a check that they are there.

A graph may only name weights of the safetensors file beside it, each by its exact byte range, type and shape.  That is
checked before ONNX Runtime sees the graph, which would follow any path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from syntagma.errors import Place, SyntagmaError
from syntagma.network.weightfile import WeightFile
from syntagma.protobuf import fields, packed_varints

_TYPES = {1: "float32", 2: "uint8", 3: "int8", 7: "int64", 9: "bool", 10: "float16", 16: "bfloat16"}
# Numbers of fields in onnx.proto.
_MODEL_GRAPH, _GRAPH_INITIALIZER = 7, 5
_DIMS, _DATA_TYPE, _NAME, _EXTERNAL_DATA, _DATA_LOCATION = 1, 2, 8, 13, 14
_EXTERNAL = 1
_SHOWN = 3


class GraphError(SyntagmaError):
    """A graph that cannot be used."""


def check_graph(path: Path, data: bytes, weights: WeightFile, remedy: str) -> None:
    """Refuse a graph that is damaged, or that names other weights than those of the file beside it."""
    try:
        problems = list(_problems(data, weights))
    except (IndexError, ValueError, UnicodeDecodeError):
        raise GraphError("this is no graph, or a damaged one", Place(str(path)), remedy) from None
    if problems:
        raise GraphError(listed(problems, "; "), Place(str(path)), remedy)


def listed(items: Sequence[str], between: str = ", ") -> str:
    """A few of some items, and how many more there are.

    >>> listed(["a", "b"]), listed("abcdef")
    ('a, b', 'a, b, c and 3 more')
    """
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return between.join(items[:_SHOWN]) + more


def _problems(data: bytes, weights: WeightFile) -> Iterator[str]:
    graphs = [value for number, value in fields(data) if number == _MODEL_GRAPH and isinstance(value, bytes)]
    if len(graphs) != 1:
        raise ValueError
    known = 0
    moved: list[str] = []
    for number, tensor in fields(graphs[0]):
        if number != _GRAPH_INITIALIZER or not isinstance(tensor, bytes):
            continue
        name, dtype, shape, places = _tensor(tensor)
        if places is None:
            continue
        known += 1
        location = places.get("location", "")
        if location != weights.path.name:
            yield f"it names the file {location!r} for {name}, and nothing but {weights.path.name} may be read"
        elif name not in weights:
            yield f"{weights.path.name} has no {name}"
        else:
            entry = weights[name]
            if (dtype, shape) != (entry.dtype, entry.shape):
                yield f"{name} is {entry.dtype} {list(entry.shape)} in {weights.path.name}, not {dtype} {list(shape)}"
            elif (places.get("offset", "0"), places.get("length")) != (str(entry.offset), str(entry.length)):
                moved.append(name)
    if moved:
        yield f"it looks for {listed(moved)} in another place than where {weights.path.name} has it"
    if data.count(b"location") != known:  # such as one inside a node
        yield "it names a file in a place where it should not"


def _tensor(data: bytes) -> tuple[str, str, tuple[int, ...], dict[str, str] | None]:
    """The name, type, shape of a tensor, and what is known of its place where its values stand in another file."""
    name, dtype, external = "", "", False
    shape: list[int] = []
    places: dict[str, str] = {}
    for number, value in fields(data):
        if number == _DIMS:
            shape += packed_varints(value) if isinstance(value, bytes) else [value]
        elif number == _DATA_TYPE and isinstance(value, int):
            dtype = _TYPES.get(value, f"type {value}")
        elif number == _NAME and isinstance(value, bytes):
            name = value.decode()
        elif number == _EXTERNAL_DATA and isinstance(value, bytes):
            key, said = (part.decode() for _, part in fields(value) if isinstance(part, bytes))
            places[key] = said
        elif number == _DATA_LOCATION:
            external = value == _EXTERNAL
    return name, dtype, tuple(shape), places if external or places else None
