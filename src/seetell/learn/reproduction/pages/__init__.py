"""Result pages, drawn from row records: one per table, one across all tables, and the index."""
