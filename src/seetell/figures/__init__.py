"""Images of results: contact sheets, attention overlays, plots."""
