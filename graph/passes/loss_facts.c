#include "graph/passes/loss_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/passes/batch_follow.h"

ons_loss_fact ons_loss_coupled(ons_node_id node, const char *reason) {
    return (ons_loss_fact){.kind = ONS_LOSS_COUPLED, .node = node, .reason = reason};
}

ons_loss_form ons_loss_form_of(const ons_loss_rules *rules, const ons_operator *op) {
    for (size_t i = 0; i < rules->count; ++i)
        if (rules->items[i].op == op) return rules->items[i].form;
    return ONS_LOSS_NO_FORM;
}

/* -------------------------------------------------------------------------------------------------------- the batch */

static const char HOLDS_TWICE[] = "it compares the samples of a batch with each other: its result has two axes of them";
static const char NOT_IN_PROPORTION[] = "the size of its result is not in proportion to the samples";

/* Where the batch is, from the shapes with two numbers of samples. */
static ons_loss_fact place_of(const ons_loss_view *v, ons_value_id id) {
    const ons_value *value = ons_graph_value(v->graph, id);
    const ons_shape *here = &value->type.shape, *there = &ons_graph_value(v->other, id)->type.shape;
    ons_loss_fact fact = {.kind = ONS_LOSS_SAMPLES, .outer = 1};
    if (here->rank != there->rank) return ons_loss_coupled(value->producer, NOT_IN_PROPORTION);
    for (uint32_t axis = 0; axis < here->rank; ++axis) {
        if (here->dims[axis] == there->dims[axis]) continue;
        if (fact.carries) return ons_loss_coupled(value->producer, HOLDS_TWICE);
        if (here->dims[axis] * v->other_rows != there->dims[axis] * v->rows || here->dims[axis] % v->rows != 0)
            return ons_loss_coupled(value->producer, NOT_IN_PROPORTION);
        fact.carries = true;
        fact.axis = axis;
    }
    return fact;
}

static bool are_alike(const ons_graph *a, const ons_graph *b) {
    bool alike = a->values.count == b->values.count && a->nodes.count == b->nodes.count;
    for (ons_node_id id = 0; alike && id < a->nodes.count; ++id) {
        const ons_node *x = ons_graph_node(a, id), *y = ons_graph_node(b, id);
        alike = x->op == y->op && x->input_count == y->input_count && x->output_count == y->output_count &&
                memcmp(x->inputs, y->inputs, x->input_count * sizeof *x->inputs) == 0 &&
                memcmp(x->outputs, y->outputs, x->output_count * sizeof *x->outputs) == 0;
    }
    return alike;
}

static ons_status *compare_shapes(ons_loss_proof *p, ons_blocker *obstacle) {
    const ons_loss_view *v = p->view;
    if (!are_alike(v->graph, v->other)) {
        *obstacle = (ons_blocker){ons_graph_value(v->graph, v->loss)->name, "output",
                                  "the model has other nodes for other numbers of samples", NULL};
        return NULL;
    }
    for (ons_value_id id = 0; id < v->graph->values.count; ++id) p->facts[id] = place_of(v, id);
    return NULL;
}

static ons_status *follow_shapes(ons_loss_proof *p, ons_blocker *obstacle) {
    const ons_loss_view *v = p->view;
    ons_batch_map map = {.sums = true};
    ONS_TRY(ons_follow_batch(v->graph, v->registry, v->rows, p->arena, &map, obstacle));
    for (ons_value_id id = 0; obstacle->node == NULL && id < v->graph->values.count; ++id)
        p->facts[id] = (ons_loss_fact){.kind = ONS_LOSS_SAMPLES,
                                       .carries = map.places[id].carries,
                                       .axis = map.places[id].axis,
                                       .outer = map.places[id].carries ? map.places[id].outer : 1};
    return NULL;
}

/* -------------------------------------------------------------------------------------------------------- constants */

/* Whether elements [0, count) of both are in the proportion of the samples to the power of `degree`. */
static bool has_degree(const double *here, const double *there, int64_t count, double ratio, int degree) {
    double factor = pow(ratio, degree);
    bool fits = true;
    for (int64_t i = 0; i < count && fits; ++i)
        fits = fabs(there[i] - here[i] * factor) <= 1e-6 * fabs(there[i]); /* equal zeros fit; no number does not */
    return fits;
}

static double *numbers_of(const ons_tensor *tensor, int64_t first, int64_t count) {
    ons_dtype dtype = tensor->type.dtype;
    double *numbers = malloc(((size_t)count + 1) * sizeof *numbers);
    if (numbers == NULL) return NULL;
    ons_widen(dtype, (const char *)tensor->data + (size_t)first * ons_dtype_size(dtype), count, numbers);
    for (int64_t i = 0; !ons_dtype_is_float(dtype) && i < count; ++i) {
        int64_t word;
        memcpy(&word, &numbers[i], sizeof word);
        numbers[i] = (double)word;
    }
    return numbers;
}

