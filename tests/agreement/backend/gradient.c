#include "tests/agreement/backend/gradient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"
#include "graph/evaluate.h"
#include "graph/passes/autograd.h"
#include "onnx_import/model_parts.h"
#include "tests/agreement/backend/apart.h"
#include "tests/agreement/backend/outside.h"
#include "tests/agreement/backend/trial.h"

enum { SAMPLES = 48 }; /* elements of an input, at most */
static const double ROUNDED_STEP = 0.25;

/* One output of a case, differentiated with respect to all inputs. */
typedef struct check {
    const data_set *set;
    trial forward, backward; /* of one graph; `backward` has the gradient's nodes as well */
    uint32_t output;
    double *middle; /* the output for the inputs as they are */
    double *cotangent;
    ons_value_id cotangent_value;
    uint32_t *inputs; /* the data set's numbers of the float inputs */
    uint32_t count;
    ons_parameter_gradient *gradients;
    bool rounds;
    double **x; /* of each input of the data set: its words, which the differences move */
    void **words;
    gradient_result *result;
} check;

static const ons_step step = {.seed = 1, .step = 1, .counted_targets = 1, .sample_share = 1};

static ons_value_id output_of(const check *c, const trial *t) { return t->outputs[c->output]; }

static int64_t elements_of(const trial *t, ons_value_id id) {
    return ons_shape_elements(&ons_graph_value(t->graph, id)->type.shape);
}

/* ------------------------------------------------------------------------------------------------------- evaluation */

static ons_status *load_inputs(check *c) {
    ons_arena *arena = c->forward.arena;
    ONS_NEW(c->x, arena, c->set->input_count + 1);
    for (uint32_t i = 0; i < c->set->input_count; ++i) {
        const ons_tensor *tensor = &c->set->inputs[i].tensor;
        int64_t count = ons_shape_elements(&tensor->type.shape);
        ONS_NEW(c->x[i], arena, (size_t)count + 1);
        ons_widen(tensor->type.dtype, tensor->data, count, c->x[i]);
    }
    return NULL;
}

/* The words of every value; the caller frees them with free_words. */
static ons_status *evaluate(const check *c, const trial *t, ons_value_id cotangent, void ***words) {
    *words = calloc(t->graph->values.count + 1, sizeof **words);
    if (*words == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < t->input_count; ++i)
        if (t->inputs[i] != ONS_NONE) (*words)[t->inputs[i]] = c->x[i];
    if (cotangent != ONS_NONE) (*words)[cotangent] = c->cotangent;
    return ons_evaluate(t->graph, &step, *words);
}

static void free_words(const check *c, const trial *t, void **words) {
    for (size_t id = 0; words != NULL && id < t->graph->values.count; ++id) {
        bool ours = words[id] == c->cotangent;
        for (uint32_t i = 0; i < c->set->input_count; ++i) ours |= words[id] == c->x[i];
        if (!ours) free(words[id]);
    }
    free(words);
}

/* The output's elements for the inputs as they are now. */
static ons_status *forward(const check *c, double *result) {
    void **words;
    ons_status *status = evaluate(c, &c->forward, ONS_NONE, &words);
    ons_value_id output = output_of(c, &c->forward);
    if (status == NULL) memcpy(result, words[output], (size_t)elements_of(&c->forward, output) * sizeof *result);
    free_words(c, &c->forward, words);
    return status;
}

/* -------------------------------------------------------------------------------------------------- differentiation */

/* A cotangent that no symmetry of an operator cancels, the same in every run. Infinite elements (of a mask) have none.
 */
static ons_status *add_cotangent(check *c) {
    const ons_type *type = &ons_graph_value(c->backward.graph, output_of(c, &c->backward))->type;
    int64_t count = ons_shape_elements(&type->shape);
    ONS_NEW(c->cotangent, c->forward.arena, (size_t)count + 1);
    for (int64_t i = 0; i < count; ++i) {
        if (isfinite(c->middle[i]))
            c->cotangent[i] = 2 * (ons_philox_draw(1, c->output, (uint64_t)i).words[0] / 4294967296.0) - 1;
    }
    return ons_graph_add_value(c->backward.graph, "cotangent", ONS_INPUT, type, &c->cotangent_value);
}

/* The float inputs from which a differentiable path leads to the output. That a rule calls an input not differentiable
 * is not questioned here. */
static ons_status *choose_inputs(check *c) {
    trial *t = &c->backward;
    bool *reaches;
    ONS_NEW(c->inputs, t->arena, t->input_count + 1);
    ONS_TRY(ons_gradient_reaches(t->graph, output_of(c, t), &reaches));
    for (uint32_t i = 0; i < t->input_count; ++i)
        if (t->inputs[i] != ONS_NONE && reaches[t->inputs[i]] &&
            ons_dtype_is_float(c->set->inputs[i].tensor.type.dtype))
            c->inputs[c->count++] = i;
    free(reaches);
    return NULL;
}

