"""The graphs of a network: its encoder, its context encoder and a step of its decoder.

They compute what `network/network.py` computes.  B sources, S source positions, Q contexts, C context positions,
N rows, L tokens fed at once, T cached positions, H heads of width D, V ids that can be written.
"""

from __future__ import annotations

from collections.abc import Iterable

from syntagma.network.config import RMS_EPSILON, ModelConfig
from syntagma.network.graphs.builder import MICROSOFT, Graph
from syntagma.network.graphs.layers import Layers
from syntagma.network.weightfile import WeightFile


def build_graphs(config: ModelConfig, weights: WeightFile) -> dict[str, bytes]:
    """The graphs of a network by name."""
    graphs = {"encoder": encoder_graph(config, weights), "decoder": decoder_graph(config, weights)}
    if config.attends_to_context:
        graphs["context"] = context_graph(config, weights)
    return graphs


def encoder_graph(config: ModelConfig, weights: WeightFile) -> bytes:
    """Sources `ids` [B, S] to keys and values [B, H, S, D] for each decoder layer, and `copy_keys` [B, S, W]."""
    net = NetworkLayers(Graph("encoder", weights), config)
    graph = net.graph
    ids = graph.input("ids", "int64", ["B", "S"])
    states = graph.op("Reshape", net.tokens(ids, net.places(ids)), graph.constant([-1, config.width]))
    batch, size = net.size(ids, 0), net.size(ids, 1)
    shape = net.shape(batch, size, net.heads, net.depth)
    mask = net.mask(graph.op("Equal", ids, graph.constant(config.pad)))
    states = net.encoder(states, "source_encoder", config.source_layers, shape, mask)
    net.output_keys_values(states, "source_attention", range(config.decoder_layers), shape)
    if config.copy:
        keys = graph.op("Reshape", net.linear(states, "copy.key"), net.shape(batch, size, config.width))
        graph.output(keys, "copy_keys")
    return graph.to_bytes()


def context_graph(config: ModelConfig, weights: WeightFile) -> bytes:
    """Contexts `ids` and what is known of each token [Q, C] to keys and values [Q, H, C, D] for each decoder layer that
    attends to them."""
    net = NetworkLayers(Graph("context", weights), config)
    graph = net.graph
    ids = graph.input("ids", "int64", ["Q", "C"])
    states = net.tokens(ids, net.places(ids))
    tables = {"label_index": "slot"} if config.label_index else {}
    if config.history:
        tables |= {"parent": "parent", "depth_added": "birth"}
    for column, table in tables.items():
        states = graph.op("Add", states, net.embed(f"{table}.weight", graph.input(column, "int64", ["Q", "C"])))
    states = graph.op("Reshape", states, graph.constant([-1, config.width]))
    shape = net.shape(net.size(ids, 0), net.size(ids, 1), net.heads, net.depth)
    mask = net.mask(graph.input("padding", "bool", ["Q", "C"]))
    own = config.architecture == "extra-encoder"
    name, count = ("context_encoder", config.context_layers) if own else ("source_encoder", config.source_layers)
    states = net.encoder(states, name, count, shape, mask)
    net.output_keys_values(states, "context_attention", config.context_attentions, shape)
    return graph.to_bytes()


def decoder_graph(config: ModelConfig, weights: WeightFile) -> bytes:
    """One step of the decoder.

    Rows `tokens` [N, L] at `places` [N, L] go on from rows `parents` [N] of the caches `past_keys0`, `past_values0` and
    so on [rows, H, T, D], which come back longer by L as `keys0`, `values0`.  `scores` [N, V] less `norm` [N] (where
    there is a copy head) are the log-probabilities after the last token, `fed` [N, L - 1] those of the tokens after
    the first.

    Rows that look at the same source or context ask together: `source_layout` [P, most] has the row at each seat, and
    `source_seats` [N] each row's seat among P * most.
    """
    return _Decoder(Graph("decoder", weights), config).build()


