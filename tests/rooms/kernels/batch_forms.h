/* Where the kernels of batch_forms_test run. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_BATCH_FORMS_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_BATCH_FORMS_H

#include "tests/rooms/kernels/target.h"

extern const ons_target *const batch_forms_target;

#endif
