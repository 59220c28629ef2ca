/* The gradient of Slice: the cotangent in its places in a tensor of zeros. Inputs: the cotangent, then Slice's starts,
 * ends, axes and steps; the attribute is the shape of what was sliced. */
#include "kernels/common/slicing.h"

enum { SHAPE };

static ons_status *slice_gradient_infer(ons_operands *o) {
    if (o->attributes[SHAPE].count > ONS_RANK_MAX) return ons_node_error(o, "rank %u", o->attributes[SHAPE].count);
    ons_shape shape = ons_shape_make(o->attributes[SHAPE].count, o->attributes[SHAPE].ints);
    ons_slicing slicing;
    ONS_TRY(ons_slicing_of(o, &shape, &slicing));
    if (!ons_shape_equal(&slicing.result, &o->inputs[0].shape))
        return ons_node_error(o, "the cotangent does not have the shape of the slice");
    o->outputs[0] = ons_type_make(o->inputs[0].dtype, shape);
    return NULL;
}

static void slice_gradient_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                     void *const *outputs) {
    ons_slicing slicing = {0};
    ons_status_free(ons_slicing_of(o, &o->outputs[0].shape, &slicing)); /* has passed inference */
    memset(outputs[0], 0, (size_t)ons_elements(&o->outputs[0]) * 8);
    for (int64_t i = 0, n = ons_elements(&o->inputs[0]); i < n; ++i)
        ons_copy_word(outputs[0], ons_slicing_source(&slicing, &o->outputs[0].shape, i), inputs[0], i);
}

typedef ons_slice_gradient state;

static ons_status *slice_gradient_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_slicing slicing;
    void *memory;
    ONS_TRY(ons_slicing_of(o, &o->outputs[0].shape, &slicing));
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->copy = ons_slicing_copy(&slicing, o->inputs[0].dtype, &o->outputs[0].shape, true);
    s->bytes = ons_type_dense_bytes(&o->outputs[0]);
    s->covers = ons_elements(&o->inputs[0]) == ons_elements(&o->outputs[0]);
    return NULL;
}

static void slice_gradient_run(const ons_launch *launch) {
    const state *s = launch->state;
    char *out = launch->outputs[0];
    enum { PIECE = 64 * 1024 };
    int64_t bytes = s->covers ? 0 : s->bytes;
#pragma omp parallel for schedule(static) if (bytes > PIECE)
    for (int64_t at = 0; at < bytes; at += PIECE)
        memset(out + at, 0, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
    ons_strided_copy(&s->copy, launch->inputs[0], out);
}

#define OF_SHAPE(...) .settings = {ONS_SET_INTS("shape", __VA_ARGS__)}

static const ons_case slice_gradient_cases[] = {
    {.name = "middle", .inputs = {ONS_F32(3, 4), ONS_I64(1, 2), ONS_I64(4, 6)}, OF_SHAPE(5, 7)},
    {.name = "backwards",
     .inputs = {ONS_F32(4, 3), ONS_I64(-1), ONS_I64(INT64_MIN + 1), ONS_I64(1), ONS_I64(-2)},
     OF_SHAPE(4, 5)},
    {.name = "everything", .inputs = {ONS_F32(4, 3), ONS_I64(0), ONS_I64(9), ONS_I64(1)}, OF_SHAPE(4, 3)},
    {.name = "nothing", .inputs = {ONS_F32(0, 3), ONS_I64(2), ONS_I64(1)}, OF_SHAPE(4, 3)},
    {.name = "threads", .inputs = {ONS_F32(60, 500), ONS_I64(100), ONS_I64(600), ONS_I64(1)}, OF_SHAPE(60, 700)},
    {.name = "misfit",
     .inputs = {ONS_F32(3, 4), ONS_I64(0), ONS_I64(2)},
     OF_SHAPE(5, 7),
     .error = "shape of the slice"},
    {.name = "large",
     .inputs = {ONS_F32(16, 256, 768), ONS_I64(768), ONS_I64(1536), ONS_I64(2)},
     OF_SHAPE(16, 256, 2304),
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(slice_gradient, "SliceGradient", ONS_INTERNAL, ONS_ARITY(3, 5, 1, 1),
                    ONS_ATTRIBUTES(ONS_REQUIRED_ATTRIBUTE("shape", ONS_ATTRIBUTE_INTS)),
                    ONS_INFER(slice_gradient_infer), ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("a gradient"),
                    ONS_SAVES_NOTHING, ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(slice_gradient_reference), ONS_CPU_KERNEL(slice_gradient_prepare, slice_gradient_run),
                    ONS_CUDA_KERNEL(slice_gradient_prepare, ons_cuda_slice_gradient), slice_gradient_cases);
