"""Reshapes in their plainest form."""
