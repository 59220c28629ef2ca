/* What the CPU runs of random.h. */
#include "kernels/random/random.h"

#include <math.h>

#include "kernels/common/math/vector_math.h"
#include "kernels/common/operator/checks.h"

/* Philox 4x32-10 as in base/philox.h, for many counters side by side; `begin` is a multiple of ONS_RANDOM_DRAW. */
static void draw_block(const ons_random_key *key, int64_t begin, uint32_t words[ONS_AT_LEAST(ONS_RANDOM_BLOCK)]) {
    enum { DRAWS = ONS_RANDOM_BLOCK / ONS_RANDOM_DRAW };
    uint32_t x0[DRAWS], x1[DRAWS], x2[DRAWS], x3[DRAWS];
    uint64_t first = (uint64_t)begin / ONS_RANDOM_DRAW;
    uint32_t k0 = (uint32_t)key->key, k1 = (uint32_t)(key->key >> 32);
    for (int i = 0; i < DRAWS; ++i) {
        x0[i] = (uint32_t)(first + (uint64_t)i);
        x1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x2[i] = (uint32_t)key->counter_high;
        x3[i] = (uint32_t)(key->counter_high >> 32);
    }
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
        for (int i = 0; i < DRAWS; ++i) {
            uint64_t p0 = (uint64_t)0xD2511F53u * x0[i];
            uint64_t p1 = (uint64_t)0xCD9E8D57u * x2[i];
            x0[i] = (uint32_t)(p1 >> 32) ^ x1[i] ^ k0;
            x1[i] = (uint32_t)p1;
            x2[i] = (uint32_t)(p0 >> 32) ^ x3[i] ^ k1;
            x3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < DRAWS; ++i) {
        words[4 * i] = x0[i];
        words[4 * i + 1] = x1[i];
        words[4 * i + 2] = x2[i];
        words[4 * i + 3] = x3[i];
    }
}

void ons_random_words(const ons_random_key *key, int64_t begin, uint32_t words[ONS_AT_LEAST(ONS_RANDOM_BLOCK)]) {
    int64_t past = begin % ONS_RANDOM_DRAW;
    draw_block(key, begin - past, words);
    if (past == 0) return;
    uint32_t next[ONS_RANDOM_BLOCK];
    draw_block(key, begin - past + ONS_RANDOM_BLOCK, next);
    memmove(words, words + past, (size_t)(ONS_RANDOM_BLOCK - past) * sizeof *words);
    memcpy(words + ONS_RANDOM_BLOCK - past, next, (size_t)past * sizeof *words);
}

ons_status *ons_random_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    if (o->outputs[0].dtype != ONS_FLOAT32) return ons_refuse_dtype(o, o->outputs[0].dtype);
    ons_random_state *state;
    ONS_NEW_STATE(state, p);
    *state = (ons_random_state){ons_elements(&o->outputs[0]),
                                p->node_key,
                                o->attributes[ONS_RANDOM_SEED],
                                (float)ons_attribute_float(o, ONS_RANDOM_FIRST),
                                (float)ons_attribute_float(o, ONS_RANDOM_SECOND),
                                ons_random_first_element(o),
                                ons_random_unit_elements(o)};
    p->implementation = "philox";
    return NULL;
}

static void uniform_block(const uint32_t *words, const ons_random_state *s, float *y) {
    float range = s->second - s->first;
#pragma omp simd
    for (int i = 0; i < ONS_RANDOM_BLOCK; ++i) y[i] = s->first + range * ons_random_unit(words[i]);
}

static void normal_block(const uint32_t *words, const ons_random_state *s, float *y) {
#pragma omp simd
    for (int i = 0; i < ONS_RANDOM_BLOCK; i += 2) {
        float radius = s->second * sqrtf(-2 * ons_log(ons_random_unit(words[i]) + 0x1p-24f));
        float angle = 6.28318530717958648f * ons_random_unit(words[i + 1]);
        y[i] = s->first + radius * ons_sine(angle, 1);
        y[i + 1] = s->first + radius * ons_sine(angle, 0);
    }
}

typedef void make_numbers(const uint32_t *words, const ons_random_state *s, float *y);

/* Two numbers are made together: where the first element is the second of two, each block begins one before it. */
static void run_unit(const ons_random_state *s, const ons_step *step, make_numbers *make, float *y, int64_t elements) {
    ons_random_key key = ons_random_key_of(step, s->node_key, &s->seed);
    int64_t past = s->first_element % 2, each = ONS_RANDOM_BLOCK - 2 * past;
#pragma omp parallel for schedule(static) if (elements > ONS_PARALLEL_GRAIN / 4)
    for (int64_t begin = 0; begin < elements; begin += each) {
        uint32_t words[ONS_RANDOM_BLOCK];
        float numbers[ONS_RANDOM_BLOCK];
        int64_t count = elements - begin < each ? elements - begin : each;
        ons_random_words(&key, s->first_element - past + begin, words);
        make(words, s, numbers);
        memcpy(y + begin, numbers + past, (size_t)count * sizeof *y);
    }
}

static void draw_units(const ons_launch *launch, make_numbers *make) {
    const ons_random_state *s = launch->state;
    ons_random_unit_range unit = {.begin = 0};
    while (ons_random_next_unit(launch->step, s->elements, s->unit_elements, &unit))
        run_unit(s, &unit.step, make, (float *)launch->outputs[0] + unit.begin, unit.count);
}

void ons_random_uniform_run(const ons_launch *launch) { draw_units(launch, uniform_block); }

void ons_random_normal_run(const ons_launch *launch) { draw_units(launch, normal_block); }
