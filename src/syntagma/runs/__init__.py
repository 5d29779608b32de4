"""The kit of every training run: folder and lock, checkpoints with checksums, log, schedule, signals."""
