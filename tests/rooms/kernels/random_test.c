/* Random numbers by element: any stretch of a tensor draws what it would draw within the whole. */
#include <criterion/criterion.h>
#include <string.h>

#include "kernels/random/dropout.h"

static const ons_random_key key = {0x0123456789abcdefu, 0xfedcba9876543210u};

Test(random, words_begin_at_any_element) {
    for (int64_t begin = 0; begin < 2 * ONS_RANDOM_DRAW + 1; ++begin) {
        uint32_t words[ONS_RANDOM_BLOCK];
        ons_random_words(&key, begin, words);
        for (int64_t i = 0; i < ONS_RANDOM_BLOCK; ++i)
            cr_assert((double)ons_random_unit(words[i]) == ons_random_unit_at(&key, begin + i),
                      "element %ld of those from %ld", (long)i, (long)begin);
    }
}

Test(random, masks_begin_at_any_element) {
    const ons_dropout_key dropout = {key, 1u << 22};
    uint8_t whole[ONS_DROPOUT_BLOCK], part[ONS_DROPOUT_BLOCK];
    ons_dropout_mask(&dropout, 0, ONS_DROPOUT_BLOCK, whole);
    for (int64_t begin = 0; begin < 7; ++begin) {
        ons_dropout_mask(&dropout, begin, ONS_DROPOUT_BLOCK - begin, part);
        cr_assert(memcmp(part, whole + begin, (size_t)(ONS_DROPOUT_BLOCK - begin)) == 0, "from %ld", (long)begin);
    }
}

typedef void fill(const ons_launch *launch);

/* Two halves of a tensor, the second from an even and from an odd element on. */
static void try_fill(fill *run) {
    enum { ELEMENTS = 1100 };
    static float whole[ELEMENTS], parts[ELEMENTS];
    const ons_step step = {.seed = 5, .step = 3, .micro_batch = 2};
    for (int64_t first = 300; first <= 301; ++first) {
        ons_random_state states[] = {
            {.elements = ELEMENTS, .node_key = 7, .first = 0.5f, .second = 2},
            {.elements = first, .node_key = 7, .first = 0.5f, .second = 2},
            {.elements = ELEMENTS - first, .node_key = 7, .first = 0.5f, .second = 2, .first_element = first}};
        void *const outputs[] = {whole, parts, parts + first};
        for (int i = 0; i < 3; ++i) run(&(ons_launch){.outputs = &outputs[i], .state = &states[i], .step = &step});
        for (int i = 0; i < ELEMENTS; ++i)
            cr_assert(whole[i] == parts[i], "element %d, the second from element %ld", i, (long)first);
    }
}

Test(random, uniform_numbers_of_two_halves) { try_fill(ons_random_uniform_run); }
Test(random, normal_numbers_of_two_halves) { try_fill(ons_random_normal_run); }

/* A micro-batch of three units, the last one shorter, draws what they draw alone. */
static void try_units(fill *run) {
    enum { ELEMENTS = 1100, UNIT = 401, FIRST = 4 };
    static float whole[ELEMENTS], parts[ELEMENTS];
    const ons_step step = {.seed = 5, .step = 3, .micro_batch = FIRST};
    ons_random_state state = {.elements = ELEMENTS, .node_key = 7, .first = 0.5f, .second = 2, .unit_elements = UNIT};
    void *output = whole;
    run(&(ons_launch){.outputs = &output, .state = &state, .step = &step});
    for (uint32_t unit = 0; unit * UNIT < ELEMENTS; ++unit) {
        ons_step own = step;
        own.micro_batch = FIRST + unit;
        output = parts + unit * UNIT;
        ons_random_state alone = {.elements = ELEMENTS - unit * UNIT, .node_key = 7, .first = 0.5f, .second = 2};
        if (alone.elements > UNIT) alone.elements = UNIT;
        run(&(ons_launch){.outputs = &output, .state = &alone, .step = &own});
    }
    for (int i = 0; i < ELEMENTS; ++i) cr_assert(whole[i] == parts[i], "element %d of units of %d", i, UNIT);
    cr_assert_neq(whole[0], whole[UNIT], "units draw alike");
}

Test(random, uniform_numbers_of_units) { try_units(ons_random_uniform_run); }
Test(random, normal_numbers_of_units) { try_units(ons_random_normal_run); }
