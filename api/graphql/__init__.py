"""The GraphQL door: the same commands, reads and refusals as REST, asked in another language."""
