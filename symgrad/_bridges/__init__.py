"""Compiled functions inside other libraries' differentiation: PyTorch's, JAX's, PyTensor's.

Each library is imported when its bridge is first asked for.
"""
