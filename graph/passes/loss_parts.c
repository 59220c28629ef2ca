#include "graph/passes/loss_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/loss_facts.h"

/* A node and the facts about its operands. Facts about totals are those that will hold before the step. */
typedef struct judged {
    ons_loss_proof *p;
    ons_node_id id;
    const ons_node *node;
    ons_loss_form form;
    const ons_loss_fact *inputs; /* of each input; kind CONSTANT where it is left out */
    bool known;
    uint32_t output;
    const ons_shape *shape; /* of the output that is judged */
} judged;

static const ons_shape *shape_of(const judged *j, uint32_t input) {
    return &ons_graph_value(j->p->view->graph, j->node->inputs[input])->type.shape;
}

static bool is_float(const ons_loss_proof *p, ons_value_id id) {
    return ons_dtype_is_float(ons_graph_value(p->view->graph, id)->type.dtype);
}

static bool has_role(const judged *j, ons_role role) {
    return j->node->op == ons_registry_role(j->p->view->registry, role);
}

static bool is_view(const ons_node *node) {
    const ons_alias *alias = node->op->aliases;
    return alias->kind == ONS_ALIAS_VIEW && alias->output == 0 && alias->input == 0;
}

static bool any_is(const judged *j, ons_loss_kind kind) {
    bool any = false;
    for (uint32_t i = 0; i < j->node->input_count; ++i) any |= j->inputs[i].kind == kind;
    return any;
}

static ons_loss_fact refuse(const judged *j, const char *reason) { return ons_loss_coupled(j->id, reason); }

/* Linear in its first input, and in that alone. */
static bool is_linear(const judged *j) {
    enum { LINEAR = ONS_TRAIT_IDENTITY | ONS_TRAIT_MOVES };
    return j->form == ONS_LOSS_LINEAR || j->form == ONS_LOSS_SLICE || is_view(j->node) || has_role(j, ONS_ROLE_SPLIT) ||
           (j->node->op->roles.traits & LINEAR) != 0 ||
           (has_role(j, ONS_ROLE_CAST) && is_float(j->p, j->node->inputs[0]) && is_float(j->p, j->node->outputs[0]));
}

/* Linear in all inputs from `*first` on together. */
static bool adds_terms(const judged *j, uint32_t *first) {
    *first = has_role(j, ONS_ROLE_SELECT) ? 1 : 0;
    return j->form == ONS_LOSS_TERMS || has_role(j, ONS_ROLE_ADD) || has_role(j, ONS_ROLE_SUM) ||
           has_role(j, ONS_ROLE_CONCAT) || has_role(j, ONS_ROLE_SELECT);
}

/* ---------------------------------------------------------------------------------------------------------- degrees */

/* The degree of a result that holds samples or constants. False: it does not follow. */
static bool find_degree(const judged *j, int *degree) {
    uint32_t first, count = j->node->input_count;
    *degree = j->inputs[0].degree;
    if (j->form == ONS_LOSS_PRODUCT || j->form == ONS_LOSS_CONTRACTION || j->form == ONS_LOSS_QUOTIENT) {
        int other = j->inputs[1].degree;
        if (*degree == ONS_LOSS_VARIES || other == ONS_LOSS_VARIES) return false;
        *degree = j->form == ONS_LOSS_QUOTIENT ? *degree - other : *degree + other;
        return true;
    }
    bool alike = true;
    if (adds_terms(j, &first)) {
        *degree = j->inputs[first].degree;
        for (uint32_t i = 0; i < count; ++i) alike &= j->inputs[i].degree == (i < first ? 0 : *degree);
        return alike && *degree != ONS_LOSS_VARIES;
    }
    bool linear = is_linear(j) || j->form == ONS_LOSS_SUM_OVER || j->form == ONS_LOSS_MEAN_OVER;
    for (uint32_t i = linear ? 1 : 0; i < count; ++i) {
        /* Integers may be the sizes of a result. */
        bool sizes = i > 0 && j->node->inputs[i] != ONS_NONE && !is_float(j->p, j->node->inputs[i]) &&
                     j->inputs[i].kind == ONS_LOSS_CONSTANT && (j->node->op->roles.traits & ONS_TRAIT_ELEMENTWISE) == 0;
        alike &= sizes || j->inputs[i].degree == 0;
    }
    if (!linear) *degree = 0;
    return alike && *degree != ONS_LOSS_VARIES;
}

