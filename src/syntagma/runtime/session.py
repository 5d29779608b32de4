"""ONNX Runtime sessions of a model folder's graphs: checked, made when first used, run on values that stay with it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

from syntagma.errors import Place, SyntagmaError, is_out_of_memory
from syntagma.hub import WEIGHTS
from syntagma.network.weightfile import WeightFile
from syntagma.runtime.graphfile import GraphError, check_graph, listed

OLDEST = (1, 21)
"""The first version of ONNX Runtime that loads the graphs."""

_INSTALL = "pip install -U 'onnxruntime>={}.{}'".format(*OLDEST)

_FATAL = 4
_LONGEST_REASON = 300

Value = Any
"""An `onnxruntime.OrtValue`; the library has no type hints."""


class TooOld(SyntagmaError):
    """An ONNX Runtime that is too old, or not there at all."""


def load_onnxruntime() -> Any:
    """The package, or an error that says which one is needed."""
    try:
        import onnxruntime
    except ImportError:
        raise TooOld("onnxruntime is not installed", remedy=f"install it: {_INSTALL}") from None
    version = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
    if version < OLDEST:
        what = f"onnxruntime {onnxruntime.__version__} is too old for these graphs"
        raise TooOld(what, remedy=f"install another: {_INSTALL}")
    return onnxruntime


class Graphs:
    """The graphs of a folder by name, `encoder` for `encoder.onnx`; `checksums` has those that are there.

    `export` is the command that makes them.
    """

    def __init__(
        self, folder: Path, checksums: Mapping[str, str], threads: int = 1, export: str = "export --model"
    ) -> None:
        self.folder = folder
        self.threads = threads
        self._checksums = checksums
        self._remedy = f"make one with `syntagma {export} {folder} --out ...`"
        self._library = load_onnxruntime()
        self._weights: WeightFile | None = None
        self._sessions: dict[str, Any] = {}
        self._opening = Lock()
        self.seconds = 0.0
        """How long graphs have run."""

    def value(self, array: Any) -> Value:
        """An array as a value for `run`; the two share their memory."""
        return self._library.OrtValue.ortvalue_from_numpy(array)

    def open_ahead(self, *names: str) -> None:
        """Begin to open those graphs that are there, in a thread, so that they are ready when they are first run."""
        Thread(target=self._open_all, args=names, name="graphs").start()

    def _open_all(self, *names: str) -> None:
        with suppress(Exception):  # who runs the graph is told
            for name in names:
                if name in self._checksums:
                    self._session(name)

    def run(self, name: str, inputs: Mapping[str, Value], outputs: Sequence[str]) -> dict[str, Value]:
        """Those outputs of a graph."""
        session = self._sessions.get(name) or self._session(name)
        begun = time.perf_counter()
        try:
            values = session.run_with_ort_values(outputs, inputs)
        except Exception as error:  # the library has an error for each kind, all derived from this
            if is_out_of_memory(error):
                raise
            what = _misfit(session, inputs, outputs) or f"ONNX Runtime cannot run it ({_reason(error)})"
            raise GraphError(what, self._place(name), self._remedy) from None
        self.seconds += time.perf_counter() - begun
        return dict(zip(outputs, values, strict=True))

    def _session(self, name: str) -> Any:
        with self._opening:
            if name not in self._sessions:
                self._sessions[name] = self._open(name)
            return self._sessions[name]

    def _open(self, name: str) -> Any:
        path = self.folder / f"{name}.onnx"
        remedy = self._remedy
        try:
            data = path.read_bytes()
        except OSError:
            raise GraphError("the folder lacks this graph", Place(str(path)), remedy) from None
        if hashlib.sha256(data).hexdigest() != self._checksums.get(name):
            raise GraphError("it is damaged, or not the graph that config.json names", Place(str(path)), remedy)
        if self._weights is None:
            self._weights = WeightFile.open(self.folder / WEIGHTS)
        check_graph(path, data, self._weights, remedy)
        options = self._library.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # which keeps a plan for every shape that was ever met
        options.enable_mem_reuse = False  # planning it took half of the time of opening; the arena reuses memory anyway
        options.log_severity_level = _FATAL  # what is less is raised as well
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self.folder))
        linked = self._linked_weights()
        if linked is not None:
            options.add_external_initializers_from_files_in_memory([WEIGHTS], [linked], [linked.size])
        try:  # without the fallback, the same once more, that it (1.23 and later) would report on standard output
            return self._library.InferenceSession(data, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        except Exception as error:
            raise GraphError(f"ONNX Runtime cannot load it ({_reason(error)})", self._place(name), remedy) from None

    def _place(self, name: str) -> Place:
        return Place(str(self.folder / f"{name}.onnx"))

    def _linked_weights(self) -> npt.NDArray[np.uint8] | None:
        """The weights where they are a link, as in a hub's cache, and ONNX Runtime follows none out of the folder: from
        1.24 on, which takes them from memory."""
        path = self.folder / WEIGHTS
        takes_memory = hasattr(self._library.SessionOptions, "add_external_initializers_from_files_in_memory")
        return np.memmap(path, np.uint8, "r") if path.is_symlink() and takes_memory else None


def _misfit(session: Any, inputs: Mapping[str, Value], outputs: Sequence[str]) -> str:
    """The inputs and outputs that a graph lacks, and the inputs that nobody gives it, as a sentence; empty if none."""
    takes = [one.name for one in session.get_inputs()]
    gives = [one.name for one in session.get_outputs()]
    lacks = [f"the input {name}" for name in inputs if name not in takes]
    lacks += [f"the output {name}" for name in outputs if name not in gives]
    asks = [f"the input {name}" for name in takes if name not in inputs]
    parts = [f"{verb} {listed(names)}" for verb, names in (("lacks", lacks), ("asks for", asks)) if names]
    return f"it {' and '.join(parts)}, so it belongs to another version or network" if parts else ""


def _reason(error: Exception) -> str:
    """A library's message on one line, the end of a long one, where the reason stands."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _LONGEST_REASON else "... " + text[-_LONGEST_REASON:]
