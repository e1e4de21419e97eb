"""Long lists, of tasks, ticks and dead letters: narrowed and read page by page, without a walk through all of history."""
