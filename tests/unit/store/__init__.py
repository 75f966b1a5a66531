"""The store's parts that do no I/O."""
