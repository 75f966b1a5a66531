"""What is true of content, proved without a database."""