/* Of `count` elements from the first one on. */
static ons_status *find_degree(const ons_loss_view *v, const ons_tensor *here, const ons_tensor *there, int64_t count,
                               int *degree) {
    static const int degrees[] = {0, 1, -1, 2, -2};
    double *a = numbers_of(here, 0, count), *b = numbers_of(there, 0, count);
    ons_status *status = a == NULL || b == NULL ? ons_status_out_of_memory() : NULL;
    *degree = ONS_LOSS_VARIES;
    for (size_t i = 0; status == NULL && *degree == ONS_LOSS_VARIES && i < sizeof degrees / sizeof *degrees; ++i)
        if (has_degree(a, b, count, (double)v->other_rows / (double)v->rows, degrees[i])) *degree = degrees[i];
    free(a);
    free(b);
    return status;
}

/* Whether all indices along an axis hold the same. */
static bool is_uniform(const ons_tensor *tensor, uint32_t axis) {
    const ons_shape *shape = &tensor->type.shape;
    size_t bytes = ons_dtype_size(tensor->type.dtype) * (size_t)ons_shape_span(shape, axis + 1, shape->rank);
    bool uniform = true;
    for (int64_t o = 0; o < ons_shape_span(shape, 0, axis) && uniform; ++o) {
        const char *first = (const char *)tensor->data + (size_t)(o * shape->dims[axis]) * bytes;
        for (int64_t i = 1; i < shape->dims[axis] && uniform; ++i)
            uniform = memcmp(first, first + (size_t)i * bytes, bytes) == 0;
    }
    return uniform;
}

/* How far integers along an axis are from each other; 0: not the same everywhere. */
static ons_status *find_stride(const ons_tensor *tensor, uint32_t axis, int64_t *stride) {
    const ons_shape *shape = &tensor->type.shape;
    int64_t count = ons_shape_elements(shape);
    *stride = 0;
    if (count != shape->dims[axis] || count < 2) return NULL;
    double *numbers = numbers_of(tensor, 0, count);
    if (numbers == NULL) return ons_status_out_of_memory();
    double step = numbers[1] - numbers[0];
    bool even = fabs(step) < 0x1p53 / (double)count; /* so that doubles hold all multiples exactly */
    for (int64_t i = 0; i < count && even; ++i) even = numbers[i] == (double)i * step;
    if (even) *stride = (int64_t)step;
    free(numbers);
    return NULL;
}

static ons_status *judge_constant(ons_loss_proof *p, ons_value_id id) {
    const ons_loss_view *v = p->view;
    ons_loss_fact *fact = &p->facts[id];
    const ons_tensor *here = ons_graph_constant(v->graph, id);
    const ons_tensor *there = v->other == NULL ? NULL : ons_graph_constant(v->other, id);
    fact->known = true;
    fact->kind = fact->carries ? ONS_LOSS_SAMPLES : ONS_LOSS_CONSTANT;
    if (here == NULL || there == NULL || here->data == NULL || there->data == NULL) return NULL;
    if (!fact->carries && here->data == there->data) return NULL;
    int64_t count = ons_shape_elements(&here->type.shape);
    if (fact->carries && (!is_uniform(here, fact->axis) || !is_uniform(there, fact->axis))) {
        bool whole = !ons_dtype_is_float(here->type.dtype) && here->type.dtype != ONS_BOOL;
        fact->kind = ONS_LOSS_POSITIONS;
        if (whole) return find_stride(there, fact->axis, &fact->stride);
        *fact = ons_loss_coupled(ONS_NONE, "a constant of it differs from sample to sample");
        return NULL;
    }
    if (fact->carries) count = ons_shape_span(&here->type.shape, fact->axis + 1, here->type.shape.rank);
    return find_degree(v, here, there, count, &fact->degree);
}

static ons_status *judge_leaf(ons_loss_proof *p, ons_value_id id) {
    const ons_value *value = ons_graph_value(p->view->graph, id);
    ons_loss_fact *fact = &p->facts[id];
    if (fact->kind == ONS_LOSS_COUPLED) return NULL;
    if (value->kind == ONS_CONSTANT) return judge_constant(p, id);
    fact->known = value->kind == ONS_INPUT;
    if (value->kind != ONS_INPUT)
        fact->kind = ONS_LOSS_CONSTANT;
    else if (!fact->carries)
        *fact = ons_loss_coupled(ONS_NONE, "an input of the model does not hold one entry for each sample");
    return NULL;
}

ons_status *ons_loss_facts_begin(ons_loss_proof *p, ons_blocker *obstacle) {
    const ons_loss_view *v = p->view;
    ONS_NEW(p->facts, p->arena, v->graph->values.count + 1);
    ONS_NEW(p->late, p->arena, v->graph->nodes.count + 1);
    ONS_TRY(v->other != NULL ? compare_shapes(p, obstacle) : follow_shapes(p, obstacle));
    for (ons_value_id id = 0; obstacle->node == NULL && id < v->graph->values.count; ++id)
        if (ons_graph_value(v->graph, id)->producer == ONS_NONE) ONS_TRY(judge_leaf(p, id));
    return NULL;
}
