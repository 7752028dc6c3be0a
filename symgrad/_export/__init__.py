"""Programs for C: their C function, as C99 source and as LLVM IR."""

from ._entry import callback_type, entry_text
from ._function import c_source
from ._signature import Signature
