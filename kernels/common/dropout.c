#include "kernels/common/dropout.h"

#include "base/philox.h"
#include "kernels/common/kernel.h"

ons_dropout_key ons_dropout_key_of(const ons_step *step, uint64_t node_key, double ratio) {
    /* Seed and node take 64 bits each, the counter has 128 with the element: what is left over is mixed by a draw. */
    ons_philox mixed = ons_philox_draw(step->seed, node_key, 0x64726f706f757400u);
    return (ons_dropout_key){
        .key = (uint64_t)mixed.words[0] | (uint64_t)mixed.words[1] << 32,
        .stream = step->step << 24 ^ step->micro_batch,
        .threshold = (uint32_t)(ratio * 0x1p24 + 0.5),
    };
}

/* Philox 4x32-10 as in base/philox.h, for many counters side by side. */
void ons_dropout_mask(const ons_dropout_key *key, int64_t begin, int64_t count, uint8_t *mask) {
    enum { DRAWS = ONS_DROPOUT_BLOCK / ONS_DROPOUT_DRAW };
    uint32_t x0[DRAWS], x1[DRAWS], x2[DRAWS], x3[DRAWS];
    uint64_t first = (uint64_t)begin / ONS_DROPOUT_DRAW;
    uint32_t k0 = (uint32_t)key->key, k1 = (uint32_t)(key->key >> 32);
    for (int i = 0; i < DRAWS; ++i) {
        x0[i] = (uint32_t)(first + (uint64_t)i);
        x1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x2[i] = (uint32_t)key->stream;
        x3[i] = (uint32_t)(key->stream >> 32);
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
    uint8_t kept[ONS_DROPOUT_BLOCK];
    for (int i = 0; i < DRAWS; ++i) {
        kept[4 * i] = x0[i] >> 8 >= key->threshold;
        kept[4 * i + 1] = x1[i] >> 8 >= key->threshold;
        kept[4 * i + 2] = x2[i] >> 8 >= key->threshold;
        kept[4 * i + 3] = x3[i] >> 8 >= key->threshold;
    }
    for (int64_t i = 0; i < count; ++i) mask[i] = kept[i];
}

double ons_dropout_scale(double ratio) { return ratio < 1 ? 1 / (1 - ratio) : 0; }

ons_status *ons_dropout_check(const ons_operands *o, double ratio) {
    if (!(ratio >= 0 && ratio <= 1))
        return ons_node_error(o, "a dropout ratio of %g; it must lie between 0 and 1", ratio);
    return NULL;
}
