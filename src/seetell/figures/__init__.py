"""Figures of results: contact sheets, attention overlays, retrieval pages."""
