#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/evaluate.h"
#include "tests/rooms/kernels/harness.h"

enum { OPERANDS = 8, RESULTS = 3, HEADS = 2, SIZE = 64 };

/* Inputs of the gradient: what comes back, query, key, value, log Σ e^score; no mask, nothing dropped; the result. */
enum { QUERY = 1, SAVED = 4, RESULT = 7 };

/* An operator with its inputs and the reference's results. */
typedef struct side {
    ons_case example;
    ons_fixture fixture;
    void *inputs[OPERANDS]; /* bytes, in the fixture's arena like those that follow */
    void *outputs[RESULTS], *again[RESULTS];
} side;

/* [1, positions, HEADS, SIZE]: as exporters have heads before they are put first. */
static ons_case_input operand(ons_dtype dtype, int64_t positions, double width) {
    return (ons_case_input){.dtype = dtype, .shape = {4, {1, positions, HEADS, SIZE}}, .low = -width, .high = width};
}

static void set_attributes(ons_case *example, bool causal) {
    static const char *const orders[] = {"query_order", "key_order", "value_order", "result_order"};
    example->settings[0] = (ons_case_setting)ONS_SET_FLOAT("scale", 0.125);
    example->settings[1] = (ons_case_setting)ONS_SET_INT("causal", causal);
    for (int i = 0; i < 4; ++i) example->settings[2 + i] = (ons_case_setting)ONS_SET_INT(orders[i], 1);
}

/* Queries and keys so wide that a row sees some keys well and others hardly. */
static void describe(int64_t positions, bool causal, ons_dtype dtype, side *forward, side *backward) {
    ons_case *f = &forward->example, *b = &backward->example;
    *f = (ons_case){.name = "attention", .outputs = 2};
    *b = (ons_case){.name = "its gradient", .outputs = RESULTS};
    for (int i = 0; i < 3; ++i) f->inputs[i] = b->inputs[QUERY + i] = operand(dtype, positions, i < 2 ? 3 : 1);
    b->inputs[0] = b->inputs[RESULT] = operand(dtype, positions, 1);
    b->inputs[SAVED] = (ons_case_input){.dtype = ONS_FLOAT32, .shape = {3, {1, HEADS, positions}}};
    b->inputs[SAVED + 1] = b->inputs[SAVED + 2] = (ons_case_input)ONS_LEFT_OUT;
    set_attributes(f, causal);
    set_attributes(b, causal);
}

static ons_status *narrow(side *s) {
    const ons_operands *o = &s->fixture.operands;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        if (s->fixture.input_words[i] == NULL) continue;
        s->inputs[i] = ons_arena_allocate(s->fixture.arena, ons_bytes_of(s->fixture.registry, &o->inputs[i]), 1);
        if (s->inputs[i] == NULL) return ons_status_out_of_memory();
        ons_narrow(o->inputs[i].dtype, s->fixture.input_words[i], ons_shape_elements(&o->inputs[i].shape),
                   s->inputs[i]);
    }
    return NULL;
}

/* The words of an input become these, as its type has them. */
static ons_status *give(side *s, uint32_t input, const void *words) {
    const ons_type *type = &s->fixture.operands.inputs[input];
    int64_t count = ons_shape_elements(&type->shape);
    void *bytes = malloc((size_t)count * 8 + 1);
    if (bytes == NULL) return ons_status_out_of_memory();
    ons_narrow(type->dtype, words, count, bytes);
    ons_widen(type->dtype, bytes, count, s->fixture.input_words[input]);
    free(bytes);
    return NULL;
}

static ons_status *set_up(const ons_registry *registry, uint64_t seed, side *forward, side *backward) {
    const ons_operator *op = ons_registry_find_name(registry, "onstage", "Attention");
    const ons_operator *gradient = ons_registry_find_name(registry, "onstage", "AttentionGradient");
    ONS_CHECK(op != NULL && gradient != NULL, ONS_DEFECT, "there is no attention");
    ONS_TRY(ons_fixture_init(&forward->fixture, registry, op, &forward->example, seed));
    ONS_TRY(ons_fixture_reference(&forward->fixture));
    ONS_TRY(ons_fixture_init(&backward->fixture, registry, gradient, &backward->example, seed + 1));
    for (uint32_t i = 0; i < 3; ++i) ONS_TRY(give(backward, QUERY + i, forward->fixture.input_words[i]));
    ONS_TRY(give(backward, RESULT, forward->fixture.reference_words[0]));
    ONS_TRY(give(backward, SAVED, forward->fixture.reference_words[1]));
    ONS_TRY(ons_fixture_reference(&backward->fixture));
    ONS_TRY(narrow(forward));
    return narrow(backward);
}

