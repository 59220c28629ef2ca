/* Pad: the input with a border, which may be negative and then cuts: constant, the tensor mirrored (reflect), its last
 * element repeated (edge), or the tensor repeated (wrap). */
#include <string.h>

#include "graph/upgrade.h"
#include "kernels/common/axes.h"
#include "kernels/common/strided.h"

enum { DATA, PADS, VALUE, AXES };
enum { MODE };

typedef enum mode { CONSTANT, REFLECT, EDGE, WRAP, MODES } mode;

static mode find_mode(const ons_operands *o) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    mode found = CONSTANT;
    while (found < MODES && strcmp(names[found], ons_attribute_string(o, MODE)) != 0) ++found;
    return found;
}

/* What is put before and after each axis. */
typedef struct border {
    int64_t before[ONS_RANK_MAX], after[ONS_RANK_MAX];
} border;

static ons_status *find_border(const ons_operands *o, border *result) {
    int64_t pads[ONS_INTEGERS_MAX], axes[ONS_INTEGERS_MAX];
    uint32_t pad_count, count, rank = o->inputs[DATA].shape.rank;
    bool chosen[ONS_RANK_MAX];
    ONS_TRY(ons_constant_integers(o, PADS, pads, &pad_count));
    ONS_TRY(ons_constant_integers(o, AXES, axes, &count));
    ONS_TRY(ons_node_axes(o, axes, count, rank, chosen));
    if (!ons_has_input(o, AXES)) count = rank;
    if (pad_count != 2 * count) return ons_node_error(o, "%u pads for %u axes", pad_count, count);
    *result = (border){{0}, {0}};
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t axis = i;
        if (ons_has_input(o, AXES)) ONS_TRY(ons_node_axis(o, axes[i], rank, &axis));
        result->before[axis] = pads[i];
        result->after[axis] = pads[count + i];
    }
    return NULL;
}

static ons_status *pad_infer(ons_operands *o) {
    border b;
    mode m = find_mode(o);
    ONS_TRY(find_border(o, &b));
    if (m == MODES) return ons_node_error(o, "unknown mode '%s'", ons_attribute_string(o, MODE));
    if (ons_has_input(o, VALUE) &&
        (ons_elements(&o->inputs[VALUE]) != 1 || o->inputs[VALUE].dtype != o->inputs[DATA].dtype))
        return ons_node_error(o, "the value must be one element of the input's type");
    o->outputs[0] = o->inputs[DATA];
    for (uint32_t i = 0; i < o->inputs[DATA].shape.rank; ++i) {
        int64_t length = o->inputs[DATA].shape.dims[i], reach = m == REFLECT ? length - 1 : length, total;
        if (m != CONSTANT && m != EDGE && (b.before[i] > reach || b.after[i] > reach))
            return ons_node_error(o, "axis %u of %lld elements is too short for its border", i, (long long)length);
        if (m != CONSTANT && length == 0 && (b.before[i] > 0 || b.after[i] > 0))
            return ons_node_error(o, "axis %u is empty and cannot be continued", i);
        if (__builtin_add_overflow(length, b.before[i], &total) || __builtin_add_overflow(total, b.after[i], &total) ||
            total < 0)
            return ons_node_error(o, "axis %u cannot be padded by %lld and %lld", i, (long long)b.before[i],
                                  (long long)b.after[i]);
        o->outputs[0].shape.dims[i] = total;
    }
    return NULL;
}

/* The input's index that shows at `index` of the result; -1: the constant. */
static int64_t source_index(mode m, int64_t index, int64_t before, int64_t length) {
    index -= before;
    if (index >= 0 && index < length) return index;
    switch (m) {
    case REFLECT: return index < 0 ? -index : 2 * (length - 1) - index;
    case EDGE: return index < 0 ? 0 : length - 1;
    case WRAP: return index < 0 ? index + length : index - length;
    default: return -1;
    }
}

