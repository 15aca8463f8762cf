"""The papers' tables, reproduced: rows, records of finished rows, conclusions, and the pages drawn from them."""
