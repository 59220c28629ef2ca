/* The number of Pad's attribute for the constant, and that constant's bytes. For C: the .cu file includes pad.h. */
#ifndef ONSTAGE_KERNELS_PAD_PAD_NODE_H
#define ONSTAGE_KERNELS_PAD_PAD_NODE_H

#include "kernels/pad/pad.h"

enum { VALUE_ATTRIBUTE = ONS_PADDING_MODE + 1 };

/* The word of the constant where it is not an input: older opsets have an attribute. */
static inline uint64_t own_value(const ons_operands *o) {
    double value = ons_attribute_float(o, VALUE_ATTRIBUTE);
    int64_t integer = value > -0x1p62 && value < 0x1p62 ? (int64_t)value : 0;
    uint64_t word;
    memcpy(&word, ons_dtype_is_float(o->outputs[0].dtype) ? (const void *)&value : &integer, sizeof word);
    return word;
}

#endif
