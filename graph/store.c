#include "graph/store.h"

#include <string.h>

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

bool ons_tensor_holds_one_number(const ons_tensor *tensor) {
    size_t size = ons_dtype_size(tensor->type.dtype);
    int64_t count = ons_shape_elements(&tensor->type.shape);
    const char *bytes = tensor->data;
    /* Each element equals the one before. */
    return bytes != NULL && (count < 2 || memcmp(bytes, bytes + size, (size_t)(count - 1) * size) == 0);
}

bool ons_tensor_is_transpose(const ons_tensor *a, const ons_tensor *b) {
    const ons_shape *from = &a->type.shape, *to = &b->type.shape;
    if (a->data == NULL || b->data == NULL || a->type.dtype != b->type.dtype || from->rank != 2 || to->rank != 2 ||
        from->dims[0] != to->dims[1] || from->dims[1] != to->dims[0])
        return false;
    size_t size = ons_dtype_size(a->type.dtype);
    int64_t rows = from->dims[0], columns = from->dims[1];
    const char *left = a->data, *right = b->data;
    bool same = true;
    for (int64_t i = 0; i < rows && same; ++i)
        for (int64_t k = 0; k < columns && same; ++k)
            same = memcmp(left + (size_t)(i * columns + k) * size, right + (size_t)(k * rows + i) * size, size) == 0;
    return same && !ons_tensor_holds_one_number(a);
}
