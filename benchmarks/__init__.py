"""How fast Rentroll is, beside its peers and beside itself: `python -m benchmarks --list`.

`__main__` is the command, one module per benchmark tells what is measured, `peers` holds the rivals (and
ourselves, by the same verbs), `acts` what our processes do on a stage, `stage` the temporary installations,
`figures` the arithmetic. What runs the benchmarks imports no Django: every measured process is its own.
"""
