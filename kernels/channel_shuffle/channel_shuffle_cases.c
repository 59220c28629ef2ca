/* ChannelShuffle: cases for tests and benchmarks. */
#include "kernels/case.h"

#define IN_GROUPS(COUNT) .settings = {ONS_SET_INT("groups", COUNT)}

const ons_case ons_cases_channel_shuffle[] = {
    {.name = "halves", .inputs = {ONS_F32(2, 6, 3, 4)}, IN_GROUPS(2)},
    {.name = "thirds_of_volumes", .inputs = {ONS_F32(2, 12, 2, 3, 2)}, IN_GROUPS(3)},
    {.name = "one", .inputs = {ONS_F32(2, 5, 3, 4)}, IN_GROUPS(1)},
    {.name = "of_one_each", .inputs = {ONS_F32(2, 5, 3, 4)}, IN_GROUPS(5)},
    {.name = "matrix", .inputs = {ONS_F32(3, 8)}, IN_GROUPS(4)},
    {.name = "wide", .inputs = {ONS_F32(3, 116, 7, 5)}, IN_GROUPS(2)},
    {.name = "back", .inputs = {ONS_F32(3, 116, 7, 5)}, IN_GROUPS(58)},
    {.name = "many", .inputs = {ONS_F32(2, 240, 9, 2)}, IN_GROUPS(8)},
    {.name = "integers", .inputs = {ONS_RANDOM(ONS_UINT8, 0, 9, 1, 4, 2, 2)}, IN_GROUPS(2)},
    {.name = "float16", .inputs = {ONS_RANDOM(ONS_FLOAT16, -1, 1, 2, 6, 5)}, IN_GROUPS(3)},
    {.name = "empty", .inputs = {ONS_F32(2, 4, 0, 3)}, IN_GROUPS(2)},
    {.name = "no_channels", .inputs = {ONS_F32(2, 0, 3)}, IN_GROUPS(2)},
    {.name = "odd", .inputs = {ONS_F32(2, 5, 3)}, IN_GROUPS(2), .error = "divide"},
    {.name = "vector", .inputs = {ONS_F32(4)}, IN_GROUPS(2), .error = "divide"},
    {.name = "large", .inputs = {ONS_F32(8, 116, 28, 28)}, IN_GROUPS(2), .benchmark = true},
    {.name = "large_back", .inputs = {ONS_F32(8, 116, 28, 28)}, IN_GROUPS(58), .benchmark = true},
    {.name = NULL},
};
