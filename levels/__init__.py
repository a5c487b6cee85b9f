"""Pure decisions: what to run, how to read a run, what it means.

Nothing here imports `action` or `bot`, talks to the network or starts a process; `cli`, which starts the zones for a
person at a terminal, is the one exception and decides nothing.
"""
