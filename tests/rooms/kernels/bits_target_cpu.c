#include "tests/rooms/kernels/bits_target.h"

const ons_target *const bits_target = &ons_target_cpu;