static ons_status *differentiate(check *c) {
    trial *t = &c->backward;
    ons_value_id *parameters;
    ONS_NEW(parameters, t->arena, t->input_count + 1);
    ONS_NEW(c->gradients, t->arena, t->input_count + 1);
    ONS_TRY(choose_inputs(c));
    for (uint32_t p = 0; p < c->count; ++p) parameters[p] = t->inputs[c->inputs[p]];
    if (c->count == 0) return NULL;
    ONS_TRY(add_cotangent(c));
    ONS_TRY(ons_differentiate(t->graph, t->model->registry, output_of(c, t), c->cotangent_value, parameters, c->count,
                              NULL, c->gradients));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ differences */

typedef struct sides {
    double *above, *below;
} sides;

/* Σ cotangent × (high - low), differences first: what does not move costs no digits. */
static double moved(const check *c, const double *high, const double *low) {
    double sum = 0;
    for (int64_t i = 0, count = elements_of(&c->forward, output_of(c, &c->forward)); i < count; ++i)
        if (high[i] != low[i]) sum += c->cotangent[i] * (high[i] - low[i]);
    return sum;
}

static ons_status *move(const check *c, double *x, double h, const sides *s) {
    double middle = *x;
    *x = middle + h;
    ons_status *status = forward(c, s->above);
    *x = middle - h;
    if (status == NULL) status = forward(c, s->below);
    *x = middle;
    return status;
}

static double gradient_element(const check *c, uint32_t p, int64_t element) {
    double sum = 0;
    for (uint32_t use = 0; use < c->gradients[p].use_count; ++use)
        sum += ((const double *)c->words[c->gradients[p].uses[use]])[element];
    return sum;
}

typedef struct element_check {
    double gradient, scale; /* given */
    double found, error;    /* the closest estimate */
    bool kink, rounded;
} element_check;

static void keep_best(element_check *e, double found) {
    double error = fabs(e->gradient - found) / fmax(1, e->scale);
    if (!(error >= e->error)) e->error = error, e->found = found; /* the first time, error is infinite */
}

/* A wide step with its error's leading term removed is the most exact; narrow ones serve near a kink. On a kink itself
 * the gradient lies between the slopes of both sides. A wrong gradient agrees with none of these. */
static ons_status *check_element(const check *c, double *x, const sides *s, element_check *e) {
    static const double steps[] = {1e-3, 1e-4, 1e-5, 1e-6, 1e-7};
    double last = 0;
    e->error = INFINITY;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        double h = steps[i];
        ONS_TRY(move(c, x, h, s));
        double narrow = moved(c, s->above, s->below) / (2 * h);
        double right = moved(c, s->above, c->middle) / h, left = moved(c, c->middle, s->below) / h;
        if (i == 0) {
            ONS_TRY(move(c, x, 2 * h, s));
            keep_best(e, (4 * narrow - moved(c, s->above, s->below) / (4 * h)) / 3);
        }
        keep_best(e, narrow);
        if (e->error <= 1e-6) return NULL;
        /* The edge of the domain: only one side has a value, or the slope is infinite. */
        e->kink |= !isfinite(right) || !isfinite(left) || !isfinite(e->gradient);
        /* A jump: the slope grows as the step shrinks. */
        e->kink |= i > 1 && fabs(narrow) > 9 * fabs(last) && fabs(last) > 1;
        last = narrow;
        bool between = e->gradient >= fmin(left, right) - 1e-6 && e->gradient <= fmax(left, right) + 1e-6;
        if (between && fabs(right - left) > 1e-2 * fmax(1, e->scale) && i > 1) {
            e->kink = true;
            e->error = 0;
            return NULL;
        }
    }
    if (e->kink) e->error = 0;
    if (!e->kink && e->error > 1e-5 && c->rounds) {
        ONS_TRY(move(c, x, ROUNDED_STEP, s));
        e->error = INFINITY;
        keep_best(e, moved(c, s->above, s->below) / (2 * ROUNDED_STEP));
        e->rounded = e->error <= 5e-2;
        if (e->rounded) e->error = 0;
    }
    return NULL;
}

/* Whether something in the graph has half precision: a cast to it makes steps, its gradient passes straight through. */
static bool rounds(const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_dtype dtype = ons_graph_value(graph, id)->type.dtype;
        if (ons_dtype_is_float(dtype) && ons_dtype_size(dtype) < 4) return true;
    }
    return false;
}

