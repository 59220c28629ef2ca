/* Rotation: cases for tests and benchmarks. */
#include "graph/operator.h"
#include "kernels/case.h"

#define TURNED(SIZE, INTERLEAVED) .settings = {ONS_SET_INT("size", SIZE), ONS_SET_INT("interleaved", INTERLEAVED)}

#define KNOWN(...)                                                                                                     \
    { .dtype = ONS_FLOAT32, .shape = ONS_DIMS(__VA_ARGS__), .low = -1, .high = 1, .constant = true }

const ons_case ons_cases_rotation[] = {
    {.name = "halves", .inputs = {ONS_F32(2, 3, 5, 8), ONS_F32(5, 8), ONS_F32(5, 8)}, .tolerance = 1e-6, .flops = 720},
    {.name = "halves_shared",
     .inputs = {ONS_F32(2, 3, 5, 8), ONS_F32(2, 1, 5, 4), ONS_F32(2, 1, 5, 4)},
     .tolerance = 1e-6,
     .flops = 720},
    {.name = "positions_first",
     .inputs = {ONS_F32(2, 5, 3, 6), ONS_F32(5, 1, 6), ONS_F32(5, 1, 6)},
     .tolerance = 1e-6,
     .flops = 540},
    {.name = "part",
     .inputs = {ONS_F32(2, 5, 9), ONS_F32(5, 4), ONS_F32(5, 4)},
     TURNED(4, 0),
     .tolerance = 1e-6,
     .flops = 120},
    {.name = "neighbours",
     .inputs = {ONS_F32(2, 3, 5, 8), ONS_F32(5, 8), ONS_F32(5, 8)},
     TURNED(0, 1),
     .tolerance = 1e-6,
     .flops = 720},
    {.name = "neighbours_shared",
     .inputs = {ONS_F32(2, 3, 5, 8), ONS_F32(1, 3, 1, 3), ONS_F32(1, 3, 1, 3)},
     TURNED(6, 1),
     .tolerance = 1e-6,
     .flops = 540},
    {.name = "back",
     .inputs = {ONS_F32(2, 5, 8), KNOWN(5, 8), KNOWN(5, 8)},
     .settings = {ONS_SET_INT("inverse", 1)},
     .tolerance = 1e-6,
     .flops = 240},
    {.name = "neighbours_back",
     .inputs = {ONS_F32(2, 5, 8), KNOWN(5, 8), KNOWN(5, 8)},
     .settings = {ONS_SET_INT("inverse", 1), ONS_SET_INT("interleaved", 1)},
     .tolerance = 1e-6,
     .flops = 240},
    {.name = "threads",
     .inputs = {ONS_F32(4, 3, 40, 66), ONS_F32(40, 66), ONS_F32(40, 66)},
     .tolerance = 1e-6,
     .flops = 95040},
    {.name = "empty", .inputs = {ONS_F32(0, 5, 8), ONS_F32(5, 8), ONS_F32(5, 8)}, .flops = 0},
    {.name = "odd", .inputs = {ONS_F32(5, 7), ONS_F32(5, 7), ONS_F32(5, 7)}, .error = "do not fit"},
    {.name = "misfit", .inputs = {ONS_F32(2, 5, 8), ONS_F32(4, 8), ONS_F32(4, 8)}, .error = "do not fit"},
    {.name = "llama",
     .inputs = {ONS_F32(4, 8, 512, 64), ONS_F32(512, 64), ONS_F32(512, 64)},
     .tolerance = 1e-6,
     .flops = 3145728,
     .benchmark = true},
    {.name = NULL},
};
