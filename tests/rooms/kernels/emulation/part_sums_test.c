/* Sums over replicas (ons_backend's add_parts) against plain loops, to the bit: types, numbers of parts, which of them
 * lies in the result's place, where the others lie, and factors of running means. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"

enum { SUMS = 90, PARTS_MOST = 9, ELEMENTS_MOST = 40000 };

static uint64_t state;
static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

static float widen(ons_dtype dtype, const void *from, int64_t i) {
    if (dtype == ONS_FLOAT32) return ((const float *)from)[i];
    uint16_t bits = ((const uint16_t *)from)[i];
    return dtype == ONS_FLOAT16 ? ons_half_to_float(bits) : ons_bfloat16_to_float(bits);
}

static void narrow(ons_dtype dtype, float number, void *to, int64_t i) {
    if (dtype == ONS_FLOAT32)
        ((float *)to)[i] = number;
    else
        ((uint16_t *)to)[i] = dtype == ONS_FLOAT16 ? ons_float_to_half(number) : ons_float_to_bfloat16(number);
}

/* A sum, the memory that it works on, and what must come out. */
typedef struct trial {
    ons_part_sum sum;
    char *memory[2]; /* of the result, and of the others */
    void *expected;
    size_t bytes;
} trial;

static const void *part_of(const ons_part_sum *s, uint32_t part) {
    if (part == s->own) return s->result;
    return (const char *)s->others + s->stride * (part < s->own ? part : part - 1);
}

static void expect(trial *t) {
    const ons_part_sum *s = &t->sum;
    for (int64_t i = 0; i < s->elements; ++i) {
        narrow(s->dtype, widen(s->dtype, part_of(s, 0), i), t->expected, i);
        for (uint32_t k = 1; k < s->parts; ++k) {
            float total = widen(s->dtype, t->expected, i) * s->factors[k >= s->more];
            narrow(s->dtype, total + widen(s->dtype, part_of(s, k), i), t->expected, i);
        }
    }
}

static void fill(ons_dtype dtype, void *at, size_t elements) {
    for (size_t i = 0; i < elements; ++i) narrow(dtype, ((float)draw(20001) - 10000) / 997, at, (int64_t)i);
}

static trial make(void) {
    static const ons_dtype dtypes[] = {ONS_FLOAT32, ONS_FLOAT16, ONS_BFLOAT16};
    trial t = {.sum = {.dtype = dtypes[draw(3)], .parts = 1 + draw(PARTS_MOST)}};
    ons_part_sum *s = &t.sum;
    size_t size = ons_dtype_size(s->dtype), shift[2] = {draw(3) * size, draw(3) * size};
    bool mean = draw(3) == 0;
    s->own = draw(s->parts + 2); /* a replica without a sample has no part */
    s->elements = draw(4) == 0 ? draw(ELEMENTS_MOST) : draw(50);
    s->more = draw(s->parts + 1);
    s->factors[0] = mean ? 0.81F : 1;
    s->factors[1] = mean ? 0.9F : 1;
    s->stride = ((int64_t)((size_t)s->elements * size) + 63) / 64 * 64 + (draw(2) == 0 ? 0 : (int64_t)size);
    t.bytes = (size_t)s->elements * size;
    t.memory[0] = calloc(1, t.bytes + 64);
    t.memory[1] = calloc(1, (size_t)s->stride * PARTS_MOST + 64);
    t.expected = calloc(1, t.bytes + 64);
    cr_assert(t.memory[0] != NULL && t.memory[1] != NULL && t.expected != NULL);
    s->result = t.memory[0] + shift[0];
    s->others = t.memory[1] + shift[1];
    fill(s->dtype, s->result, (size_t)s->elements);
    fill(s->dtype, t.memory[1] + shift[1], (size_t)s->stride * PARTS_MOST / size);
    expect(&t);
    return t;
}

/* More of them than one launch takes. */
Test(part_sums, are_added_in_order) {
    static trial trials[SUMS];
    static ons_part_sum sums[SUMS];
    const ons_backend *backend = ons_backend_find("cuda");
    for (uint64_t seed = 1; seed <= 4; ++seed) {
        state = seed;
        for (int i = 0; i < SUMS; ++i) {
            trials[i] = make();
            sums[i] = trials[i].sum;
        }
        backend->add_parts(sums, SUMS, 0);
        for (int i = 0; i < SUMS; ++i) {
            trial *t = &trials[i];
            cr_expect(memcmp(t->sum.result, t->expected, t->bytes) == 0,
                      "seed %llu, sum %d: %s, %u parts, own %u, %lld elements", (unsigned long long)seed, i,
                      ons_dtype_name(t->sum.dtype), t->sum.parts, t->sum.own, (long long)t->sum.elements);
            free(t->memory[0]);
            free(t->memory[1]);
            free(t->expected);
        }
    }
}

Test(part_sums, none) { ons_backend_find("cuda")->add_parts(NULL, 0, 0); }