const char ons_loss_other_proportion[] = "it computes with the number of samples in another way than by a factor";

/* -------------------------------------------------------------------------------------- constants of a fixed batch */

/* Of a model that was exported for a fixed number of samples nothing tells a constant that was computed from that
 * number from any other. What is an integer multiple of it may be one. */
static bool may_hold_batch(const judged *j, uint32_t input, bool reciprocal) {
    const ons_loss_view *v = j->p->view;
    if (v->other != NULL || v->rows == 1 || j->node->inputs[input] == ONS_NONE) return false;
    const ons_tensor *known = ons_graph_constant(v->graph, j->node->inputs[input]);
    if (known == NULL || known->data == NULL || ons_dtype_size(known->type.dtype) == 0) return false;
    if (ons_shape_elements(&known->type.shape) == 0 || known->type.dtype == ONS_BOOL) return false;
    uint64_t word;
    double number;
    int64_t integer;
    ons_widen(known->type.dtype, known->data, 1, &word);
    memcpy(&number, &word, sizeof number);
    memcpy(&integer, &word, sizeof integer);
    if (!ons_dtype_is_float(known->type.dtype)) number = (double)integer;
    double samples = fabs(reciprocal ? 1 / number : number) / (double)v->rows;
    return isfinite(samples) && samples > 0.5 && fabs(samples - round(samples)) < 1e-5 * samples;
}

/* Whether the node divides by such a constant, or multiplies by its reciprocal. */
static bool may_divide_by_batch(const judged *j) {
    if (j->form == ONS_LOSS_QUOTIENT) return may_hold_batch(j, 1, false);
    return j->form == ONS_LOSS_PRODUCT && (may_hold_batch(j, 1, true) || may_hold_batch(j, 0, true));
}

/* By how many of them the samples of a result are divided, as far as it is linear in those of its operands. */
static int count_divisions(const judged *j) {
    uint32_t first = 0;
    if (is_linear(j)) return j->inputs[0].divided;
    if (j->form == ONS_LOSS_QUOTIENT) return j->inputs[0].divided + may_divide_by_batch(j);
    if (j->form == ONS_LOSS_PRODUCT || j->form == ONS_LOSS_CONTRACTION)
        return j->inputs[0].divided + j->inputs[1].divided + may_divide_by_batch(j);
    if (j->form == ONS_LOSS_SUM_OVER || j->form == ONS_LOSS_MEAN_OVER) return j->inputs[0].divided;
    if (!adds_terms(j, &first)) return 0;
    int least = j->inputs[first].divided;
    for (uint32_t i = first; i < j->node->input_count; ++i)
        least = j->inputs[i].divided < least ? j->inputs[i].divided : least;
    return least;
}

/* A sum that is divided by one of them is taken for a mean, which is said before the run begins. */
static void take_for_mean(const judged *j, int divided, ons_loss_fact *total) {
    if (divided != 1 || total->degree != 1) return;
    total->degree = 0;
    if (j->p->guessed == ONS_NONE) j->p->guessed = j->id;
}

/* ---------------------------------------------------------------------------------------------------------- samples */

/* Of a recurrence, which goes along the other of the first two axes. */
static bool samples_come_first(const ons_node *node) {
    bool first = false;
    for (uint32_t i = 0; node->op->attributes[i].name != NULL; ++i)
        if (strcmp(node->op->attributes[i].name, "layout") == 0) first = node->attributes[i].i == 1;
    return first;
}

