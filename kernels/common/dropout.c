#include "kernels/common/dropout.h"

#include "kernels/common/kernel.h"

void ons_dropout_mask(const ons_dropout_key *key, int64_t begin, int64_t count, uint8_t *mask) {
    uint32_t words[ONS_RANDOM_BLOCK];
    ons_random_words(&key->random, begin, words);
    for (int64_t i = 0; i < count; ++i) mask[i] = words[i] >> 8 >= key->threshold;
}

double ons_dropout_scale(double ratio) { return ratio < 1 ? 1 / (1 - ratio) : 0; }

ons_status *ons_dropout_check(const ons_operands *o, double ratio) {
    if (!(ratio >= 0 && ratio <= 1))
        return ons_node_error(o, "a dropout ratio of %g; it must lie between 0 and 1", ratio);
    return NULL;
}
