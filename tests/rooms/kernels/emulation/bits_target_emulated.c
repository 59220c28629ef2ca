#include "tests/rooms/kernels/bits_target.h"
#include "tests/rooms/kernels/emulation/emulated.h"

const ons_target *const bits_target = &ons_target_emulated;
