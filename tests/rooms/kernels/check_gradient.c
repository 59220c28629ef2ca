#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/autograd.h"
#include "tests/rooms/kernels/harness.h"

/* One differentiation: of Σ cotangent × output over the chosen outputs, with respect to all inputs that can have a
 * gradient. */
typedef struct trial {
    ons_fixture fixture;
    ons_operands all; /* with every output that the operator can have */
    uint32_t chosen;  /* bit k: output k has a cotangent */
    bool as_loss;     /* the one that is chosen is what is differentiated: its cotangent is a constant 1 */
    double **cotangents;
    ons_value_id *cotangent_values;
    uint32_t *inputs; /* of the node: number of each parameter */
    ons_parameter_gradient *gradients;
    uint32_t count;
    size_t forward_nodes;
    void **words; /* of every value, in double */
} trial;

static bool has_gradient(const ons_fixture *f, uint32_t input) {
    return ons_has_input(&f->operands, input) && f->operands.inputs[input].dtype == ONS_FLOAT32 &&
           f->operands.constants[input].data == NULL &&
           ((f->op->gradient.differentiable >> (input < 31 ? input : 31)) & 1);
}

static bool is_float_output(const ons_operands *o, uint32_t output) {
    return output < 32 && ons_has_output(o, output) && o->outputs[output].dtype == ONS_FLOAT32;
}

static ons_status *add_cotangent(trial *t, uint32_t output) {
    ons_fixture *f = &t->fixture;
    const ons_type *type = &f->operands.outputs[output];
    int64_t count = ons_shape_elements(&type->shape);
    ONS_NEW(t->cotangents[output], f->arena, (size_t)count + 1);
    for (int64_t i = 0; i < count; ++i)
        t->cotangents[output][i] = t->as_loss ? 1 : (float)(2 * ons_fixture_uniform(f, 100 + output, i) - 1);
    t->cotangent_values[output] = ONS_NONE;
    if (t->as_loss) return NULL;
    return ons_graph_add_value(f->graph, "cotangent", ONS_INPUT, type, &t->cotangent_values[output]);
}

/* With one chosen output its cotangent starts the gradient; several are joined to Σ Σ cotangent × output. */
static ons_status *build_loss(trial *t, ons_value_id *loss, ons_value_id *cotangent) {
    ons_fixture *f = &t->fixture;
    ons_builder b = {.graph = f->graph, .registry = f->registry, .origin = ONS_NONE, .name = "loss"};
    const ons_operator *multiply = ons_registry_find_name(f->registry, "", "Mul");
    const ons_operator *sum = ons_registry_role(f->registry, ONS_ROLE_REDUCE_SUM);
    const ons_operator *add = ons_registry_role(f->registry, ONS_ROLE_ADD);
    bool single = (t->chosen & (t->chosen - 1)) == 0;
    *loss = *cotangent = ONS_NONE;
    for (uint32_t k = 0; k < f->operands.output_count && k < 32; ++k) {
        if (!(t->chosen >> k & 1)) continue;
        ONS_TRY(add_cotangent(t, k));
        ons_value_id output = ons_graph_node(f->graph, f->node)->outputs[k];
        if (single) {
            *loss = output;
            *cotangent = t->cotangent_values[k];
            continue;
        }
        ONS_CHECK(multiply != NULL && sum != NULL && add != NULL, ONS_DEFECT, "Mul, ReduceSum or Add is missing");
        ons_value_id product = ons_build(&b, multiply, ONS_IN(output, t->cotangent_values[k]), ONS_DEFAULTS);
        ons_value_id part = ons_build(&b, sum, ONS_IN(product, ONS_NONE), ONS_WITH(ONS_AT_INT(0, 0)));
        *loss = *loss == ONS_NONE ? part : ons_build(&b, add, ONS_IN(*loss, part), ONS_DEFAULTS);
    }
    return ons_builder_finish(&b);
}

