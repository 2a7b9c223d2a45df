from ._core import *  # noqa: F403
