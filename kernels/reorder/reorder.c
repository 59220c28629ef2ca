/* The same values in another layout: from and to ONNX's order, channels last, and the formats that weights are wanted
 * in. */
#include <string.h>

#include "kernels/common/channels.h"
#include "kernels/common/dnnl.h"
#include "kernels/common/strided.h"

enum { LAYOUT };

static ons_status *reorder_infer(ons_operands *o) {
    int64_t layout = ons_attribute_int(o, LAYOUT);
    if (layout < 0 || layout > UINT32_MAX) return ons_node_error(o, "there is no layout %lld", (long long)layout);
    o->outputs[0] = o->inputs[0];
    o->outputs[0].layout = (ons_layout)layout;
    return NULL;
}

/* Words lie in ONNX's order in every layout: nothing to do. */
static void reorder_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                              void *const *outputs) {
    (void)step;
    memcpy(outputs[0], inputs[0], (size_t)ons_elements(&o->inputs[0]) * 8);
}

/* Distances of neighbours along each axis. */
static void set_distances(const ons_type *type, int64_t *distances) {
    int64_t distance = 1;
    for (uint32_t place = type->shape.rank; place-- > 0;) {
        uint32_t axis = ons_channels_axis(type->layout, type->shape.rank, place);
        distances[axis] = distance;
        distance *= type->shape.dims[axis];
    }
}

/* Between ONNX's order and channels last. */
static ons_strided make_copy(const ons_type *from, const ons_type *to) {
    ons_strided copy = ons_strided_dense(from->dtype, &from->shape);
    set_distances(from, copy.from);
    set_distances(to, copy.to);
    return copy;
}

typedef struct reorder_state {
    ons_dnnl primitive; /* first: it is what destroy gets */
    size_t bytes;       /* to be copied, where there is no primitive */
    ons_strided copy;   /* of rank > 0: what is done instead */
} reorder_state;

/* What is moved are bytes: truth values, which gradients choose by, go as the integers that they are kept in. */
static ons_type as_moved(const ons_type *type) {
    ons_type moved = *type;
    if (moved.dtype == ONS_BOOL) moved.dtype = ONS_UINT8;
    return moved;
}

static ons_status *make(ons_prepare *p, const ons_type *given, const ons_type *wanted, ons_dnnl *d) {
    static const int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const ons_operands *o = p->operands;
    ons_type moved_from = as_moved(given), moved_to = as_moved(wanted);
    const ons_type *from = &moved_from, *to = &moved_to;
    int64_t groups = ons_layout_groups(ons_layout_is_weight(from->layout) ? from->layout : to->layout);
    ons_dnnl_memory source, target;
    if (!ons_dnnl_describe(from, groups, &source) || !ons_dnnl_describe(to, groups, &target))
        return ons_node_error(o, "cannot change the layout of %s from %s to %s", ons_dtype_name(given->dtype),
                              ons_layout_name(from->layout), ons_layout_name(to->layout));
    dnnl_engine_t engine = NULL;
    ONS_TRY(ons_dnnl_engine(&engine));
    dnnl_primitive_attr_t attributes;
    ONS_TRY(ons_dnnl_attributes(o, &attributes));
    dnnl_primitive_desc_t description;
    dnnl_status_t status = ons_dnnl_describe_reorder(&source, &target, attributes, engine, &description);
    dnnl_primitive_attr_destroy(attributes);
    ONS_TRY(ons_dnnl_check(o, status, "a change of layout"));
    ons_status *failure = ons_dnnl_make(p, description, arguments, 2, d);
    dnnl_primitive_desc_destroy(description);
    return failure;
}

