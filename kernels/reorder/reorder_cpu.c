/* Reorder on the CPU. */
#include "kernels/reorder/reorder.h"

#include <string.h>

#include "kernels/common/layout/channels.h"
#include "kernels/common/layout/strided.h"
#include "kernels/common/onednn/onednn.h"

ons_strided ons_reorder_make_copy(const ons_type *from, const ons_type *to) {
    ons_strided copy = ons_strided_dense(from->dtype, &from->shape);
    ons_channels_strides(from, copy.from);
    ons_channels_strides(to, copy.to);
    return copy;
}

typedef struct reorder_state {
    ons_onednn primitive; /* first: it is what destroy gets */
    size_t bytes;         /* to be copied, where there is no primitive */
    ons_strided copy;     /* of rank > 0: what is done instead */
} reorder_state;

/* What is moved are bytes: truth values, which gradients choose by, go as the integers that they are kept in. */
static ons_type as_moved(const ons_type *type) {
    ons_type moved = *type;
    if (moved.dtype == ONS_BOOL) moved.dtype = ONS_UINT8;
    return moved;
}

static ons_status *make(ons_prepare *p, const ons_type *given, const ons_type *wanted, ons_onednn *d) {
    static const int arguments[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    const ons_operands *o = p->operands;
    ons_type moved_from = as_moved(given), moved_to = as_moved(wanted);
    const ons_type *from = &moved_from, *to = &moved_to;
    int64_t groups = ons_layout_groups(ons_layout_is_weight(from->layout) ? from->layout : to->layout);
    ons_onednn_memory source, target;
    if (!ons_onednn_describe(from, groups, &source) || !ons_onednn_describe(to, groups, &target))
        return ons_node_error(o, "cannot change the layout of %s from %s to %s", ons_dtype_name(given->dtype),
                              ons_layout_name(from->layout), ons_layout_name(to->layout));
    dnnl_engine_t engine = NULL;
    ONS_TRY(ons_onednn_engine(&engine));
    dnnl_primitive_attr_t attributes;
    ONS_TRY(ons_onednn_attributes(o, &attributes));
    dnnl_primitive_desc_t description;
    dnnl_status_t status = ons_onednn_describe_reorder(&source, &target, attributes, engine, &description);
    dnnl_primitive_attr_destroy(attributes);
    ONS_TRY(ons_onednn_check(o, status, "a change of layout"));
    ons_status *failure = ons_onednn_make(p, description, arguments, 2, d);
    dnnl_primitive_desc_destroy(description);
    return failure;
}

static ons_status *reorder_prepare(ons_prepare *p) {
    const ons_type *from = &p->operands->inputs[0], *to = &p->operands->outputs[0];
    reorder_state *state;
    ONS_NEW_STATE(state, p);
    if (ons_elements(from) == 0 || ons_layout_same_bytes(&from->shape, from->layout, to->layout)) {
        state->bytes = (size_t)ons_layout_bytes(from);
        p->implementation = "memcpy";
        return NULL;
    }
    ons_onednn_memory unused;
    ons_type moved = as_moved(from);
    moved.layout = ONS_LAYOUT_ONNX;
    bool weight = ons_layout_is_weight(from->layout) || ons_layout_is_weight(to->layout);
    if (!weight && !ons_onednn_describe(&moved, 0, &unused)) { /* types that oneDNN is not asked to move */
        state->copy = ons_reorder_make_copy(from, to);
        ons_strided_plan(&state->copy);
        p->implementation = "tiles";
        return NULL;
    }
    int before = ons_onednn_enter(ons_team_size(p));
    ons_status *status = make(p, from, to, &state->primitive);
    ons_onednn_leave(before);
    if (status == NULL) p->destroy = ons_onednn_destroy;
    return status;
}

static void reorder_run(const ons_launch *launch) {
    const reorder_state *state = launch->state;
    if (state->primitive.primitive != NULL)
        ons_onednn_run(&state->primitive, (const void *const[]){launch->inputs[0], launch->outputs[0]}, launch->scratch,
                       launch->fault);
    else if (state->copy.rank > 0)
        ons_strided_copy(&state->copy, launch->inputs[0], launch->outputs[0]);
    else
        memcpy(launch->outputs[0], launch->inputs[0], state->bytes);
}

ONS_KERNELS(cpu, reorder, ONS_KERNEL(reorder_prepare, reorder_run))
