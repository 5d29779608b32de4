"""Runtimes: what computes a network's scores for a search, on whatever hardware there is."""
