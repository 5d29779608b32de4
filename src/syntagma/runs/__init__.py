"""What every training run has: its folder and lock, checkpoints with checksums, log, schedule, signals."""
