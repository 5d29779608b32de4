"""ONNX graphs of our networks, built layer by layer; needs the package `onnx`, which running them does not."""
