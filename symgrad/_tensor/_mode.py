"""Settings of eager computing: whether it is recorded, and the element type."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from ..errors import DTypeError

F = TypeVar("F", bound=Callable[..., Any])


_recording: ContextVar[bool] = ContextVar("recording", default=True)

#: Whether ops on tensors record how to go back; one setting a thread or asynchronous task.
recording = _recording.get


class _Mode:
    @property
    def recording(self) -> bool:
        return recording()

    @recording.setter
    def recording(self, value: bool) -> None:
        _recording.set(value)


mode = _Mode()


class _SetRecording:
    """A block, or a decorated function, in which recording is switched on or off."""

    _value = False

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(mode.recording)
        mode.recording = self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        mode.recording = self._before.pop()

    def __call__(self, function: F) -> F:
        make = type(self)

        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with make():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


class no_grad(_SetRecording):  # noqa: N801
    """A block in which results do not require gradients; also a decorator.

    Use it for updates of parameters and for what is only looked at.

    Examples
    --------
    >>> import symgrad as sg
    >>> w = sg.tensor(3.0, requires_grad=True)
    >>> with sg.no_grad():
    ...     w -= 1.0
    >>> w
    tensor(2., requires_grad=True)
    """

    _value = False


class enable_grad(_SetRecording):  # noqa: N801
    """A block in which results do require gradients again, inside a :class:`symgrad.no_grad` block.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

    _value = True


class inference_mode(no_grad):  # noqa: N801
    """The same as :class:`symgrad.no_grad`, PyTorch's newer name.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> with torch.inference_mode():
    ...     torch.is_grad_enabled()
    False
    """


class set_grad_enabled(_SetRecording):  # noqa: N801
    """Switch recording on or off from now on; as a block, until its end.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    >>> torch.is_grad_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._value = bool(mode)
        self._given = recording()
        _recording.set(self._value)

    def __enter__(self) -> None:
        self._before.append(self._given)
        _recording.set(self._value)

    def __call__(self, function: F) -> F:
        _recording.set(self._given)  # it was made to decorate
        return (enable_grad if self._value else no_grad)()(function)


def is_grad_enabled() -> bool:
    """Tell whether ops on tensors are being recorded.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return mode.recording


# ---------------------------------------------------------------- element type


class _Default:
    dtype: np.dtype[Any] = np.dtype(np.float64)


default = _Default()


def set_default_dtype(dtype: Any) -> None:
    """Set the element type of tensors made of Python floats: float64 at first, as in NumPy.

    Parameters
    ----------
    dtype:
        ``torch.float64`` or ``torch.float32``.

    Raises
    ------
    DTypeError
        For another type.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> torch.set_default_dtype(torch.float32)
    >>> torch.tensor(0.5).dtype
    dtype('float32')
    >>> torch.set_default_dtype(torch.float64)
    """
    wanted = np.dtype(dtype)
    if wanted not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise DTypeError(f"the default element type is float64 or float32, not {wanted}")
    default.dtype = wanted


def get_default_dtype() -> np.dtype[Any]:
    """Return the element type of tensors made of Python floats.

    Examples
    --------
    >>> import symgrad.torch as torch
    >>> torch.get_default_dtype()
    dtype('float64')
    """
    return default.dtype


__all__ = [
    "enable_grad", "get_default_dtype", "inference_mode", "is_grad_enabled", "no_grad",
    "set_default_dtype", "set_grad_enabled",
]  # fmt: skip
