"""reshape() on arrays: one module per array library, each a function of (array, output dims, copy)."""
