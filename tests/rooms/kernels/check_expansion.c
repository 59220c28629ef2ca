/* Operators that binding replaces by nodes of others: those nodes, evaluated in double, against the operator's own
 * reference, and their gradients against finite differences of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "graph/operands.h"
#include "graph/passes/autograd.h"
#include "graph/passes/replacement.h"
#include "tests/rooms/kernels/harness.h"

typedef struct trial {
    ons_fixture fixture;
    uint32_t output; /* the one that is differentiated */
    uint32_t outputs;
    ons_value_id *expanded; /* of each output */
    ons_value_id cotangent;
    double *cotangents;
    uint32_t *inputs; /* of the node: number of each parameter */
    ons_parameter_gradient *gradients;
    uint32_t count;
    void **words; /* of every value */
} trial;

static ons_status *expand(trial *t) {
    ons_fixture *f = &t->fixture;
    t->outputs = ons_case_outputs(f->example);
    ONS_NEW(t->expanded, f->arena, f->operands.output_count + 8);
    bool *used;
    ONS_NEW(used, f->arena, f->operands.output_count + 8);
    for (uint32_t i = 0; i < f->operands.output_count; ++i) {
        t->expanded[i] = ONS_NONE;
        used[i] = i < t->outputs;
    }
    ons_builder builder = {.graph = f->graph, .registry = f->registry, .origin = ONS_NONE, .name = "expansion"};
    ons_operands operands = f->operands; /* as binding gives them: with all outputs that inference makes */
    ONS_NEW(operands.outputs, f->arena, operands.output_count + 1);
    ONS_TRY(ons_operands_infer(&operands));
    ons_replacement replacement = {.builder = &builder,
                                   .operands = &operands,
                                   .inputs = ons_graph_node(f->graph, f->node)->inputs,
                                   .outputs = t->expanded,
                                   .outputs_used = used};
    ONS_TRY(f->op->forms.decompose(&replacement));
    ONS_TRY(ons_builder_finish(&builder));
    ONS_CHECK(replacement.replaced, ONS_DEFECT, "it was not replaced");
    for (uint32_t i = 0; i < t->outputs; ++i) {
        if (!ons_has_output(&f->operands, i)) continue;
        char left[ONS_TYPE_TEXT], right[ONS_TYPE_TEXT];
        ONS_CHECK(t->expanded[i] != ONS_NONE, ONS_DEFECT, "output %u is not made", i);
        ons_type made = ons_builder_type(&builder, t->expanded[i]);
        ONS_CHECK(made.dtype == f->operands.outputs[i].dtype &&
                      ons_shape_equal(&made.shape, &f->operands.outputs[i].shape),
                  ONS_DEFECT, "output %u becomes %s, inference says %s", i, ons_type_print(&made, left),
                  ons_type_print(&f->operands.outputs[i], right));
    }
    return NULL;
}

static ons_status *differentiate(trial *t) {
    ons_fixture *f = &t->fixture;
    const ons_type *type = &f->operands.outputs[t->output];
    uint32_t inputs = f->operands.input_count;
    ons_value_id *parameters;
    ONS_NEW(parameters, f->arena, inputs + 1);
    ONS_NEW(t->inputs, f->arena, inputs + 1);
    ONS_NEW(t->gradients, f->arena, inputs + 1);
    for (uint32_t i = 0; i < inputs; ++i) {
        if (!ons_has_input(&f->operands, i) || f->operands.inputs[i].dtype != ONS_FLOAT32 ||
            f->operands.constants[i].data != NULL)
            continue;
        t->inputs[t->count] = i;
        parameters[t->count++] = ons_graph_node(f->graph, f->node)->inputs[i];
    }
    if (t->count == 0) return NULL;
    int64_t count = ons_shape_elements(&type->shape);
    ONS_NEW(t->cotangents, f->arena, (size_t)count + 1);
    for (int64_t i = 0; i < count; ++i) t->cotangents[i] = (float)(2 * ons_fixture_uniform(f, 100, i) - 1);
    ONS_TRY(ons_graph_add_value(f->graph, "cotangent", ONS_INPUT, type, &t->cotangent));
    return ons_differentiate(f->graph, f->registry, t->expanded[t->output], t->cotangent, parameters, t->count, NULL,
                             t->gradients);
}

static ons_status *evaluate(trial *t) {
    ons_fixture *f = &t->fixture;
    ONS_NEW(t->words, f->arena, f->graph->values.count + 1);
    for (uint32_t i = 0; i < f->operands.input_count; ++i)
        if (ons_has_input(&f->operands, i)) t->words[ons_graph_node(f->graph, f->node)->inputs[i]] = f->input_words[i];
    if (t->count > 0) t->words[t->cotangent] = t->cotangents;
    return ons_evaluate(f->graph, &f->step, t->words);
}

static void free_words(trial *t) {
    ons_fixture *f = &t->fixture;
    for (size_t id = 0; t->words != NULL && id < f->graph->values.count; ++id) {
        bool ours = t->words[id] == t->cotangents;
        for (uint32_t i = 0; i < f->operands.input_count; ++i) ours |= f->input_words[i] == t->words[id];
        if (!ours) free(t->words[id]);
    }
}

