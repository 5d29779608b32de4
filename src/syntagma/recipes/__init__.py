"""The paper's experiments as files, and what runs them: data, training, search, and the rows of a table."""
