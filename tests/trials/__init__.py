"""The code of `deploy/ha/trial` and `deploy/backup/drill`. They run their own servers, make them
fail, and check that no acknowledged write is lost."""