static ons_status *differentiate(trial *t) {
    ons_fixture *f = &t->fixture;
    uint32_t inputs = f->operands.input_count, outputs = f->operands.output_count;
    t->all = f->operands;
    ONS_NEW(t->all.outputs, f->arena, outputs + 1);
    ONS_TRY(ons_operands_infer(&t->all));
    ons_value_id *parameters;
    ONS_NEW(parameters, f->arena, inputs + 1);
    ONS_NEW(t->inputs, f->arena, inputs + 1);
    ONS_NEW(t->gradients, f->arena, inputs + 1);
    ONS_NEW(t->cotangents, f->arena, outputs + 1);
    ONS_NEW(t->cotangent_values, f->arena, outputs + 1);
    for (uint32_t i = 0; i < inputs; ++i) {
        if (!has_gradient(f, i)) continue;
        t->inputs[t->count] = i;
        parameters[t->count++] = ons_graph_node(f->graph, f->node)->inputs[i];
    }
    if (t->count == 0) return NULL;
    ons_value_id loss, cotangent;
    ONS_TRY(build_loss(t, &loss, &cotangent));
    t->forward_nodes = f->graph->nodes.count;
    return ons_differentiate(f->graph, f->registry, loss, cotangent, parameters, t->count, NULL, t->gradients);
}

static void free_words(trial *t) {
    ons_fixture *f = &t->fixture;
    for (size_t id = 0; t->words != NULL && id < f->graph->values.count; ++id) {
        bool ours = false;
        for (uint32_t i = 0; i < f->operands.input_count; ++i) ours |= f->input_words[i] == t->words[id];
        for (uint32_t k = 0; k < f->operands.output_count; ++k) ours |= t->cotangents[k] == t->words[id];
        if (!ours) free(t->words[id]);
    }
}

static ons_status *evaluate(trial *t) {
    ons_fixture *f = &t->fixture;
    ONS_NEW(t->words, f->arena, f->graph->values.count + 1);
    for (uint32_t i = 0; i < f->operands.input_count; ++i)
        if (ons_has_input(&f->operands, i)) t->words[ons_graph_node(f->graph, f->node)->inputs[i]] = f->input_words[i];
    for (uint32_t k = 0; k < f->operands.output_count; ++k)
        if ((t->chosen >> k & 1) && !t->as_loss) t->words[t->cotangent_values[k]] = t->cotangents[k];
    return ons_evaluate(f->graph, &f->step, t->words);
}

/* The gradient of parameter `index`: the sum over its uses; NULL words are zeros. */
static double gradient_element(const trial *t, uint32_t index, int64_t element) {
    double sum = 0;
    for (uint32_t use = 0; use < t->gradients[index].use_count; ++use)
        sum += ((const double *)t->words[t->gradients[index].uses[use]])[element];
    return sum;
}

static double gradient_scale(const trial *t, uint32_t index) {
    double largest = 0;
    int64_t count = ons_shape_elements(&t->fixture.operands.inputs[t->inputs[index]].shape);
    for (int64_t i = 0; i < count; ++i) largest = fmax(largest, fabs(gradient_element(t, index, i)));
    return largest;
}

/* (L(x + h) - L(x - h)) / 2h with L = Σ cotangent × output. Differences are taken element by element before they are
 * added, so that large outputs that do not move cost no digits. */
static double central_difference(trial *t, double *x, double h, void **above, void **below) {
    ons_fixture *f = &t->fixture;
    double middle = *x, difference = 0;
    *x = middle + h;
    f->op->reference(&t->all, &f->step, (const void *const *)f->input_words, above);
    *x = middle - h;
    f->op->reference(&t->all, &f->step, (const void *const *)f->input_words, below);
    *x = middle;
    for (uint32_t k = 0; k < f->operands.output_count; ++k) {
        if (!(t->chosen >> k & 1)) continue;
        const double *high = above[k], *low = below[k];
        for (int64_t i = 0, n = ons_shape_elements(&t->all.outputs[k].shape); i < n; ++i)
            difference += t->cotangents[k][i] * (high[i] - low[i]);
    }
    return difference / (2 * h);
}

/* A wide step with the error's leading term removed is the most exact; narrow ones serve near a kink. A wrong gradient
 * agrees with none. */
