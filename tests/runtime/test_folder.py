"""Model folders that run without torch, and what is wrong with those that do not."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file

from runtime.networks import KINDS, contexts_of, follow, make_network
from syntagma.errors import ConfigError
from syntagma.hub import find_folder
from syntagma.network.export import export_network
from syntagma.network.folder import ModelError, ModelFolder
from syntagma.network.network import Network
from syntagma.network.storage import from_pretrained, save_pretrained
from syntagma.network.weightfile import WeightError
from syntagma.parse import load_parser
from syntagma.runtime.base import Mask
from syntagma.runtime.folder import load_model
from syntagma.runtime.graphfile import GraphError
from syntagma.runtime.onnx import OnnxRuntime
from syntagma.runtime.session import OLDEST, TooOld
from syntagma.search import Generator
from syntagma.text import Subwords, split

VERSION = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Path]:
    subwords = Subwords.train([split("I ate an apple.").words] * 3, size=290)
    labels = tuple(subwords.label_id(label) for label in ("T", *subwords.labels))
    network = make_network(**KINDS["everything"], vocabulary=subwords.size, labels=labels)
    folder = tmp_path_factory.mktemp("model") / "model"
    save_pretrained(folder, network, subwords, "# A model\n", about={"search": {"beam": 3}})
    return network, folder


@pytest.fixture
def folder(made: tuple[Network, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[1], tmp_path / "copy"))


def first_step(runtime: OnnxRuntime, rows: int = 1) -> np.ndarray:
    """The scores of all words after the start, in the order of their ids."""
    config = runtime.config
    sources = [[20, 21, 22], [40, 41], [50, 51, 52, 53, 54]][:rows]
    state = runtime.open(runtime.encode(sources), contexts_of(config)[:rows])
    controls = np.zeros((rows, len(config.controls)), np.bool_)
    step = runtime.step(
        state, np.arange(rows), np.full((rows, 1), config.start), Mask(controls, [None] * rows), config.vocabulary
    )
    order = step.tokens[0].argsort()
    return np.asarray(step.scores[0][order])


def words(expected: np.ndarray, network: Network) -> np.ndarray:
    config = network.config
    expected = expected.copy()
    expected[[config.pad, config.start, config.sep, *config.controls]] = -np.inf
    return expected


def test_a_folder_is_run_without_torch(made: tuple[Network, Path]) -> None:
    network, folder = made
    model = load_model(folder)
    assert isinstance(model.runtime, OnnxRuntime)
    assert (model.config, model.about) == (network.config, {"search": {"beam": 3}})
    expected = follow(network, [20, 21, 22], contexts_of(network.config)[0], [2])[-1]
    assert first_step(model.runtime) == pytest.approx(words(expected, network), abs=1e-4)


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_smaller_folders_give_nearly_the_same(made: tuple[Network, Path], tmp_path: Path, precision: str) -> None:
    network, folder = made
    export_network(ModelFolder.open(folder), tmp_path, "", {}, precision, None)
    sizes = [(one / "model.safetensors").stat().st_size for one in (folder, tmp_path)]
    assert sizes[1] < {"fp16": 0.6, "int8": 0.45}[precision] * sizes[0]
    loaded = from_pretrained(tmp_path).network  # training goes on from it: rounded once, and no more than that
    expected = follow(loaded, [20, 21, 22], contexts_of(network.config)[0], [2])[-1]
    ours = first_step(load_model(tmp_path).runtime)  # type: ignore[arg-type]
    assert ours == pytest.approx(words(expected, network), abs={"fp16": 1e-4, "int8": 0.2}[precision])


def test_int8_rows_do_not_depend_on_the_batch(made: tuple[Network, Path], tmp_path: Path) -> None:
    export_network(ModelFolder.open(made[1]), tmp_path, "", {}, "int8", None)
    runtime = load_model(tmp_path).runtime
    assert isinstance(runtime, OnnxRuntime)
    assert first_step(runtime, 3) == pytest.approx(first_step(runtime, 1), abs=1e-5)


def test_an_export_without_another_precision_keeps_the_weights(made: tuple[Network, Path], tmp_path: Path) -> None:
    export_network(ModelFolder.open(made[1]), tmp_path / "half", "", {}, None, None)
    export_network(ModelFolder.open(tmp_path / "half"), tmp_path / "again", "", {}, None, None)
    half, again = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("half", "again"))
    assert half == again
    assert ModelFolder.open(tmp_path / "half").graphs == ModelFolder.open(tmp_path / "again").graphs


def test_folders_of_format_1_still_load(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["graphs"]
    (folder / "config.json").write_text(json.dumps(config | {"format": 1}))
    for graph in folder.glob("*.onnx"):
        graph.unlink()
    assert from_pretrained(folder).about == {"search": {"beam": 3}}
    assert ModelFolder.open(folder).graphs == {}
    export_network(ModelFolder.open(folder), folder.parent / "up", "", {}, "fp32", None)
    assert isinstance(load_model(folder.parent / "up").runtime, OnnxRuntime)


# -- the cache of a hub, whose folders hold links to files elsewhere


def linked(folder: Path, to: Path) -> Path:
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).symlink_to(path)
    return to


def test_a_model_of_links(tmp_path: Path) -> None:
    folder = linked(find_folder("translate-de-en", "model", "model"), tmp_path / "links")
    text = "Er hat einen Fehler gemacht."
    assert Generator.from_pretrained(folder)(text) == Generator.from_pretrained("translate-de-en")(text)


def test_a_parser_of_links(tmp_path: Path) -> None:
    parser = load_parser(str(linked(find_folder("parser-en", "parser", "network"), tmp_path / "links")))
    assert str(parser.parse([["I", "nod", "."]])[0]) == "(TOP (S (NP (PRP I)) (VP (VBP nod)) (. .)))"


def test_graphs_of_links_read_their_weights_alone(folder: Path, tmp_path: Path) -> None:
    changed(folder, "location", "/etc/passwd")
    with pytest.raises(GraphError, match=r"nothing but model\.safetensors may be read"):
        first_step(load_model(linked(folder, tmp_path / "links")).runtime)  # type: ignore[arg-type]


# -- what is wrong with a folder


def test_a_missing_graph(folder: Path) -> None:
    (folder / "context.onnx").unlink()
    with pytest.raises(GraphError, match=r"context\.onnx: the folder lacks this graph; make one with `syntagma export"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


def test_graphs_are_opened_before_they_are_run(folder: Path) -> None:
    runtime = load_model(folder).runtime
    for thread in threading.enumerate():
        if thread.name == "graphs":
            thread.join()
    shutil.rmtree(folder)
    assert len(first_step(runtime)) == runtime.config.vocabulary  # type: ignore[arg-type]


def test_a_damaged_graph(folder: Path) -> None:
    data = (folder / "decoder.onnx").read_bytes()
    (folder / "decoder.onnx").write_bytes(data[:-100])
    with pytest.raises(GraphError, match=r"decoder\.onnx: it is damaged"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", [3, 1000, -1])
def test_a_graph_that_is_none(folder: Path, cut: int) -> None:
    data = (folder / "decoder.onnx").read_bytes()[:cut] if cut > 0 else b"\xff" * 100
    put(folder, data)
    with pytest.raises(GraphError, match="this is no graph, or a damaged one"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


def put(folder: Path, data: bytes) -> None:
    """Another decoder, with the checksum that someone who means harm would write."""
    (folder / "decoder.onnx").write_bytes(data)
    config = json.loads((folder / "config.json").read_text())
    config["graphs"]["decoder"] = hashlib.sha256(data).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))


def trust_weights(folder: Path) -> None:
    """Other weights, with their checksum."""
    config = json.loads((folder / "config.json").read_text())
    config["weights_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))


def changed(folder: Path, key: str, value: str, inside_node: bool = False) -> None:
    model = onnx.load(folder / "decoder.onnx", load_external_data=False)
    tensor = next(one for one in model.graph.initializer if one.external_data)
    if inside_node:
        node = onnx.helper.make_node("Constant", [], ["hidden"], value=tensor)
        model.graph.node.insert(0, node)
        tensor = node.attribute[0].t
    for entry in tensor.external_data:
        if entry.key == key:
            entry.value = value
    put(folder, model.SerializeToString())


@pytest.mark.parametrize("place", ["/etc/passwd", "../other/model.safetensors", "tokenizer.json"])
def test_a_graph_that_points_elsewhere(folder: Path, place: str) -> None:
    changed(folder, "location", place)
    with pytest.raises(GraphError, match=rf"it names the file '{place}' for .*nothing but model\.safetensors may be"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


def test_a_graph_that_points_elsewhere_from_within(folder: Path) -> None:
    changed(folder, "location", "/etc/passwd", inside_node=True)
    with pytest.raises(GraphError, match="it names a file in a place where it should not"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


def test_a_graph_that_reads_another_place(folder: Path) -> None:
    changed(folder, "offset", "0")
    with pytest.raises(GraphError, match=r"it looks for \S+ in another place than where model\.safetensors has it"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


def edited(folder: Path, edit: Callable[[onnx.GraphProto], object]) -> None:
    model = onnx.load(folder / "decoder.onnx", load_external_data=False)
    edit(model.graph)
    put(folder, model.SerializeToString())


def without_output(graph: onnx.GraphProto) -> None:
    graph.output.remove(next(one for one in graph.output if one.name == "scores"))


def with_input(graph: onnx.GraphProto) -> None:
    graph.input.append(onnx.helper.make_tensor_value_info("mood", onnx.TensorProto.FLOAT, [1]))


def with_renamed_input(graph: onnx.GraphProto) -> None:
    for names in [node.input for node in graph.node]:
        names[:] = ["relatives" if name == "parents" else name for name in names]
    next(one for one in graph.input if one.name == "parents").name = "relatives"


def with_seven_rows(graph: onnx.GraphProto) -> None:
    next(one for one in graph.input if one.name == "parents").type.tensor_type.shape.dim[0].dim_value = 7


def with_another_axis(graph: onnx.GraphProto) -> None:
    """Of the first Gather, whose index is a constant."""
    (index,) = (one for one in graph.initializer if one.name == "c0")
    index.raw_data = np.array([7]).tobytes()


OTHERS = {
    without_output: "it lacks the output scores, so it belongs to another version or network",
    with_input: "it asks for the input mood, so it belongs to another version or network",
    with_renamed_input: "it lacks the input parents and asks for the input relatives, so it belongs to another",
    with_seven_rows: "ONNX Runtime cannot run it ([ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions",
    with_another_axis: "ONNX Runtime cannot run it ([ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code",
}


@pytest.mark.parametrize("edit", OTHERS)
def test_a_graph_of_another_network(
    folder: Path, edit: Callable[[onnx.GraphProto], object], capfd: pytest.CaptureFixture[str]
) -> None:
    edited(folder, edit)
    with pytest.raises(GraphError) as caught:
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{folder / 'decoder.onnx'}: {OTHERS[edit]}")
    assert len(str(caught.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(VERSION < (1, 23), reason="earlier ones cannot but do")
def test_the_library_writes_nothing_to_standard_output(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A name that is no text makes it try the same again, and say so."""
    put(folder, (folder / "decoder.onnx").read_bytes().replace(b"self_mask", b"self_mas\xeb", 1))
    with pytest.raises(GraphError, match="ONNX Runtime cannot load it"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]
    assert capfd.readouterr() == ("", "")


