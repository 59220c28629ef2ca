"""All models of at most 1 KiB that ask for far more than they hold: MODELS by name, CODES of check, inspect and plan."""

import constants  # noqa: F401
import control_flow  # noqa: F401
import shapes  # noqa: F401
import whole_models  # noqa: F401
from building import CODES, MODELS, around, node  # noqa: F401
