"""What the outside sees over HTTP: parse, one verb of the ledger, render."""
