/* Pad: the input with a border, which may be negative and then cuts: constant, the tensor mirrored (reflect), its last
 * element repeated (edge), or the tensor repeated (wrap). */
#include "kernels/pad/pad.h"
#include "graph/evaluate.h"
#include "graph/upgrade.h"
#include "kernels/common/axes.h"
#include "kernels/common/channels.h"
#include "kernels/common/cuda_elementwise.h"
#include "kernels/common/padding.h"
#include "kernels/common/rules.h"
#include "kernels/common/strided.h"

enum { VALUE_ATTRIBUTE = ONS_PADDING_MODE + 1 };

static ons_status *pad_infer(ons_operands *o) {
    const ons_type *data = &o->inputs[ONS_PADDING_DATA], *value = &o->inputs[ONS_PADDING_VALUE];
    ons_padding padding;
    ONS_TRY(ons_padding_of(o, &data->shape, &padding));
    if (ons_has_input(o, ONS_PADDING_VALUE) && (ons_elements(value) != 1 || value->dtype != data->dtype))
        return ons_node_error(o, "the value must be one element of the input's type");
    o->outputs[0] = ons_type_make(data->dtype, padding.output);
    return NULL;
}

/* The word of the constant where it is not an input: older opsets have an attribute. */
static uint64_t own_value(const ons_operands *o) {
    double value = ons_attribute_float(o, VALUE_ATTRIBUTE);
    int64_t integer = value > -0x1p62 && value < 0x1p62 ? (int64_t)value : 0;
    uint64_t word;
    memcpy(&word, ons_dtype_is_float(o->outputs[0].dtype) ? (const void *)&value : &integer, sizeof word);
    return word;
}

static void pad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                          void *const *outputs) {
    ons_padding padding;
    ons_status_free(ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &padding)); /* has passed inference */
    uint64_t own = own_value(o);
    const void *value = ons_has_input(o, ONS_PADDING_VALUE) ? inputs[ONS_PADDING_VALUE] : &own;
    int64_t index[ONS_RANK_MAX];
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&padding.output, i, index);
        for (uint32_t axis = 0; axis < padding.output.rank; ++axis) {
            index[axis] = ons_padding_source(&padding, axis, index[axis]);
            inside &= index[axis] >= 0;
        }
        if (inside)
            ons_copy_word(outputs[0], i, inputs[ONS_PADDING_DATA], ons_ravel(&padding.input, index));
        else
            ons_copy_word(outputs[0], i, value, 0);
    }
}

/* constant: fill, then copy the box that the input and the result share. Others: a list of sources for each axis, of
 * which the last one has a stretch [begin, end) that lies side by side. */
typedef struct state {
    ons_strided copy, fill;
    uint64_t value; /* where it is not an input */
    bool by_lists;
    ons_shape result;
    size_t size;
    int64_t *sources[ONS_RANK_MAX]; /* offsets in elements */
    int64_t begin, end;
} state;

static void prepare_box(const ons_operands *o, const ons_padding *padding, state *s) {
    ons_dtype dtype = o->inputs[ONS_PADDING_DATA].dtype;
    uint64_t word = own_value(o);
    ons_narrow(dtype, &word, 1, &s->value);
    s->fill = ons_strided_dense(dtype, &padding->output);
    memset(s->fill.from, 0, sizeof s->fill.from);
    ons_strided_plan(&s->fill);
    s->copy = ons_strided_dense(dtype, &padding->input);
    int64_t strides[ONS_RANK_MAX];
    ons_dense_strides(&padding->output, strides);
    memcpy(s->copy.to, strides, sizeof strides);
    for (uint32_t i = 0; i < padding->input.rank; ++i) {
        int64_t before = padding->before[i], after = padding->after[i];
        int64_t first = before < 0 ? -before : 0, last = padding->input.dims[i] + (after < 0 ? after : 0);
        s->copy.dims[i] = last > first ? last - first : 0;
        s->copy.from_offset += first * s->copy.from[i];
        s->copy.to_offset += (first + before) * strides[i];
    }
    ons_strided_plan(&s->copy);
}

