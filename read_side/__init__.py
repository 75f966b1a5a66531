"""The read tables and the queries over them."""