/* Whether a node works along the axis of its samples. */
static bool works_along_samples(const judged *j) {
    const ons_loss_fact *data = &j->inputs[0];
    if (data->kind != ONS_LOSS_SAMPLES || !data->carries || is_view(j->node)) return false;
    if (has_role(j, ONS_ROLE_CONCAT) || has_role(j, ONS_ROLE_SPLIT)) return false;
    if (j->form == ONS_LOSS_SAMPLES_FIRST) return data->axis != 0;
    if (j->node->op->roles.states != 0) return data->axis != (samples_come_first(j->node) ? 0U : 1U);
    /* An axis that a result has, and the data has not, is counted in the result. */
    bool adds_axis = j->shape->rank > shape_of(j, 0)->rank && (j->node->op->roles.traits & ONS_TRAIT_ALONG_AXIS) == 0;
    const ons_loss_fact *result = &j->p->facts[j->node->outputs[j->output]];
    uint32_t axis, rank = adds_axis ? j->shape->rank : shape_of(j, 0)->rank;
    for (uint32_t i = 0; j->node->op->attributes[i].name != NULL; ++i)
        if (strcmp(j->node->op->attributes[i].name, "axis") == 0 && j->node->attributes[i].kind == ONS_ATTRIBUTE_INT &&
            ons_axis_resolve(j->node->attributes[i].i, rank, &axis))
            return axis == (adds_axis ? result->axis : data->axis);
    return false;
}

/* The integers of a constant operand; 0: it has none that are known. */
static uint32_t constant_integers(const judged *j, uint32_t input, int64_t values[ONS_RANK_MAX]) {
    if (input >= j->node->input_count || j->node->inputs[input] == ONS_NONE) return 0;
    const ons_tensor *known = ons_graph_constant(j->p->view->graph, j->node->inputs[input]);
    if (known == NULL || known->data == NULL) return 0;
    int64_t count = ons_shape_elements(&known->type.shape);
    for (int64_t i = 0; i < count && i < ONS_RANK_MAX; ++i) {
        if (known->type.dtype == ONS_INT64)
            memcpy(&values[i], (const char *)known->data + 8 * i, 8);
        else if (known->type.dtype == ONS_INT32)
            values[i] = ((const int32_t *)known->data)[i];
        else
            return 0;
    }
    return count > ONS_RANK_MAX ? 0 : (uint32_t)count;
}

static bool axis_is(const judged *j, int64_t axis) {
    uint32_t resolved;
    return ons_axis_resolve(axis, shape_of(j, 0)->rank, &resolved) && resolved == j->inputs[0].axis;
}

/* Whether it picks samples by their places: a slice backwards, or a sum along the axis that an input holds. */
static bool picks_samples(const judged *j) {
    int64_t axes[ONS_RANK_MAX], steps[ONS_RANK_MAX];
    if (j->inputs[0].kind != ONS_LOSS_SAMPLES || !j->inputs[0].carries) return false;
    if (j->form == ONS_LOSS_ALONG_INPUT) return constant_integers(j, 1, axes) != 1 || axis_is(j, axes[0]);
    if (j->form != ONS_LOSS_SLICE) return false;
    uint32_t count = constant_integers(j, 4, steps), named = constant_integers(j, 3, axes);
    bool picks = false;
    for (uint32_t i = 0; i < count; ++i) picks |= steps[i] != 1 && axis_is(j, named == 0 ? i : axes[i]);
    return picks;
}

/* The samples of a result that has the elements of input 0 in their order. */
static ons_loss_fact judge_view(const judged *j, ons_loss_fact result) {
    const ons_loss_fact *from = &j->inputs[0];
    int64_t before = ons_shape_span(shape_of(j, 0), 0, from->axis) * from->outer;
    int64_t outside = ons_shape_span(j->shape, 0, result.axis);
    if (outside == 0 || before % outside != 0) return refuse(j, "it mixes the elements of samples");
    result.outer = before / outside;
    return result;
}

