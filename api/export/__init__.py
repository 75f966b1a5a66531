"""Entries out as spreadsheets: the read side's rows in the file formats of imports."""