/* The nodes' results against the reference's: both are computed in double. */
static ons_status *check_results(const trial *t) {
    const ons_fixture *f = &t->fixture;
    for (uint32_t i = 0; i < t->outputs; ++i) {
        if (!ons_has_output(&f->operands, i)) continue;
        const ons_type *type = &f->operands.outputs[i];
        const void *made = t->words[t->expanded[i]], *wanted = f->reference_words[i];
        for (int64_t e = 0, n = ons_shape_elements(&type->shape); e < n; ++e) {
            if (!ons_dtype_is_float(type->dtype)) {
                ONS_CHECK(((const int64_t *)made)[e] == ((const int64_t *)wanted)[e], ONS_DEFECT,
                          "output %u, element %lld: the nodes give %lld, the reference %lld", i, (long long)e,
                          (long long)((const int64_t *)made)[e], (long long)((const int64_t *)wanted)[e]);
                continue;
            }
            double a = ((const double *)made)[e], b = ((const double *)wanted)[e];
            bool same = a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-7 * fmax(1, fabs(b));
            ONS_CHECK(same, ONS_DEFECT, "output %u, element %lld: the nodes give %.12g, the reference %.12g", i,
                      (long long)e, a, b);
        }
    }
    return NULL;
}

/* Σ cotangent × reference after a step of one element, against before. */
static double moved_by(trial *t, double *x, double step) {
    ons_fixture *f = &t->fixture;
    double before = *x, sum = 0;
    ons_operands all = f->operands;
    all.outputs = ons_arena_allocate(f->arena, all.output_count + 1, sizeof *all.outputs);
    if (all.outputs == NULL) return NAN;
    ons_status_free(ons_operands_infer(&all));
    *x = before + step;
    f->op->reference(&all, &f->step, (const void *const *)f->input_words, f->reference_words);
    const double *y = f->reference_words[t->output];
    for (int64_t i = 0, n = ons_shape_elements(&all.outputs[t->output].shape); i < n; ++i)
        sum += t->cotangents[i] * y[i];
    *x = before;
    return sum;
}

static ons_status *check_element(trial *t, uint32_t parameter, int64_t element, double scale) {
    double *x = (double *)t->fixture.input_words[t->inputs[parameter]] + element;
    double gradient = 0, found = 0;
    for (uint32_t use = 0; use < t->gradients[parameter].use_count; ++use)
        gradient += ((const double *)t->words[t->gradients[parameter].uses[use]])[element];
    static const double widths[] = {1e-4, 1e-5, 1e-6, 1e-7};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; ++i) {
        double h = widths[i];
        found = (moved_by(t, x, h) - moved_by(t, x, -h)) / (2 * h);
        if (fabs(gradient - found) <= 1e-5 * fmax(fabs(gradient), fabs(found)) + 1e-6 * scale + 1e-7) return NULL;
    }
    return ons_status_new(ONS_DEFECT,
                          "gradient of input %u, element %lld: the nodes give %.9g, finite differences %.9g",
                          t->inputs[parameter], (long long)element, gradient, found);
}

static ons_status *check_gradients(trial *t) {
    enum { SAMPLES = 24 };
    for (uint32_t p = 0; p < t->count; ++p) {
        int64_t count = ons_shape_elements(&t->fixture.operands.inputs[t->inputs[p]].shape);
        double scale = 0;
        for (uint32_t use = 0; use < t->gradients[p].use_count; ++use)
            for (int64_t i = 0; i < count; ++i)
                scale = fmax(scale, fabs(((const double *)t->words[t->gradients[p].uses[use]])[i]));
        int64_t samples = count < SAMPLES ? count : SAMPLES;
        for (int64_t s = 0; s < samples; ++s) ONS_TRY(check_element(t, p, s * count / samples, scale));
    }
    return NULL;
}

/* Data that cannot be: the nodes must say so, and the reference too. */
static ons_status *check_fault(trial *t) {
    ons_status *status = evaluate(t);
    bool told = status != NULL && strstr(ons_status_get_message(status), "node '") != NULL;
    ONS_CHECK(status != NULL, ONS_DEFECT, "the nodes report no fault where '%s' was due", t->fixture.example->fault);
    if (!told) return status;
    ons_status_free(status);
    return ons_fixture_reference(&t->fixture);
}

static ons_status *check(trial *t) {
    const ons_case *example = t->fixture.example;
    ONS_TRY(expand(t));
    if (example->fault != NULL) return check_fault(t);
    if (!example->no_gradient && ons_dtype_is_float(t->fixture.operands.outputs[t->output].dtype))
        ONS_TRY_AT(differentiate(t), "differentiating");
    ONS_TRY_AT(evaluate(t), "evaluating");
    ONS_TRY(ons_fixture_reference(&t->fixture));
    ONS_TRY(check_results(t));
    return check_gradients(t);
}

ons_status *ons_check_expansion(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                                uint64_t seed) {
    if (!(op->roles.traits & ONS_TRAIT_EXPANDS) || example->error != NULL || op->reference == NULL) return NULL;
    ons_status *status = NULL;
    for (uint32_t output = 0; status == NULL && output < ons_case_outputs(example); ++output) {
        trial t = {.output = output};
        status = ons_fixture_init(&t.fixture, registry, op, example, seed);
        if (status == NULL) status = check(&t);
        free_words(&t);
        ons_fixture_free(&t.fixture);
    }
    return ons_status_at(status, "the nodes that replace it");
}
