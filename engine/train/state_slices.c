#include "engine/train/state_slices.h"

#include "base/status.h"

ons_status *ons_state_slice_name(const ons_state_place *place, ons_arena *arena, const char **name) {
    *name = place->owners == 1 ? place->name
                               : ons_arena_format(arena, "%s#%u-of-%u", place->name, place->owner, place->owners);
    return *name == NULL ? ons_status_out_of_memory() : NULL;
}

static int64_t bytes_of(const ons_state_place *place, int64_t elements) {
    return elements * (int64_t)ons_dtype_size(place->type.dtype);
}

/* What `piece`, which a tensor of the checkpoint holds, has of the slice that is wanted. */
static ons_status *copy_common(const ons_state_place *place, ons_slice wanted, ons_slice piece,
                               const ons_tensor *tensor, ons_device_context *device_context, char *address) {
    int64_t first = piece.first > wanted.first ? piece.first : wanted.first;
    int64_t end = piece.first + piece.count;
    if (wanted.first + wanted.count < end) end = wanted.first + wanted.count;
    if (first >= end) return NULL;
    return ons_device_context_copy(device_context, address + bytes_of(place, first - wanted.first),
                                   (const char *)tensor->data + bytes_of(place, first - piece.first),
                                   (size_t)bytes_of(place, end - first));
}

static ons_status *copy_pieces(const ons_checkpoint *c, uint32_t owners, const ons_state_place *place, ons_slice wanted,
                               ons_arena *arena, ons_device_context *device_context, char *address) {
    for (uint32_t i = 0; i < owners; ++i) {
        const ons_state_place there = {place->name, place->type, i, owners};
        ons_slice piece = ons_slice_of(ons_shape_elements(&place->type.shape), i, owners);
        ons_type type = {.dtype = place->type.dtype, .shape = ons_shape_make(1, &piece.count)};
        const char *name;
        if (piece.count == 0) break; /* nor have those behind it any */
        ONS_TRY(ons_state_slice_name(&there, arena, &name));
        const ons_tensor *tensor = ons_checkpoint_find(c, name);
        ONS_CHECK(tensor != NULL && ons_type_equal(&tensor->type, &type), ONS_INVALID_DATA,
                  "the checkpoint has neither '%s' nor its slice '%s' of this model's type", place->name, name);
        ONS_TRY(copy_common(place, wanted, piece, tensor, device_context, address));
    }
    return NULL;
}

/* By the first slice, which is never empty. */
static ons_status *find_count(const ons_checkpoint *c, const ons_state_owners *owners, const ons_state_place *place,
                              ons_arena *arena, uint32_t *count) {
    *count = owners->count > 0 ? owners->counts[0] : 1;
    for (uint32_t i = 0; i < owners->count; ++i) {
        const ons_state_place there = {place->name, place->type, 0, owners->counts[i]};
        const char *name;
        ONS_TRY(ons_state_slice_name(&there, arena, &name));
        if (ons_checkpoint_find(c, name) == NULL) continue;
        *count = owners->counts[i];
        return NULL;
    }
    return NULL;
}

ons_status *ons_state_slice_load(const ons_checkpoint *c, const ons_state_owners *owners, const ons_state_place *place,
                                 ons_device_context *device_context, void *address) {
    int64_t elements = ons_shape_elements(&place->type.shape);
    ons_slice wanted = ons_slice_of(elements, place->owner, place->owners);
    const ons_tensor *whole = ons_checkpoint_find(c, place->name);
    if (whole != NULL) {
        ONS_CHECK(ons_type_equal(&whole->type, &place->type), ONS_INVALID_DATA,
                  "the checkpoint has no tensor '%s' of this model's type", place->name);
        return copy_common(place, wanted, (ons_slice){0, elements}, whole, device_context, address);
    }
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    uint32_t count;
    ons_status *status = find_count(c, owners, place, arena, &count);
    if (status == NULL) status = copy_pieces(c, count, place, wanted, arena, device_context, address);
    ons_arena_free(arena);
    return status;
}
