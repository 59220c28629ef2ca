#include "runtime/data/order.h"

#include "base/philox.h"

/* Rounds: enough that small domains, too, get permutations that look random. */
enum { ROUNDS = 10 };
static const uint64_t PURPOSE = 0x6f72646572u; /* "order": apart from all other uses of the seed */

typedef struct network {
    uint64_t key;
    uint32_t left_bits, right_bits; /* of a number: left ‖ right */
} network;

static network make_network(const ons_order *order, uint64_t epoch) {
    ons_philox words = ons_philox_draw(order->seed, PURPOSE, epoch);
    uint32_t bits = 2;
    while (bits < 63 && (UINT64_C(1) << bits) < order->count) ++bits;
    return (network){(uint64_t)words.words[0] << 32 | words.words[1], bits / 2, bits - bits / 2};
}

static uint64_t mask(uint32_t bits) { return (UINT64_C(1) << bits) - 1; }

static uint64_t round_function(const network *n, uint64_t round, uint64_t half) {
    ons_philox words = ons_philox_draw(n->key, round, half);
    return (uint64_t)words.words[0] << 32 | words.words[1];
}

/* The two halves take turns at being changed by a function of the other. */
static uint64_t permute(const network *n, uint64_t x) {
    uint64_t left = x >> n->right_bits, right = x & mask(n->right_bits);
    for (uint64_t round = 0; round < ROUNDS; round += 2) {
        left ^= round_function(n, round, right) & mask(n->left_bits);
        right ^= round_function(n, round + 1, left) & mask(n->right_bits);
    }
    return left << n->right_bits | right;
}

void ons_order_rows(const ons_order *order, uint64_t epoch, uint64_t position, size_t count, uint64_t *rows) {
    if (!order->shuffle) {
        for (size_t i = 0; i < count; ++i) rows[i] = position + i;
        return;
    }
    network n = make_network(order, epoch);
    for (size_t i = 0; i < count; ++i) {
        uint64_t row = position + i;
        do row = permute(&n, row);
        while (row >= order->count);
        rows[i] = row;
    }
}
