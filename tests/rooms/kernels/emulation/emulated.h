/* The emulated GPU as a target of the harness. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_EMULATED_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_EMULATED_H

#include "tests/rooms/kernels/target.h"

extern const ons_target ons_target_emulated;

#endif
