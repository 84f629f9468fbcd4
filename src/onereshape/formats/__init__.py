"""Files: one module per file format, which knows how its bytes are laid out and nothing of Reshape."""
