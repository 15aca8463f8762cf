"""The library on disk: database, schema and migration, edits, integrity and repair."""
