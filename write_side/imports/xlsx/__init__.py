"""Workbooks: as much of Office Open XML as the cells of one sheet take."""
