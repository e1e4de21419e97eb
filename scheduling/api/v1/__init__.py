"""Version 1 of the API, under `/v1/`."""
