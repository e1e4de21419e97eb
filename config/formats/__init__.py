"""How pages write what Django formats by itself, per language."""