static ons_status *reorder_prepare(ons_prepare *p) {
    const ons_type *from = &p->operands->inputs[0], *to = &p->operands->outputs[0];
    void *memory;
    ONS_TRY(ons_prepare_state(p, sizeof(reorder_state), &memory));
    reorder_state *state = memory;
    if (ons_elements(from) == 0 || ons_layout_same_bytes(&from->shape, from->layout, to->layout)) {
        state->bytes = (size_t)ons_layout_bytes(from);
        p->implementation = "memcpy";
        return NULL;
    }
    ons_dnnl_memory unused;
    ons_type moved = as_moved(from);
    moved.layout = ONS_LAYOUT_ONNX;
    bool weight = ons_layout_is_weight(from->layout) || ons_layout_is_weight(to->layout);
    if (!weight && !ons_dnnl_describe(&moved, 0, &unused)) { /* types that oneDNN is not asked to move */
        state->copy = make_copy(from, to);
        ons_strided_plan(&state->copy);
        p->implementation = "tiles";
        return NULL;
    }
    int before = ons_dnnl_enter(p->threads);
    ons_status *status = make(p, from, to, &state->primitive);
    ons_dnnl_leave(before);
    if (status == NULL) p->destroy = ons_dnnl_destroy;
    return status;
}

static void reorder_run(const ons_launch *launch) {
    const reorder_state *state = launch->state;
    if (state->primitive.primitive != NULL)
        ons_dnnl_run(&state->primitive, (const void *const[]){launch->inputs[0], launch->outputs[0]}, launch->scratch,
                     launch->fault);
    else if (state->copy.rank > 0)
        ons_strided_copy(&state->copy, launch->inputs[0], launch->outputs[0]);
    else
        memcpy(launch->outputs[0], launch->inputs[0], state->bytes);
}

static ons_status *reorder_prepare_cuda(ons_prepare *p) {
    const ons_type *from = &p->operands->inputs[0], *to = &p->operands->outputs[0];
    if (ons_layout_is_weight(from->layout) || ons_layout_is_weight(to->layout))
        return ons_node_error(p->operands, "the CUDA kernel does not know layouts of the CPU's weights");
    ons_strided copy = make_copy(from, to);
    return ons_strided_prepare(p, &copy);
}

static const ons_case reorder_cases[] = {
    {.name = "channels_last",
     .inputs = {ONS_F32(2, 5, 3, 4)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "channels_last_1d",
     .inputs = {ONS_F32(2, 5, 3)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "channels_last_3d",
     .inputs = {ONS_F32(2, 5, 3, 2, 2)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "truth",
     .inputs = {ONS_RANDOM(ONS_BOOL, 0, 1, 2, 5, 3, 4)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "integers",
     .inputs = {ONS_RANDOM(ONS_INT64, -9, 9, 2, 5, 3, 4)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "halves",
     .inputs = {ONS_RANDOM(ONS_BFLOAT16, -1, 1, 2, 35, 5, 9)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "one_channel",
     .inputs = {ONS_F32(2, 1, 3, 4)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "same", .inputs = {ONS_F32(7)}, .settings = {ONS_SET_INT("layout", ONS_LAYOUT_ONNX)}, .no_gradient = true},
    {.name = "empty",
     .inputs = {ONS_F32(0, 3, 2)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true},
    {.name = "padded_weight",
     .inputs = {ONS_F32(6, 3, 5, 5)},
     .settings = {ONS_SET_INT("layout", dnnl_Acdb16a)},
     .no_gradient = true},
    {.name = "grouped_weight",
     .inputs = {ONS_F32(12, 1, 3, 3)},
     .settings = {ONS_SET_INT("layout", dnnl_Abcde16a | 12 << ONS_LAYOUT_TAG_BITS)},
     .no_gradient = true},
    {.name = "large",
     .inputs = {ONS_F32(16, 64, 56, 56)},
     .settings = {ONS_SET_INT("layout", ONS_LAYOUT_CHANNELS_LAST)},
     .no_gradient = true,
     .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(reorder, "Reorder", ONS_INTERNAL, ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("layout", ONS_LAYOUT_ONNX)), ONS_INFER(reorder_infer),
                    ONS_COST(ons_cost_copy), ONS_NOT_DIFFERENTIABLE("layouts are chosen after differentiation"),
                    ONS_SAVES_NOTHING, ONS_ROLES(ONS_ROLE_REORDER, 0, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT,
                    ONS_ONE_FORM, ONS_REFERENCE(reorder_reference), ONS_CPU_KERNEL(reorder_prepare, reorder_run),
                    ONS_CUDA_KERNEL(reorder_prepare_cuda, ons_cuda_reorder), reorder_cases);