static int64_t between(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static ons_status *prepare_lists(ons_prepare *p, const ons_padding *padding, state *s) {
    int64_t strides[ONS_RANK_MAX];
    uint32_t last = padding->output.rank - 1;
    ons_dense_strides(&padding->input, strides);
    s->by_lists = true;
    s->result = padding->output;
    for (uint32_t axis = 0; axis <= last; ++axis) {
        ONS_NEW(s->sources[axis], p->arena, (size_t)s->result.dims[axis] + 1);
        for (int64_t i = 0; i < s->result.dims[axis]; ++i)
            s->sources[axis][i] = strides[axis] * ons_padding_source(padding, axis, i);
    }
    s->begin = between(padding->before[last], 0, s->result.dims[last]);
    s->end = between(padding->before[last] + padding->input.dims[last], s->begin, s->result.dims[last]);
    return NULL;
}

static ons_status *pad_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_padding padding;
    void *memory;
    ONS_TRY(ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &padding));
    padding = ons_padding_in_memory(&padding, o->inputs[ONS_PADDING_DATA].layout);
    ONS_TRY(ons_prepare_state(p, sizeof(state), &memory));
    state *s = memory;
    s->size = ons_dtype_size(o->inputs[ONS_PADDING_DATA].dtype);
    if (padding.mode != ONS_PAD_CONSTANT && padding.output.rank > 0) return prepare_lists(p, &padding, s);
    prepare_box(o, &padding, s);
    return NULL;
}

#define DEFINE_COPY(TYPE)                                                                                              \
    static void copy_##TYPE(const int64_t *sources, int64_t begin, int64_t end, const void *in, void *out) {           \
        const TYPE *from = in;                                                                                         \
        TYPE *to = out;                                                                                                \
        for (int64_t i = begin; i < end; ++i) to[i] = from[sources[i]];                                                \
    }

DEFINE_COPY(uint8_t)
DEFINE_COPY(uint16_t)
DEFINE_COPY(uint32_t)
DEFINE_COPY(uint64_t)

static void copy_listed(const state *s, int64_t begin, int64_t end, const void *in, void *out) {
    const int64_t *sources = s->sources[s->result.rank - 1];
    switch (s->size) {
    case 1: copy_uint8_t(sources, begin, end, in, out); break;
    case 2: copy_uint16_t(sources, begin, end, in, out); break;
    case 4: copy_uint32_t(sources, begin, end, in, out); break;
    default: copy_uint64_t(sources, begin, end, in, out); break;
    }
}

static void run_lists(const state *s, const char *in, char *out) {
    uint32_t last = s->result.rank - 1;
    int64_t rows = ons_shape_span(&s->result, 0, last), width = s->result.dims[last], size = (int64_t)s->size;
#pragma omp parallel for schedule(static) if (rows * width > ONS_PARALLEL_GRAIN)
    for (int64_t row = 0; row < rows; ++row) {
        int64_t rest = row, offset = 0;
        for (uint32_t axis = last; axis-- > 0;) {
            offset += s->sources[axis][rest % s->result.dims[axis]];
            rest /= s->result.dims[axis];
        }
        const char *from = in + offset * size;
        char *to = out + row * width * size;
        copy_listed(s, 0, s->begin, from, to);
        if (s->end > s->begin)
            memcpy(to + s->begin * size, from + s->sources[last][s->begin] * size,
                   (size_t)((s->end - s->begin) * size));
        copy_listed(s, s->end, width, from, to);
    }
}

static void pad_run(const ons_launch *launch) {
    const state *s = launch->state;
    const void *value = launch->inputs[ONS_PADDING_VALUE];
    if (s->by_lists) {
        run_lists(s, launch->inputs[ONS_PADDING_DATA], launch->outputs[0]);
        return;
    }
    ons_strided_copy(&s->fill, value == NULL ? &s->value : value, launch->outputs[0]);
    ons_strided_copy(&s->copy, launch->inputs[ONS_PADDING_DATA], launch->outputs[0]);
}

/* A border taken off again; what was cut away gets zeros. */
static ons_value_id gradient_of_constant(ons_gradient *g, const ons_padding *padding) {
    uint32_t rank = padding->input.rank;
    int64_t pads[2 * ONS_RANK_MAX];
    for (uint32_t i = 0; i < rank; ++i) {
        pads[i] = -padding->before[i];
        pads[rank + i] = -padding->after[i];
    }
    return ons_build(g->builder, &ons_op_pad, ONS_IN(g->cotangents[0], ons_build_integers(g->builder, pads, 2 * rank)),
                     ONS_DEFAULTS);
}

/* All cotangents but those that came from the data. */
static ons_value_id gradient_of_value(ons_gradient *g, ons_value_id inside) {
    const ons_settings drop = ONS_WITH(ONS_AT_INT(0, 0));
    ons_value_id all = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(g->cotangents[0], ONS_NONE), drop);
    ons_value_id part = ons_build(g->builder, &ons_op_reduce_sum, ONS_IN(inside, ONS_NONE), drop);
    return ons_build_reshape(g->builder, ons_make2(g, &ons_op_sub, all, part),
                             &g->operands->inputs[ONS_PADDING_VALUE].shape);
}

