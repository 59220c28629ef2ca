/* What is not a matter of static graphs of numbers, and so outside of onstage. */
#ifndef ONSTAGE_TESTS_AGREEMENT_BACKEND_OUTSIDE_H
#define ONSTAGE_TESTS_AGREEMENT_BACKEND_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "onnx.pb-c.h"

/* Why the model is outside, or NULL where it is not. */
const char *backend_outside(const Onnx__ModelProto *model);

/* Whether it draws random numbers: only the type of its results can be compared then. */
bool backend_is_random(const Onnx__ModelProto *model);

/* Why the official data of a case cannot be right, by its name; NULL where nothing is known against it. */
const char *backend_defect(const char *name);

/* The first node that is no constant, or "". */
const char *backend_main_operator(const Onnx__ModelProto *model);

#endif