static bool agrees(trial *t, double *x, double gradient, double scale, void **above, void **below, double *estimate) {
    static const double steps[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; ++s) {
        double h = steps[s];
        double narrow = central_difference(t, x, h, above, below), found = narrow;
        if (s == 0) found = (4 * narrow - central_difference(t, x, 2 * h, above, below)) / 3;
        if (s == 0) *estimate = found;
        double allowed = 1e-5 * fmax(fabs(gradient), fabs(found)) + 1e-7 * scale + 1e-9;
        if (fabs(gradient - found) <= allowed) /* false for NaN */
            return true;
    }
    return false;
}

/* As many elements as make a bounded amount of work, spread over the tensor. */
static int64_t samples_of(const trial *t, int64_t count) {
    double work = fmax(t->fixture.op->cost(&t->fixture.operands).flops, 1);
    for (uint32_t k = 0; k < t->all.output_count; ++k)
        work += ons_has_output(&t->all, k) ? (double)ons_shape_elements(&t->all.outputs[k].shape) : 0;
    int64_t samples = (int64_t)(2e6 / work);
    samples = samples < 4 ? 4 : samples > 64 ? 64 : samples;
    return samples < count ? samples : count;
}

static ons_status *check_differences(trial *t, void **above, void **below) {
    ons_fixture *f = &t->fixture;
    for (uint32_t p = 0; p < t->count; ++p) {
        uint32_t input = t->inputs[p];
        int64_t count = ons_shape_elements(&f->operands.inputs[input].shape);
        int64_t samples = samples_of(t, count);
        double scale = gradient_scale(t, p);
        for (int64_t s = 0; s < samples; ++s) {
            int64_t element = s * count / samples;
            double gradient = gradient_element(t, p, element), estimate = 0;
            double *x = (double *)f->input_words[input] + element;
            ONS_CHECK(agrees(t, x, gradient, scale, above, below, &estimate), ONS_DEFECT,
                      "gradient of input %u, element %lld: the rule gives %.9g, finite differences %.9g%s", input,
                      (long long)element, gradient, estimate,
                      t->gradients[p].use_count == 0 ? " (the rule makes no gradient for this input)" : "");
        }
    }
    return NULL;
}

static ons_status *new_outputs(trial *t, void ***outputs) {
    ONS_NEW(*outputs, t->fixture.arena, t->all.output_count + 1);
    for (uint32_t k = 0; k < t->all.output_count; ++k) {
        int64_t count = ons_has_output(&t->all, k) ? ons_shape_elements(&t->all.outputs[k].shape) : 0;
        uint64_t *words;
        ONS_NEW(words, t->fixture.arena, (size_t)count + 1);
        (*outputs)[k] = words;
    }
    return NULL;
}

/* ---- the kernels of the gradient's nodes */

static ons_status *run_kernel(trial *t, ons_node_id id, void **bytes) {
    ons_fixture *f = &t->fixture;
    const ons_node *node = ons_graph_node(f->graph, id);
    ons_operands o;
    ONS_TRY(ons_operands_of(f->graph, id, f->arena, &o));
    const void **inputs;
    void **outputs;
    ONS_NEW(inputs, f->arena, o.input_count + 1);
    ONS_NEW(outputs, f->arena, o.output_count + 1);
    for (uint32_t i = 0; i < node->input_count; ++i)
        inputs[i] = node->inputs[i] == ONS_NONE ? NULL : bytes[node->inputs[i]];
    for (uint32_t i = 0; i < node->output_count; ++i)
        outputs[i] = node->outputs[i] == ONS_NONE ? NULL : bytes[node->outputs[i]];
    if (id == f->node && !ons_target_runs(&ons_target_cpu, node->op) && !ons_is_view(node->op)) {
        for (uint32_t i = 0; i < node->output_count; ++i)
            if (outputs[i] != NULL)
                ons_narrow(o.outputs[i].dtype, t->words[node->outputs[i]], ons_shape_elements(&o.outputs[i].shape),
                           outputs[i]);
        return NULL;
    }
    return ons_run_once(f->registry, &ons_target_cpu, &o, &f->step, 2, inputs, outputs);
}

