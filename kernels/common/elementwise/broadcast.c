#include "kernels/common/elementwise/broadcast.h"

#include "kernels/operators.h"

int64_t ons_broadcast_index(const ons_shape *whole, const ons_shape *part, int64_t index) {
    int64_t strides[ONS_RANK_MAX];
    ons_broadcast_strides(whole, part, strides);
    int64_t position = 0;
    for (uint32_t axis = whole->rank; axis-- > 0; index /= whole->dims[axis])
        position += index % whole->dims[axis] * strides[axis];
    return position;
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
