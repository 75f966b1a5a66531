"""Workbooks: the parts of Office Open XML that the cells of one sheet need."""