/* Where the samples are in a result, from an operand that holds them in `size` indices. */
static bool carry_outer(const judged *j, const ons_loss_fact *from, int64_t size, ons_loss_fact *result) {
    int64_t now = j->shape->dims[result->axis];
    if (size == now) {
        result->outer = from->outer;
    } else if (size % now == 0) {
        if (from->outer % (size / now) != 0) return false;
        result->outer = from->outer / (size / now);
    } else {
        if (now % size != 0) return false;
        result->outer = from->outer * (now / size);
    }
    return true;
}

static ons_loss_fact judge_samples(const judged *j, ons_loss_fact result) {
    if (works_along_samples(j) || picks_samples(j)) return refuse(j, "it works along the samples of a batch");
    bool elementwise = (j->node->op->roles.traits & ONS_TRAIT_ELEMENTWISE) != 0, first = true;
    if (is_view(j->node) && j->p->view->other != NULL) return judge_view(j, result);
    for (uint32_t i = 0; i < j->node->input_count && j->p->view->other != NULL; ++i) {
        if (j->inputs[i].kind != ONS_LOSS_SAMPLES || !j->inputs[i].carries) continue;
        const ons_shape *shape = shape_of(j, i);
        ons_loss_fact placed = result;
        if (elementwise && j->inputs[i].axis + j->shape->rank - shape->rank != result.axis)
            return refuse(j, "its operands hold the batch in different axes");
        if (!carry_outer(j, &j->inputs[i], shape->dims[j->inputs[i].axis], &placed))
            return refuse(j, "it picks some of the samples of a batch");
        if (!first && placed.outer != result.outer && elementwise)
            return refuse(j, "its operands hold the batch in different orders");
        if (first) result.outer = placed.outer;
        first = false;
    }
    return result;
}

/* Integers that count samples, after a node that moves or shifts them. */
static int64_t stride_of(const judged *j) {
    int64_t stride = 0;
    uint32_t first, counting = 0;
    for (uint32_t i = 0; i < j->node->input_count; ++i) {
        if (j->inputs[i].kind != ONS_LOSS_POSITIONS) continue;
        stride = j->inputs[i].stride;
        ++counting;
    }
    bool shifts = has_role(j, ONS_ROLE_ADD) && counting == 1;
    bool moves = j->inputs[0].kind == ONS_LOSS_POSITIONS && (is_linear(j) || has_role(j, ONS_ROLE_CAST));
    return shifts || (moves && !adds_terms(j, &first)) ? stride : 0;
}

/* Whether a node looks up, for each sample, a place of its own: tuples that begin with its number, or its number times
 * the places that a sample has. */
static bool looks_up_own(const judged *j) {
    uint32_t traits = j->node->op->roles.traits;
    const ons_loss_fact *data = &j->inputs[0], *places = &j->inputs[1];
    if (j->node->input_count < 2 || data->kind != ONS_LOSS_SAMPLES || places->kind != ONS_LOSS_POSITIONS) return false;
    if ((traits & ONS_TRAIT_ADDRESSES) != 0) return data->axis == 0;
    if ((traits & ONS_TRAIT_ALONG_AXIS) == 0 || !works_along_samples(j)) return false;
    return places->stride > 0 && data->outer == 1 &&
           shape_of(j, 0)->dims[data->axis] == places->stride * j->p->view->rows;
}

