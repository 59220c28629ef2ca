/* SquareSum: cases for tests and benchmarks. */
#include "kernels/case.h"

const ons_case ons_cases_square_sum[] = {
    {.name = "matrix", .inputs = {ONS_F32(5, 7)}, .tolerance = 1e-12, .flops = 70},
    {.name = "rank0", .inputs = {ONS_F32()}, .tolerance = 1e-12, .flops = 2},
    {.name = "threads", .inputs = {ONS_F32(9, 5003)}, .tolerance = 1e-12, .flops = 90054},
    {.name = "empty", .inputs = {ONS_F32(0, 3)}, .flops = 0},
    {.name = "large", .inputs = {ONS_F32(2048, 2048)}, .tolerance = 1e-12, .flops = 8388608, .benchmark = true},
    {.name = "resnet", .inputs = {ONS_F32(512, 512, 3, 3)}, .tolerance = 1e-12, .flops = 4718592, .benchmark = true},
    {.name = "cached", .inputs = {ONS_F32(512, 512)}, .tolerance = 1e-12, .flops = 524288, .benchmark = true},
    {.name = NULL},
};
