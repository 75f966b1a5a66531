"""The real application on a free port, with a real projector beside it."""
