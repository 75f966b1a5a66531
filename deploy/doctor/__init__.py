"""`contentlog doctor`: looks at an installation and says what to change."""
