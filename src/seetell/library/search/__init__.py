"""Searching a library: vectors, full text, filters and relevance."""
