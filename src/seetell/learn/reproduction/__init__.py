"""The papers' tables: rows, records, claims and the pages drawn from them."""
