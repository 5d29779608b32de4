"""The HTTP service and the studio page: `syntagma serve` (extra: serve).

`worker` batches the searches of all clients, `app` answers requests, `guard` stands before it, and `compare` keeps the
votes of blind comparisons.
"""
