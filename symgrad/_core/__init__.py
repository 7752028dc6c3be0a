"""The compiler: from a Python function to machine code. Of the rest it imports the errors alone.

A function is run once on traced values (``trace``), which makes a graph of nodes (``graph``) of
ops (``op``: what a record is; ``ops``: all of them). Loops and branches are nodes that hold bodies
(``control``). Transformations extend a graph by derivatives or a batch (``transforms``), rewriting
simplifies it (``rewrite``), and in Kahn's order it is a program (``program``). ``pipeline`` has
the stages from there to machine code: ``lowering`` plans loops and writes LLVM text, ``codegen``
makes and keeps objects, and ``runtime`` knows the structures of CPython and NumPy.

The face of a part is its ``__init__``, with its modules without an underscore; other packages
import from there, and from no module with one.
"""
