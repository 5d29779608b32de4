"""The parser's network as an ONNX graph; it computes what `parse/network.py` computes.

B sentences, P pieces, F words and the two marks around them, R spans.
"""

from __future__ import annotations

from syntagma.network.graphs.builder import Graph
from syntagma.network.graphs.layers import Layers
from syntagma.network.weightfile import WeightFile
from syntagma.parse.shape import ParserConfig


def parser_graph(config: ParserConfig, weights: WeightFile) -> bytes:
    """Build the graph; `_ParserGraph.build` lists its inputs."""
    return _ParserGraph(config, weights).build()


class _ParserGraph:
    """Writes the parser's graph."""

    def __init__(self, config: ParserConfig, weights: WeightFile) -> None:
        self.graph = Graph("parser", weights)
        self.shape, self.head = config.encoder, config.network
        self.net = Layers(self.graph, config.encoder.width, config.encoder.heads)

    def build(self) -> bytes:
        """`pieces` and `shapes` [B, P], where they are `padding`; `first` and `last` [B * F], the number of each word's
        first and last piece among B * P, and `word_padding` [B, F]; `starts` and `ends` [R] of the spans.

        Out come the best label but the null label of each span, `labels` [B * R], its score `values` [B * R], and the
        best tag of each word and mark, `tags` [B * F].
        """
        graph, net = self.graph, self.net
        words = self._words(self._pieces())
        tags = net.linear(graph.op("Relu", net.norm(net.linear(words, "tags.0"), "tags.1")), "tags.3")
        graph.output(graph.op("ArgMax", tags, axis=1, keepdims=0), "tags", "int64")
        scores = self._spans(words)
        graph.output(graph.op("ReduceMax", scores, axes=[1], keepdims=0), "values")
        best = graph.op("ArgMax", scores, axis=1, keepdims=0)
        graph.output(graph.op("Add", best, graph.constant(1)), "labels", "int64")
        return graph.to_bytes()

    def _pieces(self) -> str:
        """The mixture of all layers' outputs [B * P, W]."""
        graph, net = self.graph, self.net
        pieces = graph.input("pieces", "int64", ["B", "P"])
        shapes = graph.input("shapes", "int64", ["B", "P"])
        mask = net.mask(graph.input("padding", "bool", ["B", "P"]))
        size = graph.op("Squeeze", net.size(pieces, 1))
        places = graph.op("Range", graph.constant(0), size, graph.constant(1))
        states = graph.op(
            "Add", net.embed("encoder.pieces.weight", pieces), net.embed("encoder.positions.weight", places)
        )
        states = graph.op("Add", states, net.embed("encoder.shapes.weight", shapes))
        states = graph.op("Reshape", states, graph.constant([-1, self.shape.width]))
        states = net.norm(states, "encoder.norm", self.shape.epsilon)
        heads = net.shape(net.size(pieces, 0), net.size(pieces, 1), net.heads, net.depth)
        share = graph.op("Softmax", graph.weight("mixture"), axis=0)
        shares = graph.ops("Split", share, outs=self.shape.layers + 1, axis=0)
        mixed = graph.op("Mul", states, shares[0])
        for number in range(self.shape.layers):
            states = self._layer(net, states, f"encoder.layers.{number}", heads, mask, self.shape.epsilon)
            mixed = graph.op("Add", mixed, graph.op("Mul", states, shares[number + 1]))
        return mixed

    def _layer(self, net: Layers, states: str, name: str, heads: str, mask: str, epsilon: float) -> str:
        """Self-attention and a feed-forward block, the norm after each; `heads` is the shape [B, L, H, D]."""
        graph = self.graph
        parts = graph.ops("Split", net.linear(states, f"{name}.attention_in"), outs=3, axis=1)
        queries, keys, values = (net.split_heads(part, heads) for part in parts)
        change = net.linear(net.attend(queries, keys, values, mask), f"{name}.attention_out")
        states = net.norm(graph.op("Add", states, change), f"{name}.attention_norm", epsilon)
        inner = net.activate(net.linear(states, f"{name}.forward_in"), "gelu")
        change = net.linear(inner, f"{name}.forward_out")
        return net.norm(graph.op("Add", states, change), f"{name}.forward_norm", epsilon)

    def _words(self, pieces: str) -> str:
        """A vector [B * F, W] for each word and mark, from its first and last piece."""
        graph = self.graph
        padding = graph.input("word_padding", "bool", ["B", "F"])
        ends = [graph.op("Gather", pieces, graph.input(name, "int64", ["B * F"])) for name in ("first", "last")]
        words = self.net.norm(self.net.linear(graph.op("Concat", *ends, axis=1), "word"), "word_norm")
        net = Layers(graph, self.shape.width, self.head.word_heads)
        self.rows, self.words = net.size(padding, 0), net.size(padding, 1)
        heads = net.shape(self.rows, self.words, net.heads, net.depth)
        mask = net.mask(padding)
        for number in range(self.head.word_layers):
            words = self._layer(net, words, f"word_layers.{number}", heads, mask, 1e-6)
        return words

    def _spans(self, words: str) -> str:
        """The scores [B * R, labels - 1] of all labels but the null label for each span."""
        graph, net = self.graph, self.net
        width, half = self.shape.width, self.shape.width // 2
        by_row = graph.op("Reshape", words, net.shape(self.rows, self.words, width))
        zero, axes = graph.constant([0, 0]), graph.constant([1, 2])
        left_end = graph.op("Concat", graph.op("Sub", self.words, graph.constant([1])), graph.constant([half]), axis=0)
        right_end = graph.op("Concat", self.words, graph.constant([width]), axis=0)
        left = graph.op("Slice", by_row, zero, left_end, axes)
        right = graph.op("Slice", by_row, graph.constant([1, half]), right_end, axes)
        posts = graph.op("Reshape", graph.op("Concat", left, right, axis=2), graph.constant([-1, width]))
        shape = net.shape(self.rows, -1, self.head.span_width)
        ends = []
        for name, index, bias in (("span_start", "starts", False), ("span_end", "ends", True)):
            projected = graph.op("Reshape", net.linear(posts, name, bias=bias), shape)
            ends.append(graph.op("Gather", projected, graph.input(index, "int64", ["R"]), axis=1))
        hidden = graph.op("Relu", net.norm(graph.op("Add", *ends), "span_norm"))
        hidden = graph.op("Reshape", hidden, graph.constant([-1, self.head.span_width]))
        return net.linear(hidden, "labels")
