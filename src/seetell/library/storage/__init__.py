"""The library on disk: its database, edits and repair."""
