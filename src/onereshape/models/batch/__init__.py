"""Freeing the batch: marks, the search through the graph, and a rule per operator."""