/* A result whose shape holds the batch. */
static ons_loss_fact judge_carrying(const judged *j) {
    const ons_loss_proof *p = j->p;
    ons_loss_fact result = p->facts[j->node->outputs[j->output]];
    bool random = (j->node->op->roles.traits & ONS_TRAIT_RANDOM) != 0;
    result.kind = ONS_LOSS_SAMPLES;
    result.known = j->known;
    if (any_is(j, ONS_LOSS_TOTAL)) return refuse(j, "it takes what was summed up over the batch back to its samples");
    if (any_is(j, ONS_LOSS_POSITIONS)) {
        if (looks_up_own(j)) return result;
        if (is_float(p, j->node->outputs[j->output]) || is_float(p, j->node->inputs[0]))
            return refuse(j, "it computes with the places of samples in their batch");
        result.kind = ONS_LOSS_POSITIONS;
        result.stride = stride_of(j);
        return result;
    }
    if (!any_is(j, ONS_LOSS_SAMPLES) && !random && !has_role(j, ONS_ROLE_EXPAND))
        return refuse(j, "it counts the samples of a batch");
    if (!find_degree(j, &result.degree)) return refuse(j, ons_loss_other_proportion);
    result.divided = count_divisions(j);
    return any_is(j, ONS_LOSS_SAMPLES) ? judge_samples(j, result) : result;
}

/* ----------------------------------------------------------------------------------------------------------- totals */

static bool is_dot_product(const judged *j) {
    const ons_loss_fact *a = &j->inputs[0], *b = &j->inputs[1];
    if (a->kind != ONS_LOSS_SAMPLES || b->kind != ONS_LOSS_SAMPLES || a->outer != b->outer) return false;
    uint32_t rank = shape_of(j, 1)->rank;
    return a->axis + 1 == shape_of(j, 0)->rank && b->axis == (rank > 1 ? rank - 2 : 0);
}

/* A node with samples whose result does not hold them any more. */
static ons_loss_fact judge_reduction(const judged *j) {
    static const char REDUCES[] = "it reduces the samples of a batch, and not to a sum or mean of them";
    ons_loss_fact result = {.kind = ONS_LOSS_TOTAL, .known = j->known, .atom = true, .node = j->id};
    int degree = j->inputs[0].degree;
    if (any_is(j, ONS_LOSS_TOTAL)) return refuse(j, "it computes with samples and with what was summed up over them");
    if (degree == ONS_LOSS_VARIES) return refuse(j, ons_loss_other_proportion);
    result.mean = j->form == ONS_LOSS_MEAN_OVER;
    switch (j->form) {
    case ONS_LOSS_SUM_OVER: result.degree = degree + 1; break;
    case ONS_LOSS_MEAN_OVER: result.degree = degree; break;
    case ONS_LOSS_SUM_OF_EACH:
        if (degree != 0) return refuse(j, ons_loss_other_proportion);
        result.degree = 1;
        break;
    case ONS_LOSS_CONTRACTION:
        if (!is_dot_product(j) || j->inputs[1].degree == ONS_LOSS_VARIES) return refuse(j, REDUCES);
        result.degree = degree + j->inputs[1].degree + 1;
        break;
    case ONS_LOSS_OF_CLASSES: {
        ons_class_reduction reduction = j->p->view->rules->reduce(j->p->view->graph, j->node);
        bool mean = reduction == ONS_CLASSES_MEAN;
        if (j->output != 0 || degree != 0 || (!mean && reduction != ONS_CLASSES_SUM)) return refuse(j, REDUCES);
        result.mean = mean;
        result.degree = mean ? 0 : 1;
        break;
    }
    default: return refuse(j, REDUCES);
    }
    take_for_mean(j, count_divisions(j), &result);
    return result;
}

/* Terms of degree 0 beside sums: they are weighted, so that they add up as sums do. */
static ons_status *judge_terms(const judged *j, uint32_t first, ons_loss_fact *result) {
    int least = ONS_LOSS_VARIES, most = -ONS_LOSS_VARIES;
    for (uint32_t i = first; i < j->node->input_count; ++i) {
        int degree = j->inputs[i].degree;
        least = degree < least ? degree : least;
        most = degree > most ? degree : most;
    }
    result->degree = most;
    if (least == most && most != ONS_LOSS_VARIES) return NULL;
    if (least != 0 || most != 1) {
        *result = refuse(j, ons_loss_other_proportion);
        return NULL;
    }
    for (uint32_t i = first; i < j->node->input_count; ++i) {
        if (j->inputs[i].degree != 0) continue;
        if (ons_shape_elements(shape_of(j, i)) != 1) {
            *result = refuse(j, "it adds means and sums over a batch, of several numbers each");
            return NULL;
        }
        ONS_PUSH(&j->p->shares, (ons_loss_edge){j->id, i});
    }
    return NULL;
}