static void pad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    border b;
    ons_status_free(find_border(o, &b)); /* has passed inference */
    mode m = find_mode(o);
    int64_t zero = 0, index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&o->outputs[0].shape, i, index);
        for (uint32_t axis = 0; axis < o->outputs[0].shape.rank; ++axis) {
            index[axis] = source_index(m, index[axis], b.before[axis], o->inputs[DATA].shape.dims[axis]);
            inside &= index[axis] >= 0;
        }
        if (inside)
            ons_copy_word(outputs[0], i, inputs[DATA], ons_ravel(&o->inputs[DATA].shape, index));
        else
            ons_copy_word(outputs[0], i, inputs[VALUE] == NULL ? &zero : inputs[VALUE], 0);
    }
}

/* constant: fill, then copy the box that the input and the result share. Others: a list of sources for each axis. */
typedef struct state {
    ons_strided copy, fill;
    bool by_lists;
    ons_shape result;
    size_t size;
    int64_t *sources[ONS_RANK_MAX]; /* offsets in elements */
} state;

static void prepare_box(const ons_operands *o, const border *b, state *s) {
    const ons_shape *from = &o->inputs[DATA].shape, *to = &o->outputs[0].shape;
    s->fill = ons_strided_dense(o->inputs[DATA].dtype, to);
    memset(s->fill.from, 0, sizeof s->fill.from);
    ons_strided_plan(&s->fill);
    s->copy = ons_strided_dense(o->inputs[DATA].dtype, from);
    int64_t strides[ONS_RANK_MAX];
    ons_dense_strides(to, strides);
    memcpy(s->copy.to, strides, sizeof strides);
    for (uint32_t i = 0; i < from->rank; ++i) {
        int64_t first = b->before[i] < 0 ? -b->before[i] : 0,
                last = from->dims[i] + (b->after[i] < 0 ? b->after[i] : 0);
        s->copy.dims[i] = last > first ? last - first : 0;
        s->copy.from_offset += first * s->copy.from[i];
        s->copy.to_offset += (first + b->before[i]) * strides[i];
    }
    ons_strided_plan(&s->copy);
}

static ons_status *prepare_lists(ons_prepare *p, mode m, const border *b, state *s) {
    const ons_operands *o = p->operands;
    int64_t strides[ONS_RANK_MAX];
    ons_dense_strides(&o->inputs[DATA].shape, strides);
    s->by_lists = true;
    s->result = o->outputs[0].shape;
    for (uint32_t axis = 0; axis < s->result.rank; ++axis) {
        ONS_NEW(s->sources[axis], p->arena, (size_t)s->result.dims[axis] + 1);
        for (int64_t i = 0; i < s->result.dims[axis]; ++i)
            s->sources[axis][i] = strides[axis] * source_index(m, i, b->before[axis], o->inputs[DATA].shape.dims[axis]);
    }
    return NULL;
}

static ons_status *pad_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    border b;
    void *memory;
    ONS_TRY(find_border(o, &b));
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->size = ons_dtype_size(o->inputs[DATA].dtype);
    if (find_mode(o) != CONSTANT && o->outputs[0].shape.rank > 0) return prepare_lists(p, find_mode(o), &b, s);
    prepare_box(o, &b, s);
    return NULL;
}

static void run_lists(const state *s, const char *in, char *out) {
    uint32_t last = s->result.rank - 1;
    int64_t rows = ons_shape_span(&s->result, 0, last), width = s->result.dims[last];
#pragma omp parallel for schedule(static) if (rows * width > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        int64_t rest = row, offset = 0;
        for (uint32_t axis = last; axis-- > 0;) {
            offset += s->sources[axis][rest % s->result.dims[axis]];
            rest /= s->result.dims[axis];
        }
        for (int64_t i = 0; i < width; ++i)
            memcpy(out + (row * width + i) * (int64_t)s->size, in + (offset + s->sources[last][i]) * (int64_t)s->size,
                   s->size);
    }
}

