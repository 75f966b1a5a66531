"""Files as people bring them: cells, columns, rows; no database."""
