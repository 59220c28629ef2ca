/* ArgMax and ArgMin: everything but the comparison, which the folders say. The first NaN wins (or the last), as in
 * numpy. */
#ifndef ONSTAGE_KERNELS_ARGMINMAX_ARGMINMAX_H
#define ONSTAGE_KERNELS_ARGMINMAX_ARGMINMAX_H

#include "kernels/common/elementwise/cases.h"
#include "kernels/common/operator/kernel.h"

#define ONS_ARGMINMAX_ATTRIBUTES                                                                                       \
    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("axis", 0), ONS_INT_ATTRIBUTE("keepdims", 1),                                     \
                   ONS_INT_ATTRIBUTE("select_last_index", 0))

typedef struct ons_argminmax {
    int64_t outer, length, inner;
    bool last; /* of equal elements */
} ons_argminmax;

ons_status *ons_argminmax_infer(ons_operands *o);
ons_status *ons_argminmax_prepare(ons_prepare *p); /* state: ons_argminmax */
void ons_argminmax_reference(const ons_operands *o, bool largest, const void *in, int64_t *out);

/* SYMBOL_reference, of the largest elements or the smallest. */
#define ONS_ARGMINMAX_REFERENCE(SYMBOL, LARGEST)                                                                       \
    static void SYMBOL##_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,             \
                                   void *const *outputs) {                                                             \
        ons_argminmax_reference(o, LARGEST, inputs[0], outputs[0]);                                                    \
    }

/* clang-format off */
#define ONS_ARGMINMAX_NAN                                                                                          \
    {.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 6, .values = {1, NAN, 2, NAN, 9, -9}}
#define ONS_ARGMINMAX_CASES                                                                                        \
    {.name = "first_axis", .inputs = {ONS_F32(9, 5)}, .flops = 45},                                                    \
    {.name = "last_axis", .inputs = {ONS_F32(4, 11)},                                                                  \
     .settings = {ONS_SET_INT("axis", -1), ONS_SET_INT("keepdims", 0)}, .flops = 44},                                  \
    {.name = "middle", .inputs = {ONS_F32(3, 5, 4)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 60},               \
    {.name = "ties", .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {1, 2, 0}}},  \
     .flops = 6},                                                                                                      \
    {.name = "last_tie",                                                                                               \
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(6), .value_count = 3, .values = {1, 2, 0}}},                  \
     .settings = {ONS_SET_INT("select_last_index", 1)}, .flops = 6},                                                   \
    {.name = "not_numbers", .inputs = {ONS_ARGMINMAX_NAN}, .flops = 6},                                            \
    {.name = "last_not_number", .inputs = {ONS_ARGMINMAX_NAN}, .settings = {ONS_SET_INT("select_last_index", 1)},  \
     .flops = 6},                                                                                                      \
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 7, 3)}, .flops = 21},                                   \
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 7)}, .flops = 7},                                     \
    {.name = "threads", .inputs = {ONS_F32(300, 99)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 29700},           \
    {.name = "nothing", .inputs = {ONS_F32(0)}, .error = "no elements"},                                               \
    {.name = "large", .inputs = {ONS_F32(4096, 1000)}, .settings = {ONS_SET_INT("axis", 1)}, .flops = 4096000,         \
     .benchmark = true}
/* clang-format on */

enum { ONS_ARGMINMAX_AXIS, ONS_ARGMINMAX_KEEPDIMS, ONS_ARGMINMAX_SELECT_LAST };

static inline ons_argminmax ons_argminmax_make_state(const ons_operands *o) {
    const ons_shape *shape = &o->inputs[0].shape;
    uint32_t axis = 0;
    if (!ons_axis_resolve(ons_attribute_int(o, ONS_ARGMINMAX_AXIS), shape->rank, &axis))
        return (ons_argminmax){1, 1, 1, false}; /* a scalar */
    return (ons_argminmax){ons_shape_span(shape, 0, axis), shape->dims[axis],
                           ons_shape_span(shape, axis + 1, shape->rank),
                           ons_attribute_int(o, ONS_ARGMINMAX_SELECT_LAST) != 0};
}

#endif
