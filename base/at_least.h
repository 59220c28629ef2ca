/* An array parameter of at least COUNT elements: int64_t values[ONS_AT_LEAST(64)]. C++, which the CUDA compiler speaks,
 * has no way to say so. */
#ifndef ONSTAGE_BASE_AT_LEAST_H
#define ONSTAGE_BASE_AT_LEAST_H

#ifdef __cplusplus
#define ONS_AT_LEAST(COUNT)
#else
#define ONS_AT_LEAST(COUNT) static(COUNT)
#endif

#endif
