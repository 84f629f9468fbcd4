"""What is known of the values of a model: their dims, their types, and what small ones hold."""
