#include "kernels/common/elementwise/broadcast.h"

#include "kernels/common/layout/channels.h"
#include "kernels/operators.h"

int64_t ons_broadcast_index(const ons_shape *whole, const ons_shape *part, int64_t index) {
    int64_t strides[ONS_RANK_MAX];
    ons_broadcast_strides(whole, part, strides);
    int64_t position = 0;
    for (uint32_t axis = whole->rank; axis-- > 0; index /= whole->dims[axis])
        position += index % whole->dims[axis] * strides[axis];
    return position;
}

static ons_type in_memory(const ons_type *whole, const ons_type *part) {
    ons_type type = ons_type_make(part->dtype, (ons_shape){.rank = whole->shape.rank});
    uint32_t missing = whole->shape.rank - part->shape.rank;
    for (uint32_t place = 0; place < whole->shape.rank; ++place) {
        uint32_t axis = ons_channels_axis(whole->layout, whole->shape.rank, place);
        type.shape.dims[place] = axis < missing ? 1 : part->shape.dims[axis - missing];
    }
    return type;
}

ons_status *ons_broadcast_in_memory(const ons_operands *o, ons_arena *arena, ons_operands *seen) {
    const ons_type *whole = NULL;
    *seen = *o;
    for (uint32_t i = o->output_count; i-- > 0;)
        if (ons_has_output(o, i)) whole = &o->outputs[i];
    if (whole == NULL || whole->layout != ONS_LAYOUT_CHANNELS_LAST) return NULL;
    ons_type *inputs;
    ONS_NEW(inputs, arena, (size_t)o->input_count + 1);
    ONS_NEW(seen->outputs, arena, (size_t)o->output_count + 1);
    for (uint32_t i = 0; i < o->input_count; ++i)
        inputs[i] = ons_has_input(o, i) ? in_memory(whole, &o->inputs[i]) : o->inputs[i];
    for (uint32_t i = 0; i < o->output_count; ++i)
        seen->outputs[i] = ons_has_output(o, i) ? in_memory(whole, &o->outputs[i]) : o->outputs[i];
    seen->inputs = inputs;
    return NULL;
}

ons_status *ons_upgrade_align_second(ons_upgrade *u, int64_t axis) {
    const ons_attribute attributes[] = {{.kind = ONS_ATTRIBUTE_INT, .i = axis}};
    if (u->inputs.count < 2 || u->inputs.items[0] == ONS_NONE || u->inputs.items[1] == ONS_NONE) return NULL;
    const ons_value_id operands[] = {u->inputs.items[1], u->inputs.items[0]};
    return ons_upgrade_insert(u, &ons_op_align_axis, attributes, operands, 2, &u->inputs.items[1]);
}

ons_status *ons_upgrade_broadcast(ons_upgrade *u) {
    if (u->opset >= 7) return NULL;
    const ons_attribute *asked = ons_upgrade_find(u, "broadcast"), *axis = ons_upgrade_find(u, "axis");
    bool aligned = asked != NULL && asked->i != 0 && axis != NULL;
    int64_t from = axis == NULL ? 0 : axis->i;
    ons_upgrade_remove(u, "broadcast");
    ons_upgrade_remove(u, "axis");
    return aligned ? ons_upgrade_align_second(u, from) : NULL;
}
