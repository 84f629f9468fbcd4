"""Both models are run, and what that shows."""
