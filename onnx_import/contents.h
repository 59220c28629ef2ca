/* Which numbers of tensors are the same numbers of one weight, by their bits alone.
 *
 * Random float32 numbers are equal by chance once in some ten million pairs; zeros, ones and numbers with few digits (a
 * weight that was rounded to half precision) are equal for no reason at all. So one number says nothing: it takes
 * several different ones that stand in the same order, or numbers so few that no two of them are equal by chance. */
#ifndef ONSTAGE_ONNX_IMPORT_CONTENTS_H
#define ONSTAGE_ONNX_IMPORT_CONTENTS_H

#include <stdbool.h>

#include "graph/store.h"

/* Whether the tensor holds enough different numbers to be told from another one. */
bool ons_contents_tell(const ons_tensor *tensor);

/* Whether most of its numbers are equal to others for no reason. */
bool ons_contents_are_plain(const ons_tensor *tensor);

/* Whether `part` is a view of `whole`: element (i, j, …) is its element offset + i · strides[0] + j · strides[1] + …,
 * as of a copy, a transpose, a mirror image, a slice. False where the contents do not tell. */
bool ons_contents_find_view(const ons_tensor *whole, const ons_tensor *part, int64_t *offset,
                            int64_t strides[static ONS_RANK_MAX]);

typedef enum ons_repeats {
    ONS_REPEATS_NONE,   /* every number stands in one place, as far as can be told */
    ONS_REPEATS_FOUND,  /* `index` tells which are the same */
    ONS_REPEATS_UNSURE, /* some stand in several places, and which are the same cannot be told */
} ons_repeats;

/* Numbers of the tensor that stand in several places: index[k], in `arena`, is the number of element k among `count`
 * different ones, in order of their first places; -1: an element of a margin of zeros, looked for where `padded`.
 * Only for tensors whose numbers an exporter may have repeated: it also finds numbers of a weight that are equal by
 * chance. */
ons_status *ons_contents_find_repeats(const ons_tensor *tensor, bool padded, ons_arena *arena, ons_repeats *found,
                                      int64_t **index, int64_t *count);

/* Whether two tensors have more numbers in common than by chance. */
ons_status *ons_contents_overlap(const ons_tensor *a, const ons_tensor *b, bool *overlap);

#endif
