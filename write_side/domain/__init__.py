"""What is true of content and how it may change: events, aggregates, refusals. No I/O."""
