"""Tasks as code declares them: with durable options, under names, and with arguments that are held to a signature."""
