/* The bytes of constants and of initial weights, by number. A graph refers to them and never holds them, so that a
 * graph can be planned, copied and printed without its data. */
#ifndef ONSTAGE_GRAPH_STORE_H
#define ONSTAGE_GRAPH_STORE_H

#include "base/arena.h"
#include "base/vector.h"
#include "graph/type.h"

typedef uint32_t ons_data_id;
enum { ONS_NO_DATA = 0xffffffffu };

typedef struct ons_store {
    ons_arena *arena;               /* holds what ons_store_add copies */
    ONS_VECTOR(ons_tensor) tensors; /* data may also point into a mapped file that outlives the store; NULL: missing */
} ons_store;

ons_status *ons_store_init(ons_store *store);
void ons_store_free(ons_store *store);

/* Refers to `data`, which must outlive the store. */
ons_status *ons_store_refer(ons_store *store, const ons_type *type, const void *data, ons_data_id *id);

/* Fresh zeroed bytes to be filled in by the caller: *data. */
ons_status *ons_store_add(ons_store *store, const ons_type *type, void **data, ons_data_id *id);

static inline const ons_tensor *ons_store_get(const ons_store *store, ons_data_id id) {
    return id < store->tensors.count ? &store->tensors.items[id] : NULL;
}

/* Whether all elements have the same bits; false where the bytes are missing. */
bool ons_tensor_holds_one_number(const ons_tensor *tensor);

/* Whether b is the matrix a transposed, bit for bit. Two that are one number all over (zeros, ones) say nothing: false,
 * as where bytes are missing. */
bool ons_tensor_is_transpose(const ons_tensor *a, const ons_tensor *b);

#endif
