/* How tensors may lie in memory: the meaning of ons_layout, which is opaque to the rest of the program.
 *
 *   0                         ONNX's order: row-major, dense
 *   1                         channels last: (N, C, spatial…) stored as (N, spatial…, C), dense
 *   tag + groups × 2^12       a weight in a format of oneDNN's (dnnl_format_tag_t), possibly padded
 *
 * Where groups > 0 the logical (O, I/groups, spatial…) is seen by oneDNN as (groups, O/groups, I/groups, spatial…).
 *
 * oneDNN's tags 0 ("undefined") and 1 ("any") name no format, so the numbers do not clash.
 */
#ifndef ONSTAGE_KERNELS_COMMON_LAYOUT_LAYOUTS_H
#define ONSTAGE_KERNELS_COMMON_LAYOUT_LAYOUTS_H

#include "graph/type.h"

enum { ONS_LAYOUT_CHANNELS_LAST = 1, ONS_LAYOUT_TAG_BITS = 12, ONS_LAYOUT_GROUPS_MAX = (1 << 20) - 1 };

static inline ons_layout ons_layout_from_tag(uint32_t tag, int64_t groups) {
    return tag | (ons_layout)groups << ONS_LAYOUT_TAG_BITS;
}
static inline uint32_t ons_layout_tag(ons_layout layout) { return layout & ((1u << ONS_LAYOUT_TAG_BITS) - 1); }
static inline int64_t ons_layout_groups(ons_layout layout) { return layout >> ONS_LAYOUT_TAG_BITS; }
static inline bool ons_layout_is_weight(ons_layout layout) { return layout > ONS_LAYOUT_CHANNELS_LAST; }

/* Whether both layouts put the elements of this type in the same places (one channel, or no spatial extent). */
bool ons_layout_same_bytes(const ons_shape *shape, ons_layout a, ons_layout b);

/* Whether an operand of shape `part` that lies in ONNX's order can be walked beside a whole in that layout, to which it
 * broadcasts: neighbouring channels of the whole are neighbours there too, or one element. */
bool ons_layout_broadcasts(const ons_shape *whole, ons_layout layout, const ons_shape *part);

/* Bytes of a type in its layout, padding included. */
int64_t ons_layout_bytes(const ons_type *type);

/* Static text: "onnx", "channels_last", or oneDNN's name of the format. */
const char *ons_layout_name(ons_layout layout);

#endif
