/* Settings of the cases of recurrent operators. */
#ifndef ONSTAGE_KERNELS_RECURRENT_RECURRENT_CASES_H
#define ONSTAGE_KERNELS_RECURRENT_RECURRENT_CASES_H

#include "graph/operator.h"

#define ONS_SET_STRINGS(NAME, ...)                                                                                     \
    {                                                                                                                  \
        (NAME), {                                                                                                      \
            .kind = ONS_ATTRIBUTE_STRINGS, .count = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *),            \
            .strings = (const char *const[]) {                                                                         \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }
#define ONS_SET_FLOATS(NAME, ...)                                                                                      \
    {                                                                                                                  \
        (NAME), {                                                                                                      \
            .kind = ONS_ATTRIBUTE_FLOATS, .count = sizeof((double[]){__VA_ARGS__}) / sizeof(double),                   \
            .floats = (const double[]) {                                                                               \
                __VA_ARGS__                                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    }

/* X[T, N, I], and W and R of D directions with G gates of H. */
#define ONS_RECURRENT_OPERANDS(T, N, I, H, D, G) ONS_F32(T, N, I), ONS_F32(D, (G) * (H), I), ONS_F32(D, (G) * (H), H)
/* The operands of ONS_RECURRENT_OPERANDS with weights so small that differences die away: with larger ones they grow
 * from step to step. */
#define ONS_RECURRENT_QUIET_OPERANDS(T, N, I, H, D, G)                                                                 \
    ONS_F32(T, N, I), ONS_F32_IN(-0.2, 0.2, D, (G) * (H), I), ONS_F32_IN(-0.1, 0.1, D, (G) * (H), H)
#define ONS_RECURRENT_LENGTHS_OF(T, N) ONS_RANDOM(ONS_INT32, 0, T, N)

#endif
