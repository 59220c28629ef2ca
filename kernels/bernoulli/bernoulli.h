/* Bernoulli's kernels: what they were prepared with. */
#ifndef ONSTAGE_KERNELS_BERNOULLI_BERNOULLI_H
#define ONSTAGE_KERNELS_BERNOULLI_BERNOULLI_H

#include "kernels/random/random.h"

typedef struct ons_bernoulli {
    int64_t elements;
    uint64_t node_key;
    ons_attribute seed;
    int64_t first_element, unit_elements;
    uint64_t one; /* of CUDA: the bytes of 1 in the output's type, and how many they are */
    size_t size;
} ons_bernoulli;

#endif