class NetworkLayers(Layers):
    """The layers of one of our networks."""

    def __init__(self, graph: Graph, config: ModelConfig) -> None:
        super().__init__(graph, config.width, config.heads, config.head_width)
        self.config = config
        self.pre = config.norm == "pre"

    def places(self, ids: str) -> str:
        """0, 1, ... for each position of ids [B, L]: [L]."""
        graph = self.graph
        return graph.op("Range", graph.constant(0), graph.op("Squeeze", self.size(ids, 1)), graph.constant(1))

    def tokens(self, ids: str, places: str) -> str:
        """Embeddings [B, L, W] of ids [B, L] at places [B, L] or [L].

        Absolute positions are learned, or come from `positions`, a table of sines that the runtime computes.
        """
        graph, config = self.graph, self.config
        states = graph.op("Mul", self.embed("embedding.weight", ids), graph.number(config.width**0.5))
        if config.positions == "relative":
            return states
        if config.first_position:
            places = graph.op("Add", places, graph.constant(config.first_position))
        if config.positions == "learned":
            return graph.op("Add", states, self.embed("positions.table", places))
        positions = graph.input("positions", "float32", ["places", config.width])
        return graph.op("Add", states, graph.op("Gather", positions, places))

    def norm(self, states: str, name: str, epsilon: float = 1e-5) -> str:
        """The norm of that name."""
        if self.config.norm_kind == "rms":
            return self.rms_norm(states, name, RMS_EPSILON)
        return super().norm(states, name, epsilon)

    def biased(self, mask: str, name: str, buckets: str) -> str:
        """A mask [B, 1, L, M] with biases on distances, whose buckets are [L, M] or [B, L, M]: [B, H, L, M]."""
        graph = self.graph
        biases = graph.op("Gather", graph.weight(f"{name}relative.table.weight"), buckets)
        return graph.op("Add", mask, graph.op("Transpose", biases, perm=[0, 3, 1, 2]))

    def before(self, states: str, block: str, pre: bool) -> str:
        """The input of a sublayer, normed first where norms stand before."""
        return self.norm(states, f"{block}.norm") if pre else states

    def after(self, states: str, change: str, block: str, pre: bool) -> str:
        """The states with the sublayer's change."""
        states = self.graph.op("Add", states, change)
        return states if pre else self.norm(states, f"{block}.norm")

    def feed_forward(self, states: str, block: str) -> str:
        """Two linear layers as a sublayer, the first of them with a gate where the activation has one."""
        seen = self.before(states, block, self.pre)
        inner = self.activate(self.linear(seen, f"{block}.inner"), self.config.activation)
        if self.config.activation == "gated-gelu":
            inner = self.graph.op("Mul", inner, self.linear(seen, f"{block}.gate"))
        change = self.linear(inner, f"{block}.outer")
        return self.after(states, change, block, self.pre)

    def queries_keys_values(self, states: str, attention: str, shape: str) -> tuple[str, str, str]:
        """Queries, keys and values [B, H, L, D] of states [B * L, W] that look at each other."""
        together = self.linear(states, f"{attention}.query", f"{attention}.memory")
        queries, keys, values = self.graph.ops("Split", together, outs=3, axis=1)
        return self.split_heads(queries, shape), self.split_heads(keys, shape), self.split_heads(values, shape)

    def encoder(self, states: str, name: str, count: int, shape: str, mask: str) -> str:
        """A stack of encoder layers over states [B * L, W]; `shape` is [B, L, H, D]."""
        if self.config.positions == "relative":
            mask = self.biased(mask, f"{name}.", self.graph.input("distances", "int64", [1, "L", "L"]))
        for number in range(count):
            block = f"{name}.layers.{number}.self_attention"
            seen = self.before(states, block, self.pre)
            attended = self.attend(*self.queries_keys_values(seen, f"{block}.attention", shape), mask)
            states = self.after(states, self.linear(attended, f"{block}.attention.output"), block, self.pre)
            states = self.feed_forward(states, f"{name}.layers.{number}.feed_forward")
        return self.norm(states, f"{name}.norm") if self.pre else states

    def output_keys_values(self, states: str, block: str, layers: Iterable[int], shape: str) -> None:
        """Give back the keys and values of states [B * M, W] for those layers of the decoder."""
        for number in layers:
            both = self.linear(states, f"decoder.{number}.{block}.attention.memory")
            for name, part in zip(("keys", "values"), self.graph.ops("Split", both, outs=2, axis=1), strict=True):
                self.graph.output(self.split_heads(part, shape), f"{name}{number}")


