/* Bernoulli: 1 with the probability that the input gives, else 0. The result is a step function of the probability: its
 * derivative is 0 wherever there is one. */
#include <math.h>

#include "graph/evaluate.h"
#include "kernels/bernoulli/bernoulli.h"
#include "kernels/common/checks.h"
#include "kernels/common/random.h"
#include "kernels/common/unary.h"

static ons_status *bernoulli_infer(ons_operands *o) {
    ONS_TRY(ons_need_float(o, 0));
    o->outputs[0] = o->inputs[0];
    if (ons_has_attribute(o, ONS_RANDOM_DTYPE)) o->outputs[0].dtype = (ons_dtype)ons_attribute_int(o, ONS_RANDOM_DTYPE);
    if (ons_dtype_size(o->outputs[0].dtype) == 0)
        return ons_node_error(o, "the result cannot have element type %lld", (long long)o->outputs[0].dtype);
    return NULL;
}

static void bernoulli_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                void *const *outputs) {
    ons_random_key key = ons_random_key_of(step, step->node_key, &o->attributes[ONS_RANDOM_SEED]);
    bool is_float = ons_dtype_is_float(o->outputs[0].dtype);
    for (int64_t i = 0, n = ons_elements(&o->outputs[0]); i < n; ++i) {
        bool one = ons_random_unit_at(&key, i) < ((const double *)inputs[0])[i];
        if (is_float)
            ((double *)outputs[0])[i] = one;
        else
            ((int64_t *)outputs[0])[i] = one;
    }
}

static ons_status *make_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    void *memory;
    if (o->inputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->inputs[0].dtype);
    ONS_TRY(ons_prepare_state(p, sizeof(ons_bernoulli), &memory));
    *(ons_bernoulli *)memory = (ons_bernoulli){
        .elements = ons_elements(&o->outputs[0]), .node_key = p->node_key, .seed = o->attributes[ONS_RANDOM_SEED]};
    p->implementation = "philox";
    return NULL;
}

static ons_status *bernoulli_prepare(ons_prepare *p) {
    ons_dtype dtype = p->operands->outputs[0].dtype;
    return dtype == ONS_FLOAT32 ? make_state(p) : ons_refuse_dtype(p->operands, dtype);
}

/* The result is of any type. */
static ons_status *bernoulli_prepare_cuda(ons_prepare *p) {
    ons_dtype dtype = p->operands->outputs[0].dtype;
    double real = 1;
    int64_t whole = 1;
    ONS_TRY(make_state(p));
    ons_bernoulli *s = p->state;
    s->size = ons_dtype_size(dtype);
    ons_narrow(dtype, ons_dtype_is_float(dtype) ? (const void *)&real : &whole, 1, &s->one);
    return NULL;
}

static void bernoulli_run(const ons_launch *launch) {
    const ons_bernoulli *s = launch->state;
    const float *x = launch->inputs[0];
    float *y = launch->outputs[0];
    ons_random_key key = ons_random_key_of(launch->step, s->node_key, &s->seed);
#pragma omp parallel for schedule(static) if (s->elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < s->elements; begin += ONS_RANDOM_BLOCK) {
        uint32_t words[ONS_RANDOM_BLOCK];
        int64_t count = s->elements - begin < ONS_RANDOM_BLOCK ? s->elements - begin : ONS_RANDOM_BLOCK;
        ons_random_words(&key, begin, words);
        for (int64_t i = 0; i < count; ++i) y[begin + i] = ons_random_unit(words[i]) < x[begin + i] ? 1.0f : 0.0f;
    }
}

static const ons_case bernoulli_cases[] = {
    {.name = "matrix", .inputs = {ONS_F32_IN(0, 1, 5, 7)}, .flops = 700},
    {.name = "rank0", .inputs = {ONS_F32_IN(0, 1)}, .flops = 20},
    {.name = "edges",
     .inputs = {{.dtype = ONS_FLOAT32, .shape = ONS_DIMS(4), .value_count = 4, .values = {0, 1, NAN, 2}}},
     .settings = {ONS_SET_FLOAT("seed", 3)},
     .flops = 80,
     .no_gradient = true},
    {.name = "bool", .inputs = {ONS_F32_IN(0, 1, 37)}, .settings = {ONS_SET_INT("dtype", ONS_BOOL)}, .flops = 740},
    {.name = "double", .inputs = {ONS_RANDOM(ONS_FLOAT64, 0, 1, 37)}, .flops = 740},
    {.name = "threads", .inputs = {ONS_F32_IN(0, 1, 16, 33, 35)}, .flops = 369600},
    {.name = "empty", .inputs = {ONS_F32(0, 4)}, .flops = 0},
    {.name = "text", .inputs = {ONS_F32(4)}, .settings = {ONS_SET_INT("dtype", ONS_STRING)}, .error = "element type"},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_INT64, 0, 1, 4)}, .error = "float"},
    {.name = "large", .inputs = {ONS_F32_IN(0, 1, 64, 64, 56, 56)}, .flops = 256901120, .benchmark = true},
    {.name = NULL},
};

ONS_DEFINE_OPERATOR(bernoulli, "Bernoulli", ONS_ONNX(15, ONS_NEWEST), ONS_ARITY(1, 1, 1, 1),
                    ONS_ATTRIBUTES(ONS_OPTIONAL_ATTRIBUTE("dtype", ONS_ATTRIBUTE_INT),
                                   ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_FLOAT)),
                    ONS_INFER(bernoulli_infer), ONS_COST(ons_random_cost),
                    ONS_GRADIENT_RULE(ons_gradient_stops, ONS_ALL_INPUTS), ONS_SAVES_NOTHING,
                    ONS_ROLES(ONS_NO_ROLE, ONS_TRAIT_RANDOM, 0), ONS_NO_ALIASES, ONS_PLAIN_LAYOUT, ONS_ONE_FORM,
                    ONS_REFERENCE(bernoulli_reference), ONS_CPU_KERNEL(bernoulli_prepare, bernoulli_run),
                    ONS_CUDA_KERNEL(bernoulli_prepare_cuda, ons_cuda_bernoulli), bernoulli_cases);
