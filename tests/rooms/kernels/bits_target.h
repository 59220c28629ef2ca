/* Where the tests run that compare the bits of one node with those of several. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_BITS_TARGET_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_BITS_TARGET_H

#include "tests/rooms/kernels/target.h"

extern const ons_target *const bits_target;

#endif
