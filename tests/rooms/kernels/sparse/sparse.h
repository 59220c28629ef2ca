/* A third backend, to show that one is possible: a short list of operators, which it computes by their references. All
 * that it takes is a table like this one's and an entry in a list of backends; an operator that it lacks is told like
 * one that a GPU lacks. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_SPARSE_SPARSE_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_SPARSE_SPARSE_H

#include "tests/rooms/kernels/target.h"

extern const ons_backend ons_backend_sparse;

/* It, in the host's memory. */
extern const ons_target ons_target_sparse;

#endif
