"""The GraphQL API: the commands, reads and refusals of REST, in another language."""