def test_the_library_has_memory_run_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This is no fault of the graph, and a search goes on with a smaller batch."""
    runtime = load_model(folder).runtime

    def exhausted(self: object, outputs: object, inputs: object) -> None:
        raise RuntimeError("Failed to allocate memory for requested buffer of size 1073741824")

    monkeypatch.setattr(onnxruntime.InferenceSession, "run_with_ort_values", exhausted)
    with pytest.raises(RuntimeError, match="Failed to allocate"):
        first_step(runtime)  # type: ignore[arg-type]


def test_weights_of_another_shape(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["embedding.weight"] = torch.zeros(100, 32)
    del weights["copy.query.weight"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(
        ConfigError, match=r"model\.safetensors: it is not the file that config\.json has the checksum of"
    ):
        load_model(folder)
    trust_weights(folder)
    with pytest.raises(GraphError) as caught:
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]
    assert "embedding.weight is float32 [100, 32] in model.safetensors, not float32 [275, 32]" in str(caught.value)


def test_of_many_weights_of_another_shape_a_few_are_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({name: weight[None] for name, weight in weights.items()}, folder / "model.safetensors")
    trust_weights(folder)
    with pytest.raises(GraphError, match=r"is float32 \[1, .* not float32 .*; .*; .* and \d+ more; make one") as caught:
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 600


def test_weights_that_are_none(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"short")
    trust_weights(folder)
    with pytest.raises(WeightError, match=r"model\.safetensors: it cannot be read as weights"):
        first_step(load_model(folder).runtime)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["1.9.0", "1.20.1"])
def test_an_old_library(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(onnxruntime, "__version__", version)
    told = f"onnxruntime {version} is too old for these graphs; install another: pip install -U 'onnxruntime>=1.21'"
    with pytest.raises(TooOld, match=f"^{re.escape(told)}$"):
        load_model(folder)


def test_the_library_that_is_installed_is_not_too_old() -> None:
    needed = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["dependencies"]
    assert "onnxruntime>={}.{}".format(*OLDEST) in needed


def test_no_torch_for_a_folder_without_graphs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"graphs": {}}))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match="it has no graphs, so only torch can run it; run `syntagma export"):
        load_model(folder)
