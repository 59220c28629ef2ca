/* Range: start, start + delta, … before limit. Its length must be known when shapes are bound, so all inputs are. */
#include <math.h>

#include "graph/evaluate.h"
#include "kernels/common/operator/kernel.h"

enum { START, LIMIT, DELTA };

static ons_status *read_number(const ons_operands *o, uint32_t input, double *real, int64_t *integer) {
    const ons_tensor *tensor = &o->constants[input];
    if (tensor->data == NULL)
        return ons_node_error(o, "input %u decides the shape but depends on data; export the model with static shapes",
                              input);
    if (ons_elements(&tensor->type) != 1 || tensor->type.dtype != o->inputs[START].dtype)
        return ons_node_error(o, "start, limit and delta must be single numbers of one type");
    if (ons_dtype_is_float(tensor->type.dtype))
        ons_widen(tensor->type.dtype, tensor->data, 1, real);
    else
        ons_widen(tensor->type.dtype, tensor->data, 1, integer);
    return NULL;
}

/* As many steps as fit between start and limit, without computing what may overflow. */
static int64_t count_integers(int64_t start, int64_t limit, int64_t delta) {
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    uint64_t distance = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = (distance - 1) / step + 1;
    return count > INT64_MAX / 16 ? INT64_MAX / 8 : (int64_t)count; /* refused by the shape's own check */
}

static ons_status *range_infer(ons_operands *o) {
    double real[3] = {0};
    int64_t integer[3] = {0};
    for (uint32_t i = START; i <= DELTA; ++i) ONS_TRY(read_number(o, i, &real[i], &integer[i]));
    bool is_float = ons_dtype_is_float(o->inputs[START].dtype);
    if (is_float ? real[DELTA] == 0 : integer[DELTA] == 0) return ons_node_error(o, "a delta of 0");
    double steps = is_float ? ceil((real[LIMIT] - real[START]) / real[DELTA]) : 0;
    if (!isfinite(steps) || steps > 1e15) return ons_node_error(o, "the range does not end");
    int64_t count = is_float ? (int64_t)fmax(steps, 0) : count_integers(integer[START], integer[LIMIT], integer[DELTA]);
    o->outputs[0] = ons_type_make(o->inputs[START].dtype, (ons_shape){1, {count}});
    return NULL;
}

static void range_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                            void *const *outputs) {
    bool is_float = ons_dtype_is_float(o->outputs[0].dtype);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        if (is_float)
            ((double *)outputs[0])[i] = *(const double *)inputs[START] + (double)i * *(const double *)inputs[DELTA];
        else
            ((int64_t *)outputs[0])[i] = *(const int64_t *)inputs[START] + i * *(const int64_t *)inputs[DELTA];
    }
}

ONS_DEFINE_OPERATOR(range, "Range", ONS_ONNX(11, ONS_NEWEST), ONS_ARITY(3, 3, 1, 1), ONS_NO_ATTRIBUTES,
                    ONS_INFER(range_infer), ONS_COST(ons_cost_copy),
                    ONS_NOT_DIFFERENTIABLE("its inputs decide a shape"), ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR,
                    ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM, ONS_REFERENCE(range_reference));
