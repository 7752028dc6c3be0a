"""Gradients of tensors as values, and PyTorch's old name for a tensor."""

from ._tensor._create import Variable
from ._tensor._gradients import gradients as grad

__all__ = ["Variable", "grad"]
