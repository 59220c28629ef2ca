/* ReverseSequence: of every sample the first sequence_lens[sample] steps in reverse order, the others as they are. */
#include "kernels/reverse_sequence/reverse_sequence.h"
#include "kernels/common/index.h"
#include "kernels/common/kernel.h"

enum { DATA, LENGTHS };
enum { BATCH_AXIS, TIME_AXIS };

static ons_status *reverse_sequence_infer(ons_operands *o) {
    const ons_shape *shape = &o->inputs[DATA].shape, *lengths = &o->inputs[LENGTHS].shape;
    int64_t batch = ons_attribute_int(o, BATCH_AXIS), time = ons_attribute_int(o, TIME_AXIS);
    if (shape->rank < 2 || batch < 0 || batch > 1 || time != 1 - batch)
        return ons_node_error(o, "needs rank 2 or more, and axes 0 and 1 as batch and time");
    if (o->inputs[LENGTHS].dtype != ONS_INT64)
        return ons_node_error(o, "lengths must be int64, not %s", ons_dtype_name(o->inputs[LENGTHS].dtype));
    if (lengths->rank != 1 || lengths->dims[0] != shape->dims[batch])
        return ons_node_error(o, "needs one length for each of the %lld samples", (long long)shape->dims[batch]);
    const int64_t *known = o->constants[LENGTHS].data;
    for (int64_t i = 0; known != NULL && i < lengths->dims[0]; ++i)
        if (known[i] < 0 || known[i] > shape->dims[time])
            return ons_node_error(o, "length %lld lies outside of the %lld steps", (long long)known[i],
                                  (long long)shape->dims[time]);
    o->outputs[0] = o->inputs[DATA];
    return NULL;
}

static ons_reverse_sequence make_state(const ons_operands *o, int64_t element_bytes) {
    const ons_shape *shape = &o->inputs[DATA].shape;
    int64_t slice = ons_shape_span(shape, 2, shape->rank) * element_bytes;
    return (ons_reverse_sequence){shape->dims[0], shape->dims[1], slice,
                                  slice == 0 ? 0 : shape->dims[0] * shape->dims[1],
                                  ons_attribute_int(o, BATCH_AXIS) == 0};
}

/* One slice; false where its sample's length is no number of steps (then it is copied as it is). */
static bool copy_slice(const ons_reverse_sequence *s, int64_t number, const int64_t *lengths, const char *from,
                       char *to) {
    int64_t row = number / s->columns, column = number % s->columns;
    int64_t sample = s->batch_first ? row : column, time = s->batch_first ? column : row;
    int64_t length = lengths[sample];
    bool valid = length >= 0 && length <= (s->batch_first ? s->columns : s->rows);
    int64_t source = valid && time < length ? length - 1 - time : time;
    int64_t at = s->batch_first ? row * s->columns + source : source * s->columns + column;
    memcpy(to + number * s->slice, from + at * s->slice, (size_t)s->slice);
    return valid;
}

static void reverse_sequence_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                       void *const *outputs) {
    ons_reverse_sequence s = make_state(o, 8);
    for (int64_t i = 0; i < s.slices; ++i) copy_slice(&s, i, inputs[LENGTHS], inputs[DATA], outputs[0]);
    const int64_t *lengths = inputs[LENGTHS];
    for (int64_t i = 0, n = s.batch_first ? s.rows : s.columns; i < n; ++i)
        if (lengths[i] < 0 || lengths[i] > (s.batch_first ? s.columns : s.rows))
            ons_reference_fault(step, ONS_REVERSE_SEQUENCE_PROBLEM, i, lengths[i]);
}

static ons_status *reverse_sequence_prepare(ons_prepare *p) {
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(ons_reverse_sequence), &memory));
    *(ons_reverse_sequence *)memory = make_state(p->operands, (int64_t)ons_dtype_size(p->operands->inputs[DATA].dtype));
    return NULL;
}

static void reverse_sequence_run(const ons_launch *launch) {
    const ons_reverse_sequence *s = launch->state;
    const int64_t *lengths = launch->inputs[LENGTHS];
    bool valid = s->slice > 0; /* else the lengths are looked at all the same */
#pragma omp parallel for schedule(static) reduction(&& : valid) if (s->slices * s->slice > 4 * ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->slices; ++i)
        valid = copy_slice(s, i, lengths, launch->inputs[DATA], launch->outputs[0]) && valid;
    for (int64_t i = 0, n = s->batch_first ? s->rows : s->columns; !valid && i < n; ++i)
        if (launch->fault->problem == NULL && (lengths[i] < 0 || lengths[i] > (s->batch_first ? s->columns : s->rows)))
            *launch->fault = (ons_fault){ONS_REVERSE_SEQUENCE_PROBLEM, i, lengths[i]};
}

/* What reverses also reverses back. */
static ons_status *reverse_sequence_gradient(ons_gradient *g) {
    ons_build_node_like(g->builder, &ons_op_reverse_sequence, ONS_IN(g->cotangents[0], ons_gradient_input(g, LENGTHS)),
                        g->operands->attributes, 1, NULL, &g->gradients[DATA]);
    return NULL;
}

static const ons_case reverse_sequence_cases[] = {
    {.name = "time_first", .inputs = {ONS_F32(4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "batch_first",
     .inputs = {ONS_F32(3, 5, 2), ONS_RANDOM(ONS_INT64, 0, 5, 3)},
     .settings = {ONS_SET_INT("batch_axis", 0), ONS_SET_INT("time_axis", 1)}},
    {.name = "threads", .inputs = {ONS_F32(30, 40, 65), ONS_RANDOM(ONS_INT64, 1, 30, 40)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)}},
    {.name = "ONS_REVERSE_SEQUENCE_PROBLEM_in_data",
     .inputs = {ONS_F32(4, 2), {.dtype = ONS_INT64, .shape = ONS_DIMS(2), .value_count = 2, .values = {1, 5}}},
     .fault = "length"},
    {.name = "none", .inputs = {ONS_F32(4, 0), ONS_RANDOM(ONS_INT64, 1, 4, 0)}},
    {.name = "one_axis",
     .inputs = {ONS_F32(4, 3), ONS_RANDOM(ONS_INT64, 1, 4, 3)},
     .settings = {ONS_SET_INT("time_axis", 1)},
     .error = "axes 0 and 1"},
    {.name = "ONS_REVERSE_SEQUENCE_PROBLEM", .inputs = {ONS_F32(4, 2), ONS_I64(1, 5)}, .error = "length 5"},
    {.name = "misfit", .inputs = {ONS_F32(4, 3), ONS_I64(1, 4)}, .error = "3 samples"},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reverse_sequence, "ReverseSequence", ONS_ONNX(10, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("batch_axis", 1), ONS_INT_ATTRIBUTE("time_axis", 0)),
                    ONS_INFER(reverse_sequence_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(reverse_sequence_gradient, ONS_INPUT_BIT(DATA)),
                    ONS_SAVES(ONS_INPUT_BIT(LENGTHS), 0), ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(reverse_sequence_reference),
                    ONS_CPU_KERNEL(reverse_sequence_prepare, reverse_sequence_run),
                    ONS_CUDA_KERNEL(reverse_sequence_prepare, ons_cuda_reverse_sequence), reverse_sequence_cases);
