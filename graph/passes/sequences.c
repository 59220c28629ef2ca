/* ONNX's sequences, which exist while a graph is bound and are gone when it is: a value that stands for one is its
 * number among the binder's. */
#include <string.h>

#include "graph/passes/binder.h"

enum { PIECES_MAX = 64 }; /* of one cut */

static const ons_operator *role(const binder *b, ons_role role) { return ons_registry_role(b->registry, role); }

/* Without the axis, of size 1, or with it. */
static ons_status *reshape(binder *b, const char *name, ons_value_id value, uint32_t axis, bool adds,
                           ons_value_id *result) {
    ons_shape shape = ons_graph_value(b->to, value)->type.shape;
    ONS_CHECK(!adds || shape.rank < ONS_RANK_MAX, ONS_UNSUPPORTED, "node '%s': tensors of rank %u would be stacked",
              name, shape.rank);
    for (uint32_t i = axis; !adds && i + 1 < shape.rank; ++i) shape.dims[i] = shape.dims[i + 1];
    for (uint32_t i = shape.rank; adds && i > axis; --i) shape.dims[i] = shape.dims[i - 1];
    if (adds) shape.dims[axis] = 1;
    shape.rank = adds ? shape.rank + 1 : shape.rank - 1;
    b->builder.name = name;
    ons_value_id dims = ons_build_integers(&b->builder, shape.dims, shape.rank);
    return ons_bind_build(b, role(b, ONS_ROLE_RESHAPE), name, ONS_IN(value, dims), ONS_WITH(ONS_AT_INT(0, 1)), result);
}

/* `count` equal pieces; the last may be shorter. */
static ons_status *cut(binder *b, const char *name, ons_value_id value, uint32_t axis, uint32_t count,
                       ons_value_id *pieces) {
    pieces[0] = value;
    if (count < 2) return NULL;
    const ons_operator *split = role(b, ONS_ROLE_SPLIT);
    ONS_CHECK(split != NULL, ONS_DEFECT, "node '%s': no operator splits", name);
    b->builder.name = name;
    ons_build_node(&b->builder, split, ONS_IN(value, ONS_NONE), ONS_WITH(ONS_AT_INT(0, axis), ONS_AT_INT(1, count)),
                   count, NULL, pieces);
    return ons_builder_finish(&b->builder);
}

/* Long tensors are cut twice. */
ons_status *ons_bind_unstack(binder *b, const char *name, ons_value_id value, uint32_t axis, ons_value_id *items) {
    int64_t length = ons_graph_value(b->to, value)->type.shape.dims[axis];
    uint32_t parts = (uint32_t)((length + PIECES_MAX - 1) / PIECES_MAX);
    ons_value_id long_pieces[PIECES_MAX];
    ONS_CHECK(length <= PIECES_MAX * PIECES_MAX, ONS_UNSUPPORTED, "node '%s': more than %d steps or elements", name,
              PIECES_MAX * PIECES_MAX);
    if (length == 0) return NULL;
    ONS_TRY(cut(b, name, value, axis, parts, long_pieces));
    int64_t made = 0;
    for (uint32_t i = 0; i < parts; ++i) {
        uint32_t count = (uint32_t)ons_graph_value(b->to, long_pieces[i])->type.shape.dims[axis];
        ONS_TRY(cut(b, name, long_pieces[i], axis, count, items + made));
        made += count;
    }
    for (int64_t i = 0; i < length; ++i) ONS_TRY(reshape(b, name, items[i], axis, false, &items[i]));
    return NULL;
}

ons_status *ons_bind_stack(binder *b, const char *name, const ons_value_id *items, uint32_t count, uint32_t axis,
                           ons_value_id *value) {
    ons_value_id *raised;
    ONS_CHECK(count > 0, ONS_UNSUPPORTED, "node '%s': an empty sequence cannot be joined to a tensor", name);
    ONS_NEW(raised, b->to->arena, count);
    for (uint32_t i = 0; i < count; ++i) ONS_TRY(reshape(b, name, items[i], axis, true, &raised[i]));
    *value = raised[0];
    if (count == 1) return NULL;
    return ons_bind_build(b, role(b, ONS_ROLE_CONCAT), name, (ons_inputs){raised, count}, ONS_WITH(ONS_AT_INT(0, axis)),
                          value);
}

/* ------------------------------------------------------------------------------------------------- for replacements */

ons_status *ons_replacement_sequence(const ons_replacement *m, uint32_t input, const ons_value_id **items,
                                     uint32_t *count) {
    ons_value_id id = input < m->operands->input_count ? m->inputs[input] : (ons_value_id)ONS_NONE;
    ONS_CHECK(ons_bind_is_sequence(id), ONS_INVALID_MODEL, "node '%s' (%s): input %u is not a sequence of tensors",
              m->operands->name, m->operands->op->name, input);
    const value_sequence *sequence = &m->binder->sequences.items[id & 0x7fffffffu];
    *items = sequence->items;
    *count = sequence->count;
    return NULL;
}

ons_status *ons_replace_by_sequence(ons_replacement *m, const ons_value_id *items, uint32_t count) {
    binder *b = m->binder;
    ons_value_id *copy;
    for (uint32_t i = 0; i < count; ++i)
        ONS_CHECK(items[i] != ONS_NONE && !ons_bind_is_sequence(items[i]), ONS_INVALID_MODEL,
                  "node '%s' (%s): element %u of a sequence is not a tensor", m->operands->name, m->operands->op->name,
                  i);
    ONS_NEW(copy, b->to->arena, count + 1);
    if (count > 0) memcpy(copy, items, count * sizeof *copy);
    ONS_PUSH(&b->sequences, (value_sequence){copy, count});
    m->outputs[0] = 0x80000000u | (ons_value_id)(b->sequences.count - 1);
    m->replaced = true;
    return NULL;
}

ons_status *ons_replacement_build(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings,
                                  ons_value_id *result) {
    if (m->binder != NULL) return ons_bind_build(m->binder, op, m->name, inputs, settings, result);
    *result = ons_build(m->builder, op, inputs, settings); /* nobody binds: the form alone is wanted */
    return NULL;
}

ons_status *ons_replace_by(ons_replacement *m, const ons_operator *op, ons_inputs inputs, ons_settings settings) {
    m->replaced = true;
    return ons_replacement_build(m, op, inputs, settings, &m->outputs[0]);
}

ons_status *ons_replacement_unstack(ons_replacement *m, ons_value_id value, uint32_t axis, ons_value_id *items) {
    return ons_bind_unstack(m->binder, m->name, value, axis, items);
}

ons_status *ons_replacement_stack(ons_replacement *m, const ons_value_id *items, uint32_t count, uint32_t axis,
                                  ons_value_id *result) {
    return ons_bind_stack(m->binder, m->name, items, count, axis, result);
}
