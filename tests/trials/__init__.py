"""The code of `deploy/ha/trial` and `deploy/backup/drill`. Both start their own servers, cause
failures, and check that no acknowledged write is lost."""
