#include "engine/train/narrow.h"

#include <math.h>

#include "engine/model/notes.h"

ons_status *ons_narrow_master(const char *name, const float *master, int64_t count, ons_dtype dtype, uint16_t *halves) {
    for (int64_t i = 0; i < count; ++i) {
        halves[i] = dtype == ONS_BFLOAT16 ? ons_float_to_bfloat16(master[i]) : ons_float_to_half(master[i]);
        float kept = dtype == ONS_BFLOAT16 ? ons_bfloat16_to_float(halves[i]) : ons_half_to_float(halves[i]);
        ONS_CHECK(isfinite(kept) || !isfinite(master[i]), ONS_UNSUPPORTED, ons_refusal_master_beyond_half, name,
                  (double)master[i], ons_dtype_name(dtype));
    }
    return NULL;
}
