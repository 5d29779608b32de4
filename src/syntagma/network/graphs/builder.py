"""A small pen for ONNX graphs: inputs, weights that stand in a safetensors file, operations, outputs.

    graph = Graph("step", WeightFile.open(path))
    states = graph.op("Add", graph.input("states", "float32", ["N", 8]), graph.weight("bias"))
    graph.output(states, "result")
    data = graph.to_bytes()

A weight is named by its byte range in `model.safetensors`, so a graph holds no weights of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from syntagma.network.weightfile import WeightFile

OPSET = 17
IR_VERSION = 8
MICROSOFT = "com.microsoft"
_TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
Shape = Sequence[int | str]


class Graph:
    """A graph under construction; values go by their names."""

    def __init__(self, name: str, weights: WeightFile) -> None:
        self.name = name
        self.weights = weights
        self._main: list[Any] = []
        self._nodes = self._main
        """Those of the branch that is being written, or of the whole."""
        self._made: set[str] = set()
        self._count = 0
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._initializers: dict[str, TensorProto] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def input(self, name: str, kind: str, shape: Shape) -> str:
        """Something that a run is given."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))
        return name

    def output(self, value: str, name: str, kind: str = "float32", shape: Shape | None = None) -> None:
        """Something that a run gives back: the value goes by that name from now on."""
        for node in self._main:
            for names in (node.input, node.output):
                names[:] = [name if used == value else used for used in names]
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))

    def op(self, kind: str, *inputs: str, out: str | None = None, domain: str = "", **attributes: Any) -> str:
        """The first output of an operation; an input that is left out is an empty name."""
        return self.ops(kind, *inputs, outs=[out or self._fresh()], domain=domain, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outs: Sequence[str] | int, domain: str = "", **attributes: Any) -> list[str]:
        """The outputs of an operation that has several."""
        names = [self._fresh() for _ in range(outs)] if isinstance(outs, int) else list(outs)
        self._nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def choose(self, condition: str, then: Callable[[], str], otherwise: Callable[[], str], kind: str) -> str:
        """The value of one of two branches; only that one is computed."""
        branches = {}
        for name, write in (("then_branch", then), ("else_branch", otherwise)):
            self._nodes = []
            value = write()
            result = helper.make_tensor_value_info(value, _TYPES[kind], None)
            branches[name] = helper.make_graph(self._nodes, f"{self.name}_{name}", [], [result])
        self._nodes = self._main
        return self.op("If", condition, **branches)

    def constant(self, value: npt.ArrayLike, kind: str = "int64") -> str:
        """A small array that stands in the graph itself."""
        array = np.asarray(value, dtype=kind)
        key = (kind, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._initializers[name] = helper.make_tensor(name, _TYPES[kind], array.shape, array.tobytes(), raw=True)
            self._constants[key] = name
        return self._constants[key]

    def number(self, value: float) -> str:
        """A single float."""
        return self.constant(value, "float32")

    def stored(self, name: str) -> str:
        """A weight in the precision in which it is stored."""
        if name not in self._initializers:
            entry = self.weights[name]
            tensor = TensorProto(name=name, data_type=_TYPES[entry.dtype], dims=entry.shape)
            tensor.data_location = TensorProto.EXTERNAL
            places = {"location": self.weights.path.name, "offset": entry.offset, "length": entry.length}
            for key, value in places.items():
                tensor.external_data.add(key=key, value=str(value))
            self._initializers[name] = tensor
        return name

    def weight(self, name: str) -> str:
        """A weight as float32; the runtime converts it once, when it loads the graph."""
        stored = self.stored(name)
        dtype = self.weights[name].dtype
        if dtype == "float32":
            return stored
        wide = self.once(f"{name}.float", "Cast", stored, to=TensorProto.FLOAT)
        if dtype != "int8":
            return wide
        scale = self.once(f"{name}.scale2d", "Unsqueeze", self.weight(f"{name}.scale"), self.constant([1]))
        return self.once(f"{name}.whole", "Mul", wide, scale)

    def once(self, out: str, kind: str, *inputs: str, **attributes: Any) -> str:
        """An operation on weights, made at its first use and known in all branches."""
        if out not in self._made:
            self._made.add(out)
            self._main.append(helper.make_node(kind, inputs, [out], **attributes))
        return out

    def to_bytes(self) -> bytes:
        """The finished model."""
        graph = helper.make_graph(self._main, self.name, self._inputs, self._outputs, list(self._initializers.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model: ModelProto = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="syntagma"
        )
        return bytes(model.SerializeToString(deterministic=True))