static ons_status *check_kernels(trial *t) {
    ons_fixture *f = &t->fixture;
    void **bytes;
    ONS_NEW(bytes, f->arena, f->graph->values.count + 1);
    for (ons_value_id id = 0; id < f->graph->values.count; ++id) {
        const ons_value *value = ons_graph_value(f->graph, id);
        unsigned char *memory;
        ONS_NEW(memory, f->arena, (size_t)ons_type_dense_bytes(&value->type) + 64);
        bytes[id] = memory;
        if (value->producer == ONS_NONE)
            ons_narrow(value->type.dtype, t->words[id], ons_shape_elements(&value->type.shape), memory);
    }
    for (ons_node_id id = 0; id < f->graph->nodes.count; ++id)
        ONS_TRY_AT(run_kernel(t, id, bytes), "running the gradient's kernels");
    double tolerance = fmax(1e-5, 10 * f->example->tolerance);
    for (uint32_t p = 0; p < t->count; ++p) {
        /* Sums of many terms are as exact as their largest parts allow. */
        double scaled = tolerance * fmax(1, gradient_scale(t, p));
        for (uint32_t use = 0; use < t->gradients[p].use_count; ++use) {
            ons_value_id id = t->gradients[p].uses[use];
            ONS_TRY_AT(ons_compare(&ons_graph_value(f->graph, id)->type, bytes[id], t->words[id], scaled),
                       "gradient of input %u by its kernels in float32", t->inputs[p]);
        }
    }
    return NULL;
}

static ons_status *check_gradients(trial *t) {
    void **above = NULL, **below = NULL;
    ONS_TRY(new_outputs(t, &above));
    ONS_TRY(new_outputs(t, &below));
    ONS_TRY_AT(evaluate(t), "evaluating the gradient");
    ONS_TRY(check_differences(t, above, below));
    return check_kernels(t);
}

/* *refused: the rule explains why these outputs have no gradient. */
static ons_status *check_outputs(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                                 uint64_t seed, uint32_t chosen, bool as_loss, bool *refused) {
    trial t = {.chosen = chosen, .as_loss = as_loss};
    *refused = false;
    ons_status *status = ons_fixture_init(&t.fixture, registry, op, example, seed);
    if (status == NULL) {
        ons_status *failure = differentiate(&t);
        if (failure != NULL && chosen != 1 && ons_status_get_code(failure) != ONS_DEFECT) {
            *refused = true;
            ons_status_free(failure);
        } else if (failure != NULL) {
            status = ons_status_at(failure, "differentiating");
        } else if (t.count > 0) {
            status = check_gradients(&t);
        }
        free_words(&t);
    }
    ons_fixture_free(&t.fixture);
    return status == NULL ? NULL : ons_status_at(status, "with cotangents of outputs by the mask 0x%x", chosen);
}

/* *scalars: those of them that a loss can be. */
static ons_status *float_outputs(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                                 uint64_t seed, uint32_t *mask, uint32_t *scalars) {
    ons_fixture fixture;
    *mask = *scalars = 0;
    ons_status *status = ons_fixture_init(&fixture, registry, op, example, seed);
    for (uint32_t k = 0; status == NULL && k < fixture.operands.output_count; ++k) {
        if (!is_float_output(&fixture.operands, k)) continue;
        *mask |= 1u << k;
        if (fixture.operands.outputs[k].shape.rank == 0) *scalars |= 1u << k;
    }
    ons_fixture_free(&fixture);
    return status;
}

ons_status *ons_check_gradient(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                               uint64_t seed) {
    if (op->gradient.build == NULL || example->no_gradient || example->error != NULL || example->fault != NULL ||
        op->reference == NULL)
        return NULL;
    uint32_t mask = 0, scalars = 0, differentiable = 0;
    ONS_TRY(float_outputs(registry, op, example, seed, &mask, &scalars));
    for (uint32_t k = 0; k < 32; ++k) {
        bool refused = false;
        if (!(mask >> k & 1)) continue;
        ONS_TRY(check_outputs(registry, op, example, seed, 1u << k, false, &refused));
        if (!refused) differentiable |= 1u << k;
        if (!refused && (scalars >> k & 1))
            ONS_TRY(check_outputs(registry, op, example, seed, 1u << k, true, &refused));
    }
    bool refused;
    bool several = (differentiable & (differentiable - 1)) != 0;
    return several ? check_outputs(registry, op, example, seed, differentiable, false, &refused) : NULL;
}

