/* What ScatterElements and ScatterND share: how an update joins what is there. */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_H

#include "kernels/common/indexing/indexing.h"

typedef enum ons_scatter_mode {
    ONS_SCATTER_NONE,
    ONS_SCATTER_ADD,
    ONS_SCATTER_MUL,
    ONS_SCATTER_MAX,
    ONS_SCATTER_MIN,
    ONS_SCATTER_MODES, /* an unknown name */
} ons_scatter_mode;

ons_scatter_mode ons_scatter_mode_of(const char *name);

/* Joins one word of a reference's update to the word at `to_index`. */
void ons_scatter_word(ons_scatter_mode mode, ons_dtype dtype, void *to, int64_t to_index, const void *from,
                      int64_t from_index);

/* Joins `count` neighbouring elements; `size` bytes each; any but ONS_SCATTER_NONE needs float32. */
void ons_scatter_join(ons_scatter_mode mode, size_t size, char *to, const char *from, int64_t count);

/* Refuses a reduction of anything but float32. */
ons_status *ons_scatter_check(const ons_operands *o, ons_scatter_mode mode);

/* A constant of zeros of that type. */
ons_value_id ons_build_zeros(ons_builder *builder, const ons_type *type);

#endif
