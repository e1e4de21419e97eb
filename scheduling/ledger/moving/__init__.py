"""Owns how a ledger moves from SQLite to PostgreSQL: everything that is in it, once, and with nothing lost.

The move *seals* the source first: in one transaction, which finds everything paused and nothing in flight, it
gives every table a trigger that refuses to write. So what is copied is of one instant, however long the copying
takes and however often it is killed, and programs that still know the old address accept nothing that would be
lost: they answer 503. The seal stays when the move is over. The target is sealed as well, for all but the
move, until both sides have been found to be the same: nobody works on a part of a ledger.

In the order of their keys the rows of a table are copied in chunks, each a transaction of its own. A move that was
killed goes on behind the last key that it finds in the target; there is no other record of how far it got.

Locks: sealing waits for its turn to write, like every writer, and holds it for milliseconds. Copying and comparing
hold none in the source. In the target one advisory lock keeps a second move out, for as long as the first is
connected; beginning and undoing hold all tables. docs/decisions/0018-moving-seals-both-sides.md says why it is so.

Here it is known that one side is SQLite and the other PostgreSQL; no other part of the ledger asks.
"""
