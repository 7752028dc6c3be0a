"""The package as a whole: its version, and the folder that its code is in."""

import os

__version__ = "0.1.0"

#: The folder of symgrad's own code, with a separator at its end.
FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
