#include "graph/store.h"

ons_status *ons_store_init(ons_store *store) {
    *store = (ons_store){.arena = ons_arena_new()};
    return store->arena == NULL ? ons_status_out_of_memory() : NULL;
}

void ons_store_free(ons_store *store) {
    ons_arena_free(store->arena);
    ons_vector_free(&store->tensors);
    store->arena = NULL;
}

ons_status *ons_store_refer(ons_store *store, const ons_type *type, const void *data, ons_data_id *id) {
    *id = (ons_data_id)store->tensors.count;
    ONS_PUSH(&store->tensors, (ons_tensor){*type, data});
    return NULL;
}

ons_status *ons_store_add(ons_store *store, const ons_type *type, void **data, ons_data_id *id) {
    ONS_TRY(ons_shape_check(&type->shape));
    *data = ons_arena_allocate(store->arena, (size_t)ons_type_dense_bytes(type), 1);
    if (*data == NULL) return ons_status_out_of_memory();
    return ons_store_refer(store, type, *data, id);
}
