"""Eager tensors: numbers at once, gradients on request, by the compiler's own rules."""
