"""Import files: cells, columns and rows, without a database."""
