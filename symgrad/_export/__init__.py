"""Programs in other languages: standalone C99."""

from ._function import c_source

__all__ = ["c_source"]
