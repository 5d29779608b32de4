"""The paper's tables and figures at the scale of this package: `syntagma reproduce`."""
