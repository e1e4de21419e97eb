"""The deployable project: settings, addresses and how it is served."""
