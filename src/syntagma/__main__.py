"""`python -m syntagma` is the command `syntagma`."""

from syntagma.cli import main

main()