/* ---- what the rule reads */

static uint32_t bit_of(uint32_t index) { return 1u << (index < 31 ? index : 31); }

static void note_read(const trial *t, ons_value_id value, ons_saved *reads) {
    const ons_graph *graph = t->fixture.graph;
    const ons_node *forward = ons_graph_node(graph, t->fixture.node);
    if (value == ONS_NONE || ons_graph_value(graph, value)->kind == ONS_CONSTANT) return;
    for (uint32_t k = 0; k < forward->input_count; ++k) reads->inputs |= forward->inputs[k] == value ? bit_of(k) : 0;
    for (uint32_t k = 0; k < forward->output_count; ++k) reads->outputs |= forward->outputs[k] == value ? bit_of(k) : 0;
}

/* By nodes of the backward part, and as a gradient without any. */
static void note_reads(const trial *t, ons_saved *reads) {
    const ons_graph *graph = t->fixture.graph;
    for (size_t id = t->forward_nodes; id < graph->nodes.count; ++id)
        for (uint32_t i = 0; i < graph->nodes.items[id].input_count; ++i)
            note_read(t, graph->nodes.items[id].inputs[i], reads);
    for (uint32_t i = 0; i < t->count; ++i)
        for (uint32_t use = 0; use < t->gradients[i].use_count; ++use) note_read(t, t->gradients[i].uses[use], reads);
}

static ons_status *reads_of_case(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                                 uint64_t seed, uint32_t chosen, bool as_loss, ons_saved *reads) {
    trial t = {.chosen = chosen, .as_loss = as_loss};
    ons_status *status = ons_fixture_init(&t.fixture, registry, op, example, seed);
    if (status == NULL) {
        ons_status *refusal = differentiate(&t);
        if (refusal == NULL && t.count > 0) note_reads(&t, reads);
        ons_status_free(refusal);
    }
    ons_fixture_free(&t.fixture);
    return status;
}

ons_status *ons_check_saved(const ons_registry *registry, const ons_operator *op, const ons_case *cases,
                            uint64_t seed) {
    ons_saved reads = {0, 0};
    if (op->gradient.build == NULL) return NULL;
    for (const ons_case *example = cases; example->name != NULL; ++example) {
        uint32_t mask, scalars;
        if (example->error != NULL || example->fault != NULL || example->benchmark) continue;
        ONS_TRY_AT(float_outputs(registry, op, example, seed, &mask, &scalars), "case '%s'", example->name);
        for (uint32_t k = 0; k < 32; ++k) {
            if (mask >> k & 1)
                ONS_TRY_AT(reads_of_case(registry, op, example, seed, 1u << k, false, &reads), "case '%s'",
                           example->name);
            if (scalars >> k & 1)
                ONS_TRY_AT(reads_of_case(registry, op, example, seed, 1u << k, true, &reads), "case '%s'",
                           example->name);
        }
    }
    /* Of an operator with any number of inputs, the cases show but the first few. */
    uint32_t shown = 0;
    for (const ons_case *example = cases; example->name != NULL; ++example)
        for (uint32_t i = 0; i < ONS_CASE_OPERANDS; ++i)
            shown |= example->inputs[i].dtype != ONS_NO_DTYPE ? bit_of(i) : 0;
    bool variadic = op->arity.inputs_max == (uint32_t)ONS_VARIADIC;
    ONS_CHECK(reads.inputs == (variadic ? op->saved.inputs & shown : op->saved.inputs), ONS_DEFECT,
              "the gradient rule reads the inputs by the mask 0x%x in its cases, but ONS_SAVES says 0x%x", reads.inputs,
              op->saved.inputs);
    ONS_CHECK(reads.outputs == op->saved.outputs, ONS_DEFECT,
              "the gradient rule reads the outputs by the mask 0x%x in its cases, but ONS_SAVES says 0x%x",
              reads.outputs, op->saved.outputs);
    return NULL;
}
