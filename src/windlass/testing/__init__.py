"""Real servers and fakes for tests and benchmarks; nothing in the product imports it."""
