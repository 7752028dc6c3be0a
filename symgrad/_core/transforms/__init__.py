"""Transformations of a graph: reverse and forward mode, batches, Taylor series.

Each is a pass: it takes a graph and returns a graph, and treats an op by the kind of its record.
"""
