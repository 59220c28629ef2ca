#include "kernels/gather_scatter/scatter.h"

#include <stdlib.h>

#include "kernels/common/math/integers.h"

ons_scatter_mode ons_scatter_mode_of(const char *name) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    ons_scatter_mode mode = ONS_SCATTER_NONE;
    while (mode < ONS_SCATTER_MODES && strcmp(names[mode], name) != 0) ++mode;
    return mode;
}

/* The larger and the smaller of two: a NaN wins, as in numpy. */
static double join_floats(ons_scatter_mode mode, double a, double b) {
    switch (mode) {
    case ONS_SCATTER_ADD: return a + b;
    case ONS_SCATTER_MUL: return a * b;
    case ONS_SCATTER_MAX: return b > a || b != b ? b : a;
    case ONS_SCATTER_MIN: return b < a || b != b ? b : a;
    default: return b;
    }
}

static int64_t join_integers(ons_scatter_mode mode, ons_dtype dtype, int64_t a, int64_t b) {
    bool larger = dtype == ONS_UINT64 ? (uint64_t)b > (uint64_t)a : b > a;
    switch (mode) {
    case ONS_SCATTER_ADD: return ons_wrapping_add(a, b);
    case ONS_SCATTER_MUL: return ons_wrapping_multiply(a, b);
    case ONS_SCATTER_MAX: return larger ? b : a;
    case ONS_SCATTER_MIN: return larger ? a : b;
    default: return b;
    }
}

void ons_scatter_word(ons_scatter_mode mode, ons_dtype dtype, void *to, int64_t to_index, const void *from,
                      int64_t from_index) {
    if (ons_dtype_is_float(dtype)) {
        double *target = (double *)to + to_index;
        *target = join_floats(mode, *target, ((const double *)from)[from_index]);
    } else {
        int64_t *target = (int64_t *)to + to_index;
        *target = ons_wrap_to(dtype, join_integers(mode, dtype, *target, ((const int64_t *)from)[from_index]));
    }
}

ons_value_id ons_build_zeros(ons_builder *builder, const ons_type *type) {
    void *words = calloc((size_t)ons_elements(type) + 1, 8);
    if (words == NULL) {
        ons_builder_fail(builder, ons_status_out_of_memory());
        return ONS_NONE;
    }
    ons_value_id zeros = ons_build_constant(builder, "zeros", type, words);
    free(words);
    return zeros;
}
