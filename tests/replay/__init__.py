"""Replay: digests of programs and of the code made of them, over a fixed corpus.

A refactoring that says it changes nothing proves it::

    python -m tests.replay record before.gz     # on the old tree
    python -m tests.replay compare before.gz    # on the new one

``compare`` prints for every entry that differs the first pass whose result does, and the first
lines of the difference; its exit status is the number of such entries, at most 100. Names after
the file (``random gradbench/lstm``) choose entries by what their names begin with. Both take
some three minutes on one core. A record is of one machine: code depends on its processor, and
results on its mathematics library. The idea is tinygrad's process replay.

``corpus`` has the entries, ``record`` what is noted of each, pass by pass. Results are bits of
the NumPy backend, of machine code in one entry of four.
"""