static ons_status *pad_gradient(ons_gradient *g) {
    const ons_operands *o = g->operands;
    const ons_shape *shape = &o->inputs[ONS_PADDING_DATA].shape;
    ons_padding padding;
    ONS_TRY(ons_padding_of(o, shape, &padding));
    if (padding.mode != ONS_PAD_CONSTANT) {
        g->gradients[ONS_PADDING_DATA] =
            ons_build(g->builder, &ons_op_pad_gradient,
                      ONS_IN(g->cotangents[0], ons_gradient_input(g, ONS_PADDING_PADS), ONS_NONE,
                             ons_gradient_input(g, ONS_PADDING_AXES)),
                      ONS_WITH(ONS_AT_STRING(ONS_PADDING_MODE, ons_attribute_string(o, ONS_PADDING_MODE)),
                               ONS_AT_INTS(1, shape->rank, shape->dims)));
        return NULL;
    }
    ons_value_id inside = gradient_of_constant(g, &padding);
    g->gradients[ONS_PADDING_DATA] = inside;
    if (ons_has_input(o, ONS_PADDING_VALUE) && g->wanted[ONS_PADDING_VALUE])
        g->gradients[ONS_PADDING_VALUE] = gradient_of_value(g, inside);
    return NULL;
}

/* Opset 1 says "paddings"; up to opset 10 pads and value are attributes. */
static ons_status *pad_upgrade(ons_upgrade *u) {
    if (u->opset >= 11) return NULL;
    ONS_TRY(ons_upgrade_attribute_to_input(u, u->opset < 2 ? "paddings" : "pads", ONS_PADDING_PADS, ONS_INT64));
    const ons_attribute *value = ons_upgrade_find(u, "value");
    if (value == NULL) return NULL;
    ONS_TRY(ons_upgrade_set(u, "onstage_value", *value));
    ons_upgrade_remove(u, "value");
    return NULL;
}

static ons_status *pad_prepare_cuda(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    ONS_TRY(ons_cuda_require_plain(o));
    ONS_TRY(ons_prepare_state(p, sizeof(ons_pad), &memory));
    ons_pad *s = memory;
    uint64_t word = own_value(o);
    ons_narrow(o->outputs[0].dtype, &word, 1, &s->value);
    s->elements = ons_elements(&o->outputs[0]);
    s->has_value = ons_has_input(o, ONS_PADDING_VALUE);
    s->size = ons_dtype_size(o->outputs[0].dtype);
    return ons_padding_of(o, &o->inputs[ONS_PADDING_DATA].shape, &s->padding);
}

#define IN_MODE(NAME) .settings = {ONS_SET_STRING("mode", NAME)}