/* A node of totals and constants. */
static ons_status *judge_total(const judged *j, ons_loss_fact *result) {
    static const char COMPUTES[] = "it is no linear function of what was summed up over a batch";
    uint32_t first, totals = 0;
    *result = (ons_loss_fact){.kind = ONS_LOSS_TOTAL, .known = j->known};
    for (uint32_t i = 0; i < j->node->input_count; ++i) totals += j->inputs[i].kind == ONS_LOSS_TOTAL;
    if (j->known) { /* whatever it is, it is computed once a step */
        for (uint32_t i = 0; i < j->node->input_count; ++i)
            if (j->inputs[i].kind == ONS_LOSS_CONSTANT && adds_terms(j, &first) && may_hold_batch(j, i, false))
                *result = refuse(j, "it adds a constant that may hold the number of samples of the export");
        for (uint32_t i = 0; i < j->node->input_count; ++i)
            if (j->inputs[i].degree == ONS_LOSS_VARIES && j->node->inputs[i] != ONS_NONE &&
                is_float(j->p, j->node->inputs[i]))
                *result = refuse(j, ons_loss_other_proportion);
        return NULL;
    }
    if (adds_terms(j, &first)) {
        if (first > 0 && j->inputs[0].kind == ONS_LOSS_TOTAL)
            *result = refuse(j, COMPUTES);
        else
            ONS_TRY(judge_terms(j, first, result));
        return NULL;
    }
    const ons_loss_fact *left = &j->inputs[0], *right = j->node->input_count > 1 ? &j->inputs[1] : left;
    bool scales = (j->form == ONS_LOSS_PRODUCT || j->form == ONS_LOSS_CONTRACTION) && totals == 1;
    bool divides = j->form == ONS_LOSS_QUOTIENT && right->kind == ONS_LOSS_CONSTANT;
    bool linear = (is_linear(j) || j->form == ONS_LOSS_SUM_OVER || j->form == ONS_LOSS_MEAN_OVER) && totals == 1 &&
                  left->kind == ONS_LOSS_TOTAL;
    if (!scales && !divides && !linear)
        *result = refuse(j, COMPUTES);
    else if (!find_degree(j, &result->degree))
        *result = refuse(j, ons_loss_other_proportion);
    else
        take_for_mean(j, may_divide_by_batch(j), result);
    return NULL;
}

static ons_loss_fact judge_constants(const judged *j) {
    ons_loss_fact result = {.kind = ONS_LOSS_CONSTANT, .known = j->known};
    if (!find_degree(j, &result.degree)) result.degree = ONS_LOSS_VARIES;
    return result;
}

/* ------------------------------------------------------------------------------------------------------------ nodes */

static ons_status *judge_output(const judged *j, ons_loss_fact *result) {
    const ons_loss_fact *place = &j->p->facts[j->node->outputs[j->output]];
    for (uint32_t i = 0; i < j->node->input_count; ++i) {
        if (j->inputs[i].kind != ONS_LOSS_COUPLED) continue;
        *result = j->inputs[i];
        if (result->node == ONS_NONE) result->node = j->id;
        return NULL;
    }
    if (place->kind == ONS_LOSS_COUPLED) /* by its shape */
        *result = *place;
    else if (place->carries)
        *result = judge_carrying(j);
    else if (any_is(j, ONS_LOSS_POSITIONS))
        *result = refuse(j, "it computes with the places of samples in their batch");
    else if (any_is(j, ONS_LOSS_SAMPLES))
        *result = judge_reduction(j);
    else if (any_is(j, ONS_LOSS_TOTAL))
        return judge_total(j, result);
    else
        *result = judge_constants(j);
    return NULL;
}

