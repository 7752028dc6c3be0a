"""Python's control flow, rewritten as calls: loops and branches that a program can keep."""
