"""Brings a workspace to what a manifest says: compare, then carry out what differs."""