static ons_status *judge_node(ons_loss_proof *p, ons_node_id id, ons_arena *scratch) {
    const ons_node *node = ons_graph_node(p->view->graph, id);
    ons_loss_fact *inputs;
    bool known = (node->op->roles.traits & ONS_TRAIT_RANDOM) == 0 && node->op->reference != NULL, carries = false,
         totals = false;
    ONS_NEW(inputs, scratch, node->input_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        inputs[i] = (ons_loss_fact){.kind = ONS_LOSS_CONSTANT, .known = true};
        if (node->inputs[i] != ONS_NONE) inputs[i] = p->facts[node->inputs[i]];
        known &= inputs[i].known;
        totals |= inputs[i].kind == ONS_LOSS_TOTAL;
    }
    for (uint32_t i = 0; i < node->output_count; ++i)
        carries |= node->outputs[i] != ONS_NONE && p->facts[node->outputs[i]].carries;
    p->late[id] = !known || (carries && totals);
    known = !p->late[id];
    for (uint32_t i = 0; i < node->input_count && p->late[id]; ++i)
        if (inputs[i].kind == ONS_LOSS_TOTAL && inputs[i].known)
            inputs[i] = (ons_loss_fact){.kind = ONS_LOSS_CONSTANT, .known = true};
    judged j = {p, id, node, ons_loss_form_of(p->view->rules, node->op), inputs, known, 0, NULL};
    for (; j.output < node->output_count; ++j.output) {
        if (node->outputs[j.output] == ONS_NONE) continue;
        j.shape = &ons_graph_value(p->view->graph, node->outputs[j.output])->type.shape;
        ons_loss_fact result;
        ONS_TRY(judge_output(&j, &result));
        p->facts[node->outputs[j.output]] = result;
    }
    return NULL;
}

static ons_status *judge_nodes(ons_loss_proof *p) {
    for (ons_node_id id = 0; id < p->view->graph->nodes.count; ++id) {
        ons_arena *scratch = ons_arena_new();
        ons_status *status = scratch == NULL ? ons_status_out_of_memory() : judge_node(p, id, scratch);
        ons_arena_free(scratch);
        ONS_TRY(status);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ proof */

static ons_status *prove(ons_loss_proof *p, ons_loss_parts *parts) {
    ONS_TRY(ons_loss_facts_begin(p, &parts->obstacle));
    if (parts->obstacle.node != NULL) return NULL;
    ONS_TRY(judge_nodes(p));
    return ons_loss_parts_conclude(p, parts);
}

/* Texts in the arena: the graph may go before they are read. */
static ons_status *keep_texts(ons_blocker *obstacle, ons_arena *arena) {
    if (obstacle->node == NULL) return NULL;
    obstacle->node = ons_arena_copy_text(arena, obstacle->node);
    obstacle->operator_name = ons_arena_copy_text(arena, obstacle->operator_name);
    obstacle->reason = ons_arena_copy_text(arena, obstacle->reason);
    bool kept = obstacle->node != NULL && obstacle->operator_name != NULL && obstacle->reason != NULL;
    return kept ? NULL : ons_status_out_of_memory();
}

ons_status *ons_loss_parts_find(const ons_loss_view *view, ons_arena *arena, ons_loss_parts *parts) {
    ons_loss_proof p = {.view = view, .arena = arena, .guessed = ONS_NONE};
    *parts = (ons_loss_parts){0};
    ons_status *status = prove(&p, parts);
    if (status == NULL) status = keep_texts(&parts->obstacle, arena);
    if (status == NULL) status = keep_texts(&parts->guessed, arena);
    ons_vector_free(&p.shares);
    return status;
}
