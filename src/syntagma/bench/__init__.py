"""Speed side by side with peers: every figure is a ratio measured in one run, because machines are shared."""
