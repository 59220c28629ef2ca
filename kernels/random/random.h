/* Random numbers: a function of seed, step, micro-batch, node and element alone (Philox, base/philox.h). */
#ifndef ONSTAGE_KERNELS_RANDOM_RANDOM_H
#define ONSTAGE_KERNELS_RANDOM_RANDOM_H

#include <string.h>

#include "base/at_least.h"
#include "base/philox.h"
#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"

/* In an operator's list. */
#define ONS_FIRST_ELEMENT_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_FIRST_ELEMENT, ONS_ATTRIBUTE_INT)
#define ONS_UNIT_ELEMENTS_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_UNIT_ELEMENTS, ONS_ATTRIBUTE_INT)

/* What the numbers of one node for one micro-batch are drawn with: Philox's key, and the upper half of its counter,
 * whose lower half counts draws, of ONS_RANDOM_DRAW elements each. */
typedef struct ons_random_key {
    uint64_t key;
    /* The step in front of 24 bits for the micro-batch: with more than 2^24 micro-batches a step, numbers of other
     * steps would come again. */
    uint64_t counter_high;
} ons_random_key;

/* The counter of the draw that makes the key of seed and node: any constant would do, but another one would draw other
 * numbers than every run so far. In ASCII it is "dropout", the first operator that drew. */
#define ONS_RANDOM_KEY_COUNTER UINT64_C(0x64726f706f757400)

/* `seed`: the node's own attribute; where it is there, it takes the place of the run's seed and of the node, so that
 * two nodes with the same one draw the same numbers. */
ONS_HOST_DEVICE static inline ons_random_key ons_random_key_of(const ons_step *step, uint64_t node_key,
                                                               const ons_attribute *seed) {
    uint64_t run = step->seed;
    if (seed != NULL && seed->kind != ONS_ATTRIBUTE_ABSENT) {
        node_key = 0x73656564; /* any constant */
        if (seed->kind == ONS_ATTRIBUTE_FLOAT)
            memcpy(&run, &seed->f, sizeof run);
        else
            run = (uint64_t)seed->i;
    }
    /* Seed and node take 64 bits each, the counter has 128 with the element: what is left over is mixed by a draw. */
    ons_philox mixed = ons_philox_draw(run, node_key, ONS_RANDOM_KEY_COUNTER);
    ons_random_key key = {(uint64_t)mixed.words[0] | (uint64_t)mixed.words[1] << 32,
                          step->step << 24 ^ step->micro_batch};
    return key;
}

/* words[i] for element begin + i; always ONS_RANDOM_BLOCK of them. */
enum { ONS_RANDOM_DRAW = 4, ONS_RANDOM_BLOCK = 256 };
void ons_random_words(const ons_random_key *key, int64_t begin, uint32_t words[ONS_AT_LEAST(ONS_RANDOM_BLOCK)]);

/* For inference: both numbers below are neither negative nor so large that an element's number overflows. */
#define ONS_RANDOM_ELEMENTS_MAX (INT64_C(1) << 56)
ons_status *ons_random_check_numbers(const ons_operands *o);
/* What the node says of ONS_FIRST_ELEMENT, or of ONS_UNIT_ELEMENTS; 0 where it says nothing, or its operator has no
 * such attribute. */
int64_t ons_random_first_element(const ons_operands *o);
int64_t ons_random_unit_elements(const ons_operands *o);

/* The elements of one unit of the step: `count` from `begin` on, and the step that their numbers are drawn in. */
typedef struct ons_random_unit_range {
    ons_step step;
    int64_t begin, count;
} ons_random_unit_range;

/* Moves on to the next unit of an output, from a zeroed range to the first; false: there is none. `unit_elements` 0:
 * all elements are one unit's. */
static inline bool ons_random_next_unit(const ons_step *step, int64_t elements, int64_t unit_elements,
                                        ons_random_unit_range *range) {
    int64_t each = unit_elements > 0 ? unit_elements : elements;
    range->begin += range->count;
    if (range->begin >= elements) return false;
    range->count = elements - range->begin < each ? elements - range->begin : each;
    range->step = *step;
    range->step.micro_batch += (uint32_t)(range->begin / each);
    return true;
}

/* A word as a number in [0, 1), of 24 bits. */
ONS_HOST_DEVICE static inline float ons_random_unit(uint32_t word) { return (float)(word >> 8) * 0x1p-24f; }

/* One element's number in [0, 1), for references. */
double ons_random_unit_at(const ons_random_key *key, int64_t element);

/* ---- operators that fill a tensor: offset + factor × a number that is uniform in [0, 1) or normal. Their attributes
 * are, in this order: dtype, seed, and the two that `ons_random_resolve` of the operator's own reads. */
enum { ONS_RANDOM_DTYPE, ONS_RANDOM_SEED, ONS_RANDOM_FIRST, ONS_RANDOM_SECOND, ONS_RANDOM_SHAPE };
#define ONS_RANDOM_NORMAL_ATTRIBUTES                                                                                   \
    ONS_OPTIONAL_ATTRIBUTE("dtype", ONS_ATTRIBUTE_INT), ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_FLOAT),           \
        ONS_FLOAT_ATTRIBUTE("mean", 0), ONS_FLOAT_ATTRIBUTE("scale", 1)
#define ONS_RANDOM_UNIFORM_ATTRIBUTES                                                                                  \
    ONS_OPTIONAL_ATTRIBUTE("dtype", ONS_ATTRIBUTE_INT), ONS_OPTIONAL_ATTRIBUTE("seed", ONS_ATTRIBUTE_FLOAT),           \
        ONS_FLOAT_ATTRIBUTE("low", 0), ONS_FLOAT_ATTRIBUTE("high", 1)

/* Output 0 by the attribute dtype (else `otherwise`), a float, with the shape of the attribute or of input 0. */
ons_status *ons_random_infer(ons_operands *o);
ons_status *ons_random_like_infer(ons_operands *o);

ons_cost ons_random_cost(const ons_operands *o);

void ons_random_normal_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                 void *const *outputs);
void ons_random_uniform_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                                  void *const *outputs);
typedef struct ons_random_state {
    int64_t elements;
    uint64_t node_key;
    ons_attribute seed;
    float first, second;
    int64_t first_element, unit_elements;
} ons_random_state;
ons_status *ons_random_prepare(ons_prepare *p); /* the state is an ons_random_state */
void ons_random_normal_run(const ons_launch *launch);
void ons_random_uniform_run(const ons_launch *launch);

#endif