static const ons_case pad_cases[] = {
    {.name = "zeros", .inputs = {ONS_F32(2, 3), ONS_I64(0, 1, 2, 0)}},
    {.name = "value", .inputs = {ONS_F32(2, 3, 4), ONS_I64(0, 1, 1, 0, 1, 2), ONS_F32_SCALAR(-3)}},
    {.name = "value_of_data", .inputs = {ONS_F32(2, 3), ONS_I64(0, 1, 2, -1), ONS_F32(1)}},
    {.name = "value_attribute",
     .inputs = {ONS_F32(2, 3), ONS_I64(0, 1, 2, -1)},
     .settings = {ONS_SET_FLOAT("onstage_value", 2.5)}},
    {.name = "cut", .inputs = {ONS_F32(5, 6), ONS_I64(-1, 2, 1, -3)}},
    {.name = "cut_all", .inputs = {ONS_F32(3), ONS_I64(-4, 6)}},
    {.name = "axes", .inputs = {ONS_F32(2, 3, 4), ONS_I64(1, 2), ONS_LEFT_OUT, ONS_I64(-1)}},
    {.name = "reflect", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 3)}, IN_MODE("reflect")},
    {.name = "reflect_far", .inputs = {ONS_F32(3, 1), ONS_I64(7, 1, 5, 2)}, IN_MODE("reflect")},
    {.name = "reflect_cut", .inputs = {ONS_F32(2, 5, 6), ONS_I64(0, -2, 3, 1, 2, -1)}, IN_MODE("reflect")},
    {.name = "reflect_axes",
     .inputs = {ONS_F32(4, 5, 2), ONS_I64(1, 2), ONS_LEFT_OUT, ONS_I64(-2)},
     IN_MODE("reflect")},
    {.name = "edge", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 5)}, IN_MODE("edge")},
    {.name = "edge_threads", .inputs = {ONS_F32(2, 3, 60, 60), ONS_I64(0, 0, 3, 3, 0, 0, 3, 3)}, IN_MODE("edge")},
    {.name = "wrap", .inputs = {ONS_F32(3, 4), ONS_I64(2, 1, 1, 3)}, IN_MODE("wrap")},
    {.name = "wrap_far", .inputs = {ONS_F32(3, 4), ONS_I64(7, -1, 1, 9)}, IN_MODE("wrap")},
    {.name = "channels", .inputs = {ONS_F32(2, 5, 6, 7), ONS_I64(0, 1, 2, -1, 0, 0, 1, 3)}},
    {.name = "reflect_channels", .inputs = {ONS_F32(2, 5, 6, 7), ONS_I64(0, 1, 2, -1, 0, 0, 1, 3)}, IN_MODE("reflect")},
    {.name = "threads", .inputs = {ONS_F32(7, 60, 60), ONS_I64(0, 1, 1, 0, 1, 1)}},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 3), ONS_I64(1, 1)}},
    {.name = "bytes", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 255, 3, 5), ONS_I64(1, 1, 0, 2)}, IN_MODE("reflect")},
    {.name = "halves", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 3, 5), ONS_I64(1, 1, 0, 2)}, IN_MODE("edge")},
    {.name = "doubles", .inputs = {ONS_RANDOM(ONS_FLOAT64, -1, 1, 3, 5), ONS_I64(1, 1, 0, 2)}, IN_MODE("wrap")},
    {.name = "rank0", .inputs = {ONS_F32(), {.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}}},
    {.name = "rank0_edge",
     .inputs = {ONS_F32(), {.dtype = ONS_INT64, .shape = {1, {0}}, .constant = true}},
     IN_MODE("edge")},
    {.name = "empty", .inputs = {ONS_F32(0, 3), ONS_I64(2, 1, 0, 0)}},
    {.name = "empty_edge", .inputs = {ONS_F32(0, 3), ONS_I64(0, 1, 0, 1)}, IN_MODE("edge")},
    {.name = "from_nothing", .inputs = {ONS_F32(0, 3), ONS_I64(1, 0, 0, 0)}, IN_MODE("reflect"), .error = "is empty"},
    {.name = "too_short", .inputs = {ONS_F32(3), ONS_I64(-2, -2)}, .error = "cannot be padded"},
    {.name = "too_far", .inputs = {ONS_F32(3), ONS_I64(INT64_MAX, 0)}, .error = "a border of"},
    {.name = "misfit", .inputs = {ONS_F32(3), ONS_I64(3)}, .error = "pads for"},
    {.name = "type", .inputs = {ONS_F32(3), ONS_I64(1, 1), ONS_I64(2)}, .error = "of the input's type"},
    {.name = "unknown", .inputs = {ONS_F32(3), ONS_I64(1, 1)}, IN_MODE("mirror"), .error = "unknown mode"},
    {.name = "large", .inputs = {ONS_F32(32, 64, 56, 56), ONS_I64(0, 0, 1, 1, 0, 0, 1, 1)}, .benchmark = true},
    {.name = "large_reflect",
     .inputs = {ONS_F32(32, 64, 56, 56), ONS_I64(0, 0, 1, 1, 0, 0, 1, 1)},
     IN_MODE("reflect"),
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(pad, "Pad", ONS_ONNX(1, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1),
                    ONS_ATTRIBUTES(ONS_STRING_ATTRIBUTE("mode", "constant"), ONS_FLOAT_ATTRIBUTE("onstage_value", 0)),
                    ONS_INFER(pad_infer), ONS_COST(ons_cost_copy),
                    ONS_GRADIENT_RULE(pad_gradient, ONS_INPUT_BIT(ONS_PADDING_DATA) | ONS_INPUT_BIT(ONS_PADDING_VALUE)),
                    ONS_SAVES_NOTHING, ONS_ANY_PRECISION_OPERATOR, ONS_NO_ALIASES,
                    ONS_CHOOSES_LAYOUT(ons_channels_choose_first), ONS_FORMS(pad_upgrade, ONS_NO_PATTERNS, NULL),
                    ONS_REFERENCE(pad_reference), ONS_CPU_KERNEL(pad_prepare, pad_run),
                    ONS_CUDA_KERNEL(pad_prepare_cuda, ons_cuda_pad), pad_cases);
