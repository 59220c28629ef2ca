/* Bernoulli on the CPU. */
#include "kernels/bernoulli/bernoulli_node.h"

#include "kernels/common/operator/checks.h"
#include "kernels/random/random.h"

ons_status *ons_bernoulli_make_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->inputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[0].dtype);
    ons_bernoulli *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_bernoulli){.elements = ons_elements(&o->outputs[0]),
                             .node_key = p->node_key,
                             .seed = o->attributes[ONS_RANDOM_SEED],
                             .first_element = ons_random_first_element(o),
                             .unit_elements = ons_random_unit_elements(o)};
    p->implementation = "philox";
    return NULL;
}

static ons_status *bernoulli_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->outputs[0].dtype;
    return dtype == ONS_FLOAT32 ? ons_bernoulli_make_state(p) : ons_refuse_dtype(p->operands, dtype);
}

static void run_unit(const ons_bernoulli *s, const ons_step *step, const float *x, float *y, int64_t elements) {
    ons_random_key key = ons_random_key_of(step, s->node_key, &s->seed);
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += ONS_RANDOM_BLOCK) {
        uint32_t words[ONS_RANDOM_BLOCK];
        int64_t count = elements - begin < ONS_RANDOM_BLOCK ? elements - begin : ONS_RANDOM_BLOCK;
        ons_random_words(&key, s->first_element + begin, words);
        for (int64_t i = 0; i < count; ++i) y[begin + i] = ons_random_unit(words[i]) < x[begin + i] ? 1.0f : 0.0f;
    }
}

static void bernoulli_run(const ons_launch *launch) {
    const ons_bernoulli *s = launch->state;
    const float *x = launch->inputs[0];
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(launch->step, s->elements, s->unit_elements, &unit))
        run_unit(s, &unit.step, x + unit.begin, (float *)launch->outputs[0] + unit.begin, unit.count);
}

ONS_KERNELS(cpu, bernoulli, ONS_KERNEL(bernoulli_prepare, bernoulli_run))
