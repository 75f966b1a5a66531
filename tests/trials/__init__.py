"""What `deploy/ha/trial` and `deploy/backup/drill` run: servers of their own, whose failures must
lose no acknowledged write."""
