"""Back-translation: paraphrase pairs out of plain text, or out of one side of a bitext, through translation models."""