static void pad_run(const ons_launch *launch) {
    const state *s = launch->state;
    static const uint64_t zero = 0;
    if (s->by_lists) {
        run_lists(s, launch->inputs[DATA], launch->outputs[0]);
        return;
    }
    ons_strided_copy(&s->fill, launch->inputs[VALUE] == NULL ? &zero : launch->inputs[VALUE], launch->outputs[0]);
    ons_strided_copy(&s->copy, launch->inputs[DATA], launch->outputs[0]);
}

/* A border taken off again; what was cut away gets zeros. */
static ons_status *pad_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    uint32_t rank = o->inputs[DATA].shape.rank;
    if (find_mode(o) != CONSTANT)
        return ons_node_error(o, "no gradient in mode '%s'; only mode 'constant' has one",
                              ons_attribute_string(o, MODE));
    border b;
    ONS_TRY(find_border(o, &b));
    int64_t pads[2 * ONS_RANK_MAX];
    for (uint32_t i = 0; i < rank; ++i) {
        pads[i] = -b.before[i];
        pads[rank + i] = -b.after[i];
    }
    g->gradients[DATA] =
        ons_build(g->builder, &ons_op_pad, ONS_IN(g->cotangents[0], ons_build_integers(g->builder, pads, 2 * rank)),
                  ONS_DEFAULTS);
    return NULL;
}

static ons_status *pad_upgrade(ons_upgrade *u) {
    ONS_TRY(ons_upgrade_attribute_to_input(u, "pads", PADS, ONS_INT64));
    return u->opset < 11 ? ons_upgrade_attribute_to_input(u, "value", VALUE, ONS_FLOAT32) : NULL;
}

#define IN_MODE(NAME) .settings = {ONS_SET_STRING("mode", NAME)}

static const ons_case pad_cases[] = {
    {.name = "zeros", .inputs = {ONS_F32(2, 3), ONS_I64(0, 1, 2, 0)}},
    {.name = "value", .inputs = {ONS_F32(2, 3, 4), ONS_I64(0, 1, 1, 0, 1, 2), ONS_F32_SCALAR(-3)}},
    {.name = "cut", .inputs = {ONS_F32(5, 6), ONS_I64(-1, 2, 1, -3)}},
    {.name = "cut_all", .inputs = {ONS_F32(3), ONS_I64(-4, 6)}},
    {.name = "axes", .inputs = {ONS_F32(2, 3, 4), ONS_I64(1, 2), ONS_LEFT_OUT, ONS_I64(-1)}},
    {.name = "reflect", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 3)}, IN_MODE("reflect"), .no_gradient = true},
    {.name = "edge", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 5)}, IN_MODE("edge"), .no_gradient = true},
    {.name = "wrap", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 3)}, IN_MODE("wrap"), .no_gradient = true},
    {.name = "threads", .inputs = {ONS_F32(7, 60, 60), ONS_I64(0, 1, 1, 0, 1, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3), ONS_I64(1, 1)}},
    {.name = "rank0", .inputs = {ONS_F32(), {.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}}},
    {.name = "too_far", .inputs = {ONS_F32(3), ONS_I64(3, 0)}, IN_MODE("reflect"), .error = "too short"},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "pads for"},
    {.name = "unknown", .inputs = {ONS_F32(3), ONS_I64(1, 1)}, IN_MODE("mirror"), .error = "unknown mode"},
    {.name = "large", .inputs = {ONS_F32(32, 64, 56, 56), ONS_I64(0, 0, 1, 1, 0, 0, 1, 1)}, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(pad, "Pad", ONS_ONNX(2, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("mode", "constant")), ONS_INFER(pad_infer),
                    ONS_COST(ons_cost_copy), ONS_GRADIENT_RULE(pad_gradient, ONS_INPUT_BIT(DATA)), ONS_SAVES_NOTHING,
                    ONS_PLAIN_OPERATOR, ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_FORMS(pad_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(pad_reference), ONS_CPU_KERNEL(pad_prepare, pad_run),
                    ONS_NO_CUDA_KERNEL("this build has no CUDA"), pad_cases);
