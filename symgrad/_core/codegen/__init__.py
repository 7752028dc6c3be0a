"""Machine code: LLVM text becomes an object, is kept on disk, and is loaded."""