/* ‖got − reference‖ / ‖reference‖ */
static ons_status *compare(const side *s, uint32_t output, double bar, double *worst) {
    const ons_type *type = &s->fixture.operands.outputs[output];
    int64_t count = ons_shape_elements(&type->shape);
    const double *wanted = s->fixture.reference_words[output];
    double *got = malloc((size_t)count * sizeof *got + 1), error = 0, all = 0;
    if (got == NULL) return ons_status_out_of_memory();
    ons_widen(type->dtype, s->outputs[output], count, got);
    for (int64_t i = 0; i < count; ++i) {
        error += (got[i] - wanted[i]) * (got[i] - wanted[i]);
        all += wanted[i] * wanted[i];
    }
    free(got);
    double share = sqrt(error / all);
    ONS_CHECK(share <= bar, ONS_DEFECT, "%s, output %u: %.2g off the reference (bar %.2g)", s->example.name, output,
              share, bar);
    *worst = share > *worst ? share : *worst;
    return NULL;
}

/* Twice, with the same bits. */
static ons_status *run(side *s, const ons_target *target, double bar, double *worst) {
    const ons_fixture *f = &s->fixture;
    uint32_t count = ons_case_outputs(&s->example);
    for (uint32_t i = 0; i < count; ++i) {
        s->outputs[i] = ons_arena_allocate(f->arena, ons_bytes_of(f->registry, &f->operands.outputs[i]), 1);
        s->again[i] = ons_arena_allocate(f->arena, ons_bytes_of(f->registry, &f->operands.outputs[i]), 1);
        if (s->outputs[i] == NULL || s->again[i] == NULL) return ons_status_out_of_memory();
    }
    const void *const *inputs = (const void *const *)s->inputs;
    ONS_TRY(ons_run_once(f->registry, target, &f->operands, &f->step, 1, inputs, s->outputs));
    ONS_TRY(ons_run_once(f->registry, target, &f->operands, &f->step, 1, inputs, s->again));
    for (uint32_t i = 0; i < count; ++i) {
        ONS_CHECK(memcmp(s->outputs[i], s->again[i], ons_bytes_of(f->registry, &f->operands.outputs[i])) == 0,
                  ONS_DEFECT, "%s, output %u: other bits in a second run", s->example.name, i);
        ONS_TRY(compare(s, i, bar, worst));
    }
    return NULL;
}

static void tear_down(side *s) {
    if (s->fixture.arena != NULL) ons_fixture_free(&s->fixture);
}

/* Probabilities, results and what comes back are rounded to the type on the way: some roundoffs of it. */
static double bar_of(ons_dtype dtype) {
    return dtype == ONS_FLOAT32 ? 1e-5 : 4 * (dtype == ONS_FLOAT16 ? 0x1p-11 : 0x1p-8);
}

ons_status *ons_check_attention(const ons_registry *registry, const ons_target *target, int64_t positions, bool causal,
                                ons_dtype dtype, uint64_t seed, double *worst) {
    side forward = {0}, backward = {0};
    *worst = 0;
    describe(positions, causal, dtype, &forward, &backward);
    ons_status *status = set_up(registry, seed, &forward, &backward);
    if (status == NULL) status = run(&forward, target, bar_of(dtype), worst);
    if (status == NULL) status = run(&backward, target, bar_of(dtype), worst);
    tear_down(&forward);
    tear_down(&backward);
    return status == NULL ? NULL
                          : ons_status_at(status, "%lld positions in %s, %s kernels", (long long)positions,
                                          ons_dtype_name(dtype), target->name);
}
