/* Every operator is looked at. */
#include "tests/rooms/kernels/emulation/selection.h"

#include <stddef.h>

const char *const ons_emulation_only[] = {NULL};
