"""The parts of the store that do no I/O."""
