/* Philox 4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC
 * 2011). A number depends on key and counter alone, so any worker can draw any element's number, in any order, twice.
 */
#ifndef ONSTAGE_BASE_PHILOX_H
#define ONSTAGE_BASE_PHILOX_H

#include <stdint.h>

#include "base/host_device.h"

typedef struct ons_philox {
    uint32_t words[4];
} ons_philox;

ONS_HOST_DEVICE static inline ons_philox ons_philox_draw(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    ons_philox x = {
        {(uint32_t)counter_low, (uint32_t)(counter_low >> 32), (uint32_t)counter_high, (uint32_t)(counter_high >> 32)}};
    for (int round = 0; round < 10; ++round) {
        uint64_t p0 = (uint64_t)0xD2511F53u * x.words[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57u * x.words[2];
        x.words[0] = (uint32_t)(p1 >> 32) ^ x.words[1] ^ k0;
        x.words[1] = (uint32_t)p1;
        x.words[2] = (uint32_t)(p0 >> 32) ^ x.words[3] ^ k1;
        x.words[3] = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return x;
}

/* Uniform in [0, 1), 24 bits. */
ONS_HOST_DEVICE static inline float ons_uniform_float(uint32_t word) { return (float)(word >> 8) * 0x1p-24f; }

#endif
