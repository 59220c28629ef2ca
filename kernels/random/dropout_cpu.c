/* What the CPU runs of dropout.h. */
#include "kernels/random/dropout.h"

void ons_dropout_mask(const ons_dropout_key *key, int64_t begin, int64_t count, uint8_t *mask) {
    uint32_t words[ONS_RANDOM_BLOCK];
    ons_random_words(&key->random, begin, words);
    for (int64_t i = 0; i < count; ++i) mask[i] = words[i] >> 8 >= key->threshold;
}