static ons_status *check_input(check *c, uint32_t p, const sides *s) {
    uint32_t input = c->inputs[p];
    int64_t count = ons_shape_elements(&c->set->inputs[input].tensor.type.shape);
    int64_t samples = count < SAMPLES ? count : SAMPLES;
    double scale = 0;
    for (int64_t i = 0; i < count; ++i) scale = fmax(scale, fabs(gradient_element(c, p, i)));
    gradient_result *r = c->result;
    for (int64_t k = 0; k < samples; ++k) {
        int64_t element = k * count / samples;
        element_check e = {.gradient = gradient_element(c, p, element), .scale = scale};
        ONS_TRY(check_element(c, &c->x[input][element], s, &e));
        ++r->elements;
        r->kinks += e.kink;
        r->rounded += e.rounded;
        if (!(e.error <= r->error)) r->error = e.error;
        if (e.error <= 1e-5 || !r->agrees) continue;
        r->agrees = false;
        snprintf(r->reason, sizeof r->reason,
                 "output %u, input %u, element %lld: the rule gives %.9g, finite differences %.9g%s", c->output, input,
                 (long long)element, e.gradient, e.found,
                 c->gradients[p].use_count == 0 ? " (no gradient is made for this input)" : "");
    }
    return NULL;
}

static ons_status *check_inputs(check *c) {
    sides s;
    size_t count = (size_t)elements_of(&c->forward, output_of(c, &c->forward)) + 1;
    ONS_NEW(s.above, c->forward.arena, count);
    ONS_NEW(s.below, c->forward.arena, count);
    ONS_TRY_AT(evaluate(c, &c->backward, c->cotangent_value, &c->words), "evaluating the gradient");
    for (uint32_t p = 0; p < c->count; ++p) ONS_TRY(check_input(c, p, &s));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ cases */

/* Floats of a byte are codes: the steps between them are as large as the numbers. */
static bool has_codes(const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        ons_dtype dtype = ons_graph_value(graph, id)->type.dtype;
        if (ons_dtype_is_float(dtype) && ons_dtype_size(dtype) == 1) return true;
    }
    return false;
}

static ons_status *check_output(check *c, const char *path) {
    ONS_TRY(trial_bind(&c->forward, path, c->set));
    ONS_TRY(trial_bind(&c->backward, path, c->set));
    if (c->output >= c->forward.output_count || has_codes(c->forward.graph)) return NULL;
    const ons_type *type = &ons_graph_value(c->forward.graph, output_of(c, &c->forward))->type;
    if (!ons_dtype_is_float(type->dtype)) return NULL;
    ONS_TRY(load_inputs(c));
    ONS_NEW(c->middle, c->forward.arena, (size_t)elements_of(&c->forward, output_of(c, &c->forward)) + 1);
    ONS_TRY(forward(c, c->middle));
    ONS_TRY(differentiate(c));
    if (c->count == 0) return NULL;
    c->result->differentiable = true;
    c->rounds = rounds(c->backward.graph);
    return check_inputs(c);
}

static ons_status *check_outputs(const char *path, const data_set *set, gradient_result *result) {
    ons_status *status = NULL;
    for (uint32_t output = 0; status == NULL && output < set->output_count; ++output) {
        check c = {.set = set, .output = output, .result = result};
        status = check_output(&c, path);
        if (c.words != NULL) free_words(&c, &c.backward, c.words);
        trial_free(&c.forward);
        trial_free(&c.backward);
        /* An output that has no gradient, with the reason, does not speak against the others. */
        if (status != NULL && ons_status_get_code(status) == ONS_UNSUPPORTED) {
            snprintf(result->reason, sizeof result->reason, "%s", ons_status_get_message(status));
            ons_status_free(status);
            status = NULL;
        }
    }
    return status;
}

static void run(const char *folder, void *out) {
    gradient_result *result = out;
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    *result = (gradient_result){.agrees = true};
    ons_model_file *file = NULL;
    data_set set;
    bool found = false;
    ons_arena *arena = ons_arena_new();
    ons_status *status = arena == NULL ? ons_status_out_of_memory() : ons_model_file_open(path, &file);
    if (status == NULL) {
        snprintf(result->operator_name, sizeof result->operator_name, "%s", backend_main_operator(file->model));
        const char *outside = backend_outside(file->model);
        if (outside != NULL) snprintf(result->reason, sizeof result->reason, "%s", outside);
        result->single = file->model->graph->n_node == 1;
        if (outside == NULL) status = data_set_read(folder, 0, arena, &set, &found);
    }
    if (status == NULL && found) status = check_outputs(path, &set, result);
    if (status != NULL) {
        /* What cannot run at all is the scoreboard's matter. */
        result->agrees = ons_status_get_code(status) != ONS_DEFECT;
        snprintf(result->reason, sizeof result->reason, "%s", ons_status_get_message(status));
    }
    ons_status_free(status);
    ons_model_file_close(file);
    ons_arena_free(arena);
}

void backend_gradient_apart(const char *folder, gradient_result *result) {
    char death[BACKEND_REASON];
    if (run_apart(run, folder, result, sizeof *result, death, sizeof death)) return;
    *result = (gradient_result){.agrees = false};
    snprintf(result->reason, sizeof result->reason, "%s", death);
}
