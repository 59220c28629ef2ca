#include "kernels/common/layout/views.h"

#include <math.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "kernels/common/layout/upwards.h"
#include "kernels/slice/slicing.h"
#include "kernels/transpose/transpose.h"

/* Steps that are followed at most. */
enum { STEPS_MOST = 32 };

static uint32_t begin_of(const ons_view *view, uint32_t axis) { return axis == 0 ? 0 : view->ends[axis - 1]; }

uint32_t ons_view_parts(const ons_view *view, uint32_t first, uint32_t end, ons_view_part parts[ONS_VIEW_PARTS]) {
    uint32_t count = 0;
    for (uint32_t i = begin_of(view, first); i < begin_of(view, end); ++i) {
        ons_view_part part = view->parts[i];
        if (part.count == 1) continue;
        if (count > 0 && parts[count - 1].step == part.step * part.count)
            parts[count - 1] = (ons_view_part){parts[count - 1].count * part.count, part.step};
        else
            parts[count++] = part;
    }
    return count;
}

/* Takes `places` places off the front of what is left; false where that many are not whole parts. */
static bool take(ons_view_part *left, uint32_t count, uint32_t *at, int64_t places, ons_view *to, uint32_t *end) {
    while (places > 1) {
        if (*at == count || *end == ONS_VIEW_PARTS) return false;
        ons_view_part *part = &left[*at];
        int64_t taken = part->count <= places ? part->count : places;
        if (places % taken != 0 || part->count % taken != 0) return false;
        to->parts[(*end)++] = (ons_view_part){taken, part->step * (part->count / taken)};
        places /= taken;
        part->count /= taken;
        if (part->count == 1) ++*at;
    }
    return places == 1;
}

bool ons_view_reshape(ons_view *view, const ons_shape *shape) {
    ons_view_part left[ONS_VIEW_PARTS];
    uint32_t count = ons_view_parts(view, 0, view->shape.rank, left), at = 0, end = 0;
    ons_view made = {.start = view->start, .shape = *shape};
    for (uint32_t axis = 0; axis < shape->rank; ++axis) {
        if (!take(left, count, &at, shape->dims[axis], &made, &end)) return false;
        made.ends[axis] = end;
    }
    *view = made;
    return at == count;
}

void ons_view_transpose(ons_view *view, const uint32_t perm[ONS_RANK_MAX]) {
    ons_view made = {.start = view->start, .shape = view->shape};
    uint32_t end = 0;
    for (uint32_t axis = 0; axis < view->shape.rank; ++axis) {
        for (uint32_t i = begin_of(view, perm[axis]); i < view->ends[perm[axis]]; ++i)
            made.parts[end++] = view->parts[i];
        made.ends[axis] = end;
        made.shape.dims[axis] = view->shape.dims[perm[axis]];
    }
    *view = made;
}

/* Places [begin, begin + count) of one axis, which must be a single part. */
static bool cut(ons_view *view, uint32_t axis, int64_t begin, int64_t count) {
    ons_view_part parts[ONS_VIEW_PARTS];
    if (begin == 0 && count == view->shape.dims[axis]) return true;
    if (count < 1 || ons_view_parts(view, axis, axis + 1, parts) != 1) return false;
    view->start += begin * parts[0].step;
    view->shape.dims[axis] = count;
    view->parts[begin_of(view, axis)] = (ons_view_part){count, parts[0].step};
    for (uint32_t i = begin_of(view, axis) + 1; i < view->ends[axis]; ++i) view->parts[i].count = 1;
    return true;
}

/* ------------------------------------------------------------------------------------------------------------ steps */

/* Makes the view of an operator's input 0 that of its output, but for the shape, which may be that of a reshape. */
typedef bool step_function(const ons_operands *o, uint32_t output, ons_view *view);

static bool keep(const ons_operands *o, uint32_t output, ons_view *view) { return true; }

static bool transpose(const ons_operands *o, uint32_t output, ons_view *view) {
    uint32_t perm[ONS_RANK_MAX];
    ons_resolved(ons_transpose_find_permutation(o, perm));
    ons_view_transpose(view, perm);
    return true;
}

static bool resolve(const ons_operands *o, const ons_view *view, uint32_t *axis) {
    return ons_axis_resolve(o->attributes[0].i, view->shape.rank, axis);
}

static bool split(const ons_operands *o, uint32_t output, ons_view *view) {
    uint32_t axis;
    int64_t begin = 0;
    if (!resolve(o, view, &axis)) return false;
    for (uint32_t i = 0; i < output; ++i) begin += o->outputs[i].shape.dims[axis];
    return cut(view, axis, begin, o->outputs[output].shape.dims[axis]);
}

