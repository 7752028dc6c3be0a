"""The structure of arguments with long lists of records."""

from __future__ import annotations

from symgrad._core.trace import flatten_call


def test_arguments_themselves_are_no_records() -> None:
    """However many they are, and of whatever form."""
    numbers = tuple([0.5 * k for k in range(40)])
    for args in (numbers, tuple([(x, x) for x in numbers])):
        leaves, tree = flatten_call(args, {"more": list(zip(numbers, numbers, strict=True))})
        positional, named = tree.children
        assert len(positional.children) == 40
        assert named.children[0].kind == "records"
        assert len(leaves) == positional.leaves + 2
        assert (
            tree.unflatten(leaf.array if hasattr(leaf, "array") else leaf for leaf in leaves)[0]
            == args
        )
