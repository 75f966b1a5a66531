"""Tests of the real application, served on a free port beside a real projector."""
