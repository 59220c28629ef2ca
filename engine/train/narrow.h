/* A float32 master in the half type that the file has it in. */
#ifndef ONSTAGE_ENGINE_TRAIN_NARROW_H
#define ONSTAGE_ENGINE_TRAIN_NARROW_H

#include "base/status.h"
#include "graph/type.h"

/* Rounds `count` numbers to the nearest that `dtype`, float16 or bfloat16, has; of two equally near ones to the even.
 * Fails with the weight's name where a finite
 * number becomes infinite; what is not finite stays so, for ons_trainer_check_finite. */
ons_status *ons_narrow_master(const char *name, const float *master, int64_t count, ons_dtype dtype, uint16_t *halves);

#endif
