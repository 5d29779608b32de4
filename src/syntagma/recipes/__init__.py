"""The paper's experiments as files, and the code that runs them: data, training, search, and the rows of a table."""