class _Decoder(NetworkLayers):
    """Writes the graph of a decoder's step."""

    def build(self) -> bytes:
        """The graph."""
        graph, config = self.graph, self.config
        self.ids = graph.input("tokens", "int64", ["N", "L"])
        self.parents = graph.input("parents", "int64", ["N"])
        self.self_mask = graph.input("self_mask", "float32", ["N", 1, "L", "T + L"])
        self.rows, self.fed = self.size(self.ids, 0), self.size(self.ids, 1)
        self.heads_shape = self.shape(self.rows, self.fed, self.heads, self.depth)
        self.layouts = {name: self._layout(name) for name in ("source", "context")[: 1 + config.attends_to_context]}
        relative = config.positions == "relative"
        if relative:
            buckets = graph.input("distances", "int64", ["N", "L", "T + L"])
            self.self_mask = self.biased(self.self_mask, "", buckets)
        places = "" if relative else graph.input("places", "int64", ["N", "L"])
        states = self.tokens(self.ids, places)
        if config.label_index:
            states = graph.op("Add", states, self.embed("slot.weight", graph.input("slots", "int64", ["N", "L"])))
        states = graph.op("Reshape", states, graph.constant([-1, config.width]))
        for number in range(config.decoder_layers):
            states = self._look_back(states, number)
            if number in config.context_attentions:
                states = self._look_at("context", states, number, config.context_norm)
            states = self._look_at("source", states, number)
            states = self.feed_forward(states, f"decoder.{number}.feed_forward")
        self._write(self.norm(states, "decoder_norm") if self.pre else states)
        return graph.to_bytes()

    # -- attention

    def _layout(self, name: str) -> tuple[str, str, str]:
        graph = self.graph
        layout = graph.input(f"{name}_layout", "int64", [f"{name}s", f"{name}_most"])
        seats = graph.input(f"{name}_seats", "int64", ["N"])
        return layout, seats, graph.input(f"{name}_mask", "float32", [f"{name}s", 1, 1, f"{name}_size"])

    def _look_back(self, states: str, number: int) -> str:
        """Attention to what the row has written; its cache comes from its parent and grows."""
        block = f"decoder.{number}.self_attention"
        seen = self.before(states, block, self.pre)
        queries, keys, values = self.queries_keys_values(seen, f"{block}.attention", self.heads_shape)
        keys, values = self._grow(f"keys{number}", keys), self._grow(f"values{number}", values)
        attended = self.attend(queries, keys, values, self.self_mask)
        return self.after(states, self.linear(attended, f"{block}.attention.output"), block, self.pre)

    def _grow(self, name: str, new: str) -> str:
        """A cache of the parents, with new keys or values [N, H, L, D] behind it."""
        graph = self.graph
        past = graph.input(f"past_{name}", "float32", ["rows", self.heads, "T", self.depth])
        grown = graph.op("Concat", graph.op("Gather", past, self.parents), new, axis=2, out=name)
        graph.output(grown, grown)
        return grown

    def _look_at(self, name: str, states: str, number: int, norm: str | None = None) -> str:
        """Attention to the source or the context, those rows together that look at the same."""
        graph = self.graph
        layout, _, mask = self.layouts[name]
        block = f"decoder.{number}.{name}_attention"
        pre = norm == "pre" if norm else self.pre
        queries = self.linear(self.before(states, block, pre), f"{block}.attention.query")
        keys, values = (
            graph.input(f"{name}_{kind}{number}", "float32", [f"{name}s", self.heads, f"{name}_size", self.depth])
            for kind in ("keys", "values")
        )
        shape = self.shape(self.size(layout, 0), -1, self.heads, self.depth)
        packed = self._pack(queries, name, self.inner)
        attended = self.attend(self.split_heads(packed, shape), keys, values, mask)
        change = self.linear(self._unpack(attended, name, self.fed, self.inner), f"{block}.attention.output")
        return self.after(states, change, block, pre)

    def _pack(self, values: str, name: str, width: int) -> str:
        """Values of rows [N * L, X] as [P, most * L, X]."""
        graph = self.graph
        layout = self.layouts[name][0]
        laid = graph.op("Gather", graph.op("Reshape", values, self.shape(self.rows, -1)), layout)
        return graph.op("Reshape", laid, self.shape(self.size(layout, 0), -1, width))

    def _unpack(self, laid: str, name: str, fed: str, size: str | int) -> str:
        """The rows [N * L, X] again from [P * most * L, X] in any shape."""
        graph = self.graph
        last = size if isinstance(size, str) else graph.constant([size])
        by_seat = graph.op("Reshape", laid, self.shape(-1, graph.op("Mul", fed, last)))
        return graph.op("Reshape", graph.op("Gather", by_seat, self.layouts[name][1]), self.shape(-1, last))

    # -- what is written

    def _write(self, hidden: str) -> None:
        """Scores after the last token; and of the tokens before it, where there are some."""
        graph, config = self.graph, self.config
        by_row = graph.op("Reshape", hidden, self.shape(self.rows, self.fed, config.width))
        one = graph.constant([1])
        end = graph.op("Sub", self.fed, one)
        last = graph.op("Squeeze", graph.op("Slice", by_row, end, self.fed, one), one)
        scores = self._log_softmax(last)
        if config.copy:
            self.source_ids = graph.input("source_ids", "int64", ["sources", "source_size"])
            self.copy_keys = graph.input("copy_keys", "float32", ["sources", "source_size", config.width])
            most = self.size(self.layouts["source"][0], 1)
            self.mine = graph.op("Gather", self.source_ids, graph.op("Div", self.layouts["source"][1], most))
            scores, norm = self._copy_into(scores, last, graph.op("Slice", self.ids, end, self.fed, one))
            graph.output(norm, "norm")
        graph.output(scores, "scores")

        def earlier() -> str:
            start = graph.constant([0])
            states = graph.op("Slice", by_row, start, end, one)
            states = graph.op("Reshape", states, graph.constant([-1, config.width]))
            following = graph.op("Slice", self.ids, one, self.fed, one)
            highest = graph.constant(self._outputs() - 1)
            index = graph.op("Reshape", graph.op("Min", following, highest), graph.constant([-1, 1]))
            written = graph.op("GatherElements", self._log_softmax(states), index, axis=1)
            if config.copy:
                read = graph.op("Slice", self.ids, start, end, one)
                written = self._copied_or_written(written, states, read, following, end)
            return graph.op("Reshape", written, self.shape(self.rows, end))

        def nothing() -> str:
            return graph.op("Expand", graph.number(0.0), self.shape(self.rows, 0))

        several = graph.op("Squeeze", graph.op("Greater", self.fed, one))
        graph.output(graph.choose(several, earlier, nothing, "float32"), "fed")

    def _outputs(self) -> int:
        return self.config.outputs or self.config.vocabulary

    def _log_softmax(self, hidden: str) -> str:
        """The log-probabilities [R, V] of all that can be written after states [R, W]."""
        graph, config = self.graph, self.config
        table = "output_embedding.weight" if config.output_embedding else "embedding.weight"
        is_int8 = graph.weights[table].dtype == "int8"
        weight = graph.stored(table) if is_int8 else graph.weight(table)
        scale = graph.weight(f"{table}.scale") if is_int8 else ""
        if self._outputs() < graph.weights[table].shape[0]:
            until = graph.constant([0]), graph.constant([self._outputs()]), graph.constant([0])
            weight = graph.op("Slice", weight, *until)
            scale = graph.op("Slice", scale, *until) if scale else ""
        bias = graph.weight("output_bias") if config.output_bias else ""
        logits = (
            self.int8_product(hidden, weight, scale, bias)
            if is_int8
            else graph.op("Gemm", hidden, weight, bias, transB=1)
        )
        return graph.op("LogSoftmax", logits, axis=-1)

    # -- copying

    def _pointer(self, hidden: str, read: str) -> str:
        """The chance [P, most * L, S] of each source place for rows [N * L, W] that have just read tokens [N, L]."""
        graph, config = self.graph, self.config
        layout, _, mask = self.layouts["source"]
        queries = self._pack(self.linear(hidden, "copy.query"), "source", config.width)
        keys = self.copy_keys
        scores = graph.op("FusedMatMul", queries, keys, domain=MICROSOFT, transB=1, alpha=config.width**-0.5)
        scores = graph.op("Add", scores, graph.op("Squeeze", mask, graph.constant([1])))
        before = graph.op("Slice", self.source_ids, graph.constant([0]), graph.constant([-1]), graph.constant([1]))
        before = graph.op("Pad", before, graph.constant([0, 1, 0, 0]), graph.constant(-1))
        read = graph.op("Reshape", graph.op("Gather", read, layout), self.shape(self.size(layout, 0), -1, 1))
        follows = graph.op("Equal", graph.op("Unsqueeze", before, graph.constant([1])), read)
        gain = graph.op("Mul", graph.op("Cast", follows, to=1), graph.weight("copy.follow"))
        return graph.op("Softmax", graph.op("Add", scores, gain), axis=-1)

    def _copy_into(self, scores: str, hidden: str, read: str) -> tuple[str, str]:
        """Scores [N, V] with the pointer's share put in, and their norm [N].

        Writing has a share of 1 - sigmoid(gate); taking its logarithm off the norm, only what stands in the source
        changes.
        """
        graph = self.graph
        one = graph.constant([1])
        pointer = self._pointer(hidden, read)
        ids = self.source_ids
        same = graph.op("Equal", graph.op("Unsqueeze", ids, one), graph.op("Unsqueeze", ids, graph.constant([2])))
        copied = graph.op("MatMul", pointer, graph.op("Cast", same, to=1))  # a token may stand in the source twice
        copied = self._unpack(copied, "source", one, self.size(ids, 1))
        gate = self.linear(hidden, "copy.gate")
        mine, partly = self.mine, self._outputs() < self.config.vocabulary
        if partly:  # what can be read but not written goes into a column of its own, which is cut off again
            mine = graph.op("Min", mine, graph.constant(self._outputs()))
            beside = graph.op("Expand", graph.number(0.0), self.shape(self.rows, 1))
            scores = graph.op("Concat", scores, beside, axis=1)
        written = graph.op("GatherElements", scores, mine, axis=1)
        both = self._log_add(written, graph.op("Add", graph.op("Log", copied), gate))
        scores = graph.op("ScatterElements", scores, mine, both, axis=1)
        if partly:
            scores = graph.op("Slice", scores, graph.constant([0]), graph.constant([self._outputs()]), one)
        return scores, graph.op("Squeeze", graph.op("Softplus", gate), one)

    def _copied_or_written(self, written: str, hidden: str, read: str, following: str, fed: str) -> str:
        """Log-probabilities of tokens [N, L] that score `written` [N * L, 1]."""
        graph = self.graph
        one = graph.constant([1])
        pointer = self._unpack(self._pointer(hidden, read), "source", fed, self.size(self.source_ids, 1))
        mine = graph.op("Unsqueeze", self.mine, one)
        matches = graph.op("Cast", graph.op("Equal", mine, graph.op("Unsqueeze", following, graph.constant([2]))), to=1)
        matches = graph.op("Reshape", matches, graph.op("Shape", pointer))
        copied = graph.op("ReduceSum", graph.op("Mul", pointer, matches), one, keepdims=1)
        gate = self.linear(hidden, "copy.gate")
        both = self._log_add(written, graph.op("Add", graph.op("Log", copied), gate))
        return graph.op("Sub", both, graph.op("Softplus", gate))

    def _log_add(self, first: str, second: str) -> str:
        """log(exp(first) + exp(second)), of which the second may be minus infinity."""
        return self.graph.op("Add", first, self.graph.op("Softplus", self.graph.op("Sub", second, first)))
