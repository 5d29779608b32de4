"""The parts of a Transformer as ONNX nodes, the counterpart of `network/layers.py`.

States are [R, W]: all positions of all rows one below the other, so that every linear layer is one matrix product.
Shapes: B rows, T positions of a query, M positions of keys and values, H heads of width D.
"""

from __future__ import annotations

from onnx import TensorProto

from syntagma.network.graphs.builder import MICROSOFT, Graph

FORBIDDEN = -1e9
_ZERO_POINT = 128


class Layers:
    """Writes layers of one width and number of heads into a graph; heads share the width where they have none."""

    def __init__(self, graph: Graph, width: int, heads: int, depth: int | None = None) -> None:
        self.graph = graph
        self.width, self.heads, self.depth = width, heads, depth or width // heads
        self.inner = self.heads * self.depth

    def embed(self, table: str, ids: str) -> str:
        """The rows of an embedding [V, W] for ids [...]: [..., W]; only those rows are made float32."""
        graph = self.graph
        entry = graph.weights[table]
        rows = graph.op("Gather", graph.stored(table), ids)
        if entry.dtype != "float32":
            rows = graph.op("Cast", rows, to=TensorProto.FLOAT)
        if entry.dtype == "int8":
            scales = graph.op("Gather", graph.weight(f"{table}.scale"), ids)
            rows = graph.op("Mul", rows, graph.op("Unsqueeze", scales, graph.constant([-1])))
        return rows

    def linear(self, states: str, *names: str, bias: bool = True) -> str:
        """States [R, I] through a linear layer, or through several side by side: [R, O]."""
        graph = self.graph
        is_int8 = graph.weights[f"{names[0]}.weight"].dtype == "int8"
        take = graph.stored if is_int8 else graph.weight
        weight = self._side_by_side([take(f"{name}.weight") for name in names])
        added = self._side_by_side([graph.weight(f"{name}.bias") for name in names]) if bias else ""
        if is_int8:
            scale = self._side_by_side([graph.weight(f"{name}.weight.scale") for name in names])
            return self.int8_product(states, weight, scale, added)
        return graph.op("Gemm", states, weight, added, transB=1)

    def _side_by_side(self, weights: list[str]) -> str:
        return self.graph.op("Concat", *weights, axis=0) if len(weights) > 1 else weights[0]

    def int8_product(self, states: str, weight: str, scale: str, bias: str = "") -> str:
        """States [R, I] times an int8 weight [O, I] with a scale for each output: [R, O].

        Each row of the states is rounded to eight bits by a scale of its own, so what a row gives does not depend on
        the rows beside it.
        """
        graph = self.graph
        highest = graph.op("ReduceMax", graph.op("Abs", states), axes=[1], keepdims=1)
        row_scale = graph.op("Max", graph.op("Mul", highest, graph.number(1 / 127)), graph.number(1e-9))
        zero = graph.constant(_ZERO_POINT, "uint8")
        flat = graph.op("Squeeze", row_scale, graph.constant([1]))
        point = graph.number(_ZERO_POINT)
        zeros = graph.op("Cast", graph.op("Clip", flat, point, point), to=TensorProto.UINT8)
        whole = graph.op("QuantizeLinear", states, flat, zeros, axis=0)
        turned = graph.op("Transpose", weight, perm=[1, 0])
        product = graph.op("MatMulIntegerToFloat", whole, turned, graph.number(1.0), scale, zero, domain=MICROSOFT)
        product = graph.op("Mul", product, row_scale)
        return graph.op("Add", product, bias) if bias else product

    def norm(self, states: str, name: str, epsilon: float = 1e-5) -> str:
        """Layer normalisation."""
        weight, bias = self.graph.weight(f"{name}.weight"), self.graph.weight(f"{name}.bias")
        return self.graph.op("LayerNormalization", states, weight, bias, epsilon=epsilon)

    def rms_norm(self, states: str, name: str, epsilon: float) -> str:
        """States scaled to a mean square of one."""
        weight = self.graph.weight(f"{name}.weight")
        return self.graph.op("SimplifiedLayerNormalization", states, weight, epsilon=epsilon)

    def activate(self, states: str, kind: str) -> str:
        """States through the activation `relu`, `gelu`, `swish` or `gated-gelu`, the gate apart."""
        graph = self.graph
        if kind == "gated-gelu":
            return graph.op("FastGelu", states, domain=MICROSOFT)
        if kind == "relu":
            return graph.op("Relu", states)
        if kind == "gelu":
            return graph.op("Gelu", states, domain=MICROSOFT)
        return graph.op("Mul", states, graph.op("Sigmoid", states))

    def split_heads(self, states: str, shape: str) -> str:
        """[B * T, H * D] or [B, T, H * D] as [B, H, T, D]; `shape` is [B, T, H, D]."""
        return self.graph.op("Transpose", self.graph.op("Reshape", states, shape), perm=[0, 2, 1, 3])

    def join_heads(self, heads: str) -> str:
        """[B, H, T, D] as [B * T, H * D]."""
        rows = self.graph.op("Transpose", heads, perm=[0, 2, 1, 3])
        return self.graph.op("Reshape", rows, self.graph.constant([-1, self.inner]))

    def attend(self, queries: str, keys: str, values: str, mask: str) -> str:
        """The sums of values that queries [B, H, T, D] attend to, under an added mask: [B * T, H * D]."""
        graph = self.graph
        scores = graph.op("FusedMatMul", queries, keys, domain=MICROSOFT, transB=1, alpha=self.depth**-0.5)
        shares = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
        return self.join_heads(graph.op("MatMul", shares, values))

    def shape(self, *sizes: str | int) -> str:
        """A shape of dimensions, some of which are known at run time only."""
        graph = self.graph
        return graph.op("Concat", *(s if isinstance(s, str) else graph.constant([s]) for s in sizes), axis=0)

    def size(self, value: str, axis: int) -> str:
        """A dimension as [1]."""
        return self.graph.op("Gather", self.graph.op("Shape", value), self.graph.constant([axis]))

    def mask(self, padding: str) -> str:
        """A mask [B, 1, 1, M] that is added to attention scores, from where there is padding [B, M]."""
        graph = self.graph
        added = graph.op("Where", padding, graph.number(FORBIDDEN), graph.number(0.0))
        return graph.op("Unsqueeze", added, graph.constant([1, 2]))
