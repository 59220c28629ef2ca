/* CenterCropPad: the middle of the input, or the input in the middle of zeros, axis by axis: a Pad. */
#include "kernels/common/layout/index.h"
#include "kernels/common/operator/expand.h"

enum { X, SHAPE };

enum { AXES };

/* Elements to put before each axis; negative ones are cut off. */
typedef struct placing {
    ons_shape result;
    int64_t before[ONS_RANK_MAX];
} placing;

static ons_status *find_placing(const ons_operands *o, placing *p) {
    int64_t sizes[ONS_INTEGERS_MAX];
    uint32_t count, rank = o->inputs[X].shape.rank;
    const ons_attribute *axes = &o->attributes[AXES];
    bool all = axes->kind == ONS_ATTRIBUTE_ABSENT, seen[ONS_RANK_MAX] = {false};
    ONS_TRY(ons_constant_integers(o, SHAPE, sizes, &count));
    if (count != (all ? rank : axes->count)) return ons_node_error(o, "%u sizes for the axes", count);
    *p = (placing){.result = o->inputs[X].shape};
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t axis;
        ONS_TRY(ons_node_axis(o, all ? i : axes->ints[i], rank, &axis));
        if (seen[axis]) return ons_node_error(o, "axis %u is listed twice", axis);
        seen[axis] = true;
        int64_t length = p->result.dims[axis];
        if (sizes[i] < 0) return ons_node_error(o, "a size of %lld", (long long)sizes[i]);
        p->before[axis] = sizes[i] > length ? (sizes[i] - length) / 2 : -((length - sizes[i]) / 2);
        p->result.dims[axis] = sizes[i];
    }
    return NULL;
}

static ons_status *center_crop_pad_infer(ons_operands *o) {
    placing p;
    ONS_TRY(find_placing(o, &p));
    o->outputs[0] = ons_type_make(o->inputs[X].dtype, p.result);
    return NULL;
}

static ons_status *center_crop_pad_expand(ons_replacement *m) {
    const ons_shape *shape = &m->operands->inputs[X].shape;
    int64_t pads[2 * ONS_RANK_MAX];
    placing p;
    ons_resolved(find_placing(m->operands, &p));
    for (uint32_t i = 0; i < shape->rank; ++i) {
        pads[i] = p.before[i];
        pads[shape->rank + i] = p.result.dims[i] - shape->dims[i] - p.before[i];
    }
    ons_value_id border = ons_build_integers(m->builder, pads, 2 * shape->rank);
    return ons_expand_finish(m, ons_expand2(m, &ons_op_pad, m->inputs[X], border));
}

static void center_crop_pad_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                      void *const *outputs) {
    const ons_shape *shape = &o->inputs[X].shape;
    placing p;
    ons_resolved(find_placing(o, &p));
    int64_t index[ONS_RANK_MAX];
    uint64_t zero = 0;
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool inside = true;
        ons_unravel(&p.result, i, index);
        for (uint32_t axis = 0; axis < shape->rank; ++axis) {
            index[axis] -= p.before[axis];
            inside &= index[axis] >= 0 && index[axis] < shape->dims[axis];
        }
        ons_copy_word(outputs[0], i, inside ? inputs[X] : &zero, inside ? ons_ravel(shape, index) : 0);
    }
}

ONS_DEFINE_EXPANSION(center_crop_pad, "CenterCropPad", ONS_ONNX(18, ONS_NEWEST), ONS_ARITY(2, 2, 1, 1),
                     ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("axes", ONS_ATTRIBUTE_INTS)), center_crop_pad_infer,
                     ons_cost_copy, ONS_INPUT_BIT(X), center_crop_pad_expand, center_crop_pad_reference);
