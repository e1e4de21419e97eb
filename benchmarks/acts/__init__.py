"""What our own processes do on a stage. Played by `benchmarks.act`, with Django set up on the scene's ledger."""
