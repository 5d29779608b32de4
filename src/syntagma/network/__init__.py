"""Networks in torch, the same as ONNX graphs, and the folders that hold them."""
