/* A copy of a file with changes: spans taken out, bytes put in, and the lengths of all messages around them set right.
 *
 * Everything else is copied as it is. A message whose length does not change keeps even the bytes of its length.
 */
#ifndef ONSTAGE_ONNX_IMPORT_SPLICE_H
#define ONSTAGE_ONNX_IMPORT_SPLICE_H

#include "onnx_import/wire.h"

/* Puts something in place of [at, at + removed), which lies within one message, but in none of its sub-messages unless
 * it covers them wholly. */
typedef struct ons_splice {
    uint64_t at;
    uint64_t removed;
    uint32_t frame;    /* the innermost message that stays and holds the span; changes of its length go upwards */
    uint64_t added;    /* bytes */
    const void *bytes; /* `added` bytes; or NULL: the sink's `fill` is asked */
    uint32_t fill;     /* number for `fill` */
} ons_splice;
typedef ONS_VECTOR(ons_splice) ons_splices;

/* Takes the copy, in order. */
typedef struct ons_splice_sink {
    void *context;
    ons_status *(*write)(void *context, const void *bytes, size_t size);
    ons_status *(*fill)(void *context, uint32_t number,
                        uint64_t size); /* writes `size` bytes of its own; may be NULL */
} ons_splice_sink;

/* Sorts the splices. Splices do not overlap; of several at one place, those given first come first. `size` is set to
 * the bytes of the copy, which is written to `sink`; `sink` NULL: only the size is wanted. */
ons_status *ons_splice_copy(const uint8_t *bytes, const ons_frames *frames, ons_splices *splices,
                            const ons_splice_sink *sink, uint64_t *size);

/* The copy in memory, which the caller frees; without splices that are filled. It may be empty, but is never NULL. */
ons_status *ons_splice_to_memory(const uint8_t *bytes, const ons_frames *frames, ons_splices *splices, uint8_t **copy,
                                 uint64_t *size);

#endif