static bool slice(const ons_operands *o, uint32_t output, ons_view *view) {
    ons_slicing slicing;
    ons_status *status = ons_slicing_of(o, &o->inputs[0].shape, &slicing);
    bool fits = status == NULL;
    ons_status_free(status);
    for (uint32_t axis = 0; fits && axis < view->shape.rank; ++axis)
        fits = (slicing.steps[axis] == 1 || slicing.result.dims[axis] == 1) &&
               cut(view, axis, slicing.starts[axis], slicing.result.dims[axis]);
    return fits;
}

/* One entry. */
static bool choose(const ons_operands *o, uint32_t output, ons_view *view) {
    uint32_t axis;
    const ons_tensor *indices = &o->constants[1];
    int64_t index;
    if (indices->data == NULL || ons_elements(&o->inputs[1]) != 1 || !resolve(o, view, &axis)) return false;
    ons_widen(indices->type.dtype, indices->data, 1, &index);
    index += index < 0 ? view->shape.dims[axis] : 0;
    return index >= 0 && index < view->shape.dims[axis] && cut(view, axis, index, 1);
}

static const struct {
    const char *op;
    step_function *apply;
} steps[] = {
    {"Reshape", keep},        {"Squeeze", keep}, {"Unsqueeze", keep}, {"Flatten", keep},  {"Identity", keep},
    {"Transpose", transpose}, {"Split", split},  {"Slice", slice},    {"Gather", choose},
};

static step_function *step_of(const ons_node *node) {
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i)
        if (strcmp(node->op->name, steps[i].op) == 0) return steps[i].apply;
    return NULL;
}

ons_value_id ons_view_source(const ons_graph *graph, ons_value_id value, double *scale) {
    ons_node_id id = value == ONS_NONE ? ONS_NONE : ons_graph_value(graph, value)->producer;
    if (id == ONS_NONE) return ONS_NONE;
    if (step_of(ons_graph_node(graph, id)) != NULL) return ons_graph_node(graph, id)->inputs[0];
    double factor = 1;
    if (scale == NULL || !ons_step_over_scale(graph, &value, &factor) || !(factor > 0) || !isfinite(factor))
        return ONS_NONE;
    *scale *= factor;
    return value;
}

ons_value_id ons_view_unshaped(const ons_graph *graph, ons_value_id value) {
    ons_node_id id = value == ONS_NONE ? ONS_NONE : ons_graph_value(graph, value)->producer;
    while (id != ONS_NONE && step_of(ons_graph_node(graph, id)) == keep) {
        value = ons_graph_node(graph, id)->inputs[0];
        id = ons_graph_value(graph, value)->producer;
    }
    return value;
}

static uint32_t output_number(const ons_node *node, ons_value_id value) {
    uint32_t number = 0;
    while (number + 1 < node->output_count && node->outputs[number] != value) ++number;
    return number;
}

/* From the view of what `value` was made of in one step. */
static bool apply_step(const ons_graph *graph, ons_value_id value, ons_view *view) {
    ons_node_id id = ons_graph_value(graph, value)->producer;
    const ons_node *node = ons_graph_node(graph, id);
    step_function *apply = step_of(node);
    if (apply == NULL) return true; /* a scale */
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return false;
    ons_operands operands;
    ons_status *status = ons_operands_of(graph, id, arena, &operands);
    bool fits = status == NULL && apply(&operands, output_number(node, value), view);
    ons_status_free(status);
    ons_arena_free(arena);
    return fits && ons_view_reshape(view, &ons_graph_value(graph, value)->type.shape);
}

static bool all_of(const ons_shape *shape, ons_view *view) {
    *view = (ons_view){.shape = *shape};
    int64_t step = 1;
    for (uint32_t axis = shape->rank; axis-- > 0; step *= shape->dims[axis]) {
        if (shape->dims[axis] < 1) return false;
        view->parts[axis] = (ons_view_part){shape->dims[axis], step};
        view->ends[axis] = axis + 1;
    }
    return true;
}

bool ons_view_within(const ons_graph *graph, ons_value_id base, ons_value_id value, double *scale, ons_view *view) {
    ons_value_id path[STEPS_MOST];
    uint32_t length = 0;
    if (scale != NULL) *scale = 1;
    while (value != base) {
        if (value == ONS_NONE || length == STEPS_MOST) return false;
        path[length++] = value;
        value = ons_view_source(graph, value, scale);
    }
    bool fits = all_of(&ons_graph_value(graph, base)->type.shape, view);
    while (fits && length > 0) fits = apply_step(graph, path[--length], view);
    return fits;
}
