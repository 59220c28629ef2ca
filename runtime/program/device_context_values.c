#include <stdlib.h>
#include <string.h>

#include "runtime/program/device_context_state.h"

ons_status *ons_device_context_copy(ons_device_context *c, void *to, const void *from, size_t bytes) {
    if (c->device->host_can_access) {
        memcpy(to, from, bytes);
        return NULL;
    }
    c->device->copy(c->compute, to, from, bytes);
    ons_device_context_wait(c);
    return c->device->failure(c->device);
}

static bool is_wide(const ons_program *program, ons_value_id value) {
    return ons_graph_value(ons_program_graph(program), value)->type.dtype == ONS_FLOAT64;
}

static double number_at(const void *address, bool wide) {
    float narrow;
    double number;
    if (wide) {
        memcpy(&number, address, sizeof number);
        return number;
    }
    memcpy(&narrow, address, sizeof narrow);
    return narrow;
}

/* Every step asks for as many again: no memory is taken after the first one. */
static ons_status *reserve_scalars(ons_device_context *c, uint32_t count) {
    void *taken;
    if (count <= c->scalar_count) return NULL;
    ONS_TRY(c->device->allocate_host(c->device, (int64_t)count * (int64_t)sizeof *c->scalars, &taken));
    if (c->scalars != NULL)
        c->device->release_host(c->device, c->scalars, (int64_t)c->scalar_count * (int64_t)sizeof *c->scalars);
    c->scalars = taken;
    c->scalar_count = count;
    return NULL;
}

static ons_status *fetch_scalars(ons_device_context *c, const ons_program *program, const ons_value_id *values,
                                 uint32_t count) {
    ONS_TRY(reserve_scalars(c, count));
    for (uint32_t i = 0; i < count; ++i)
        if (values[i] != ONS_NONE)
            c->device->copy(c->compute, &c->scalars[i], ons_program_address(program, values[i], NULL),
                            is_wide(program, values[i]) ? sizeof(double) : sizeof(float));
    ons_device_context_wait(c);
    return c->device->failure(c->device);
}

ons_status *ons_device_context_scalars(ons_device_context *c, const ons_program *program, const ons_value_id *values,
                                       uint32_t count, double *scalars) {
    bool here = c->device->host_can_access, any = false;
    for (uint32_t i = 0; i < count; ++i) any = any || values[i] != ONS_NONE;
    if (!any) return NULL;
    if (!here) ONS_TRY(fetch_scalars(c, program, values, count));
    for (uint32_t i = 0; i < count; ++i) {
        if (values[i] == ONS_NONE) continue;
        const void *address = here ? ons_program_address(program, values[i], NULL) : &c->scalars[i];
        scalars[i] = number_at(address, is_wide(program, values[i]));
    }
    return NULL;
}

ons_status *ons_device_context_scalar(ons_device_context *c, const ons_program *program, ons_value_id value,
                                      double *scalar) {
    return ons_device_context_scalars(c, program, &value, 1, scalar);
}

static ons_status *reserve_copy(ons_host_copy *copy, size_t bytes) {
    if (bytes <= copy->size) return NULL;
    free(copy->data);
    copy->data = malloc(bytes);
    copy->size = copy->data == NULL ? 0 : bytes;
    return copy->data == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_device_context_read(ons_device_context *c, const void *address, size_t bytes, ons_host_copy *copy,
                                    const void **contents) {
    *contents = address;
    if (c->device->host_can_access) return NULL;
    ONS_TRY(reserve_copy(copy, bytes));
    *contents = copy->data;
    return ons_device_context_copy(c, copy->data, address, bytes);
}

ons_status *ons_device_context_read_value(ons_device_context *c, const char *name, ons_type *type, ons_host_copy *copy,
                                          const void **contents) {
    *contents = NULL;
    const void *address = ons_device_context_find(c, name, type);
    if (address == NULL) return NULL;
    const ons_type there = *type;
    size_t bytes = (size_t)ons_type_dense_bytes(type);
    type->layout = ONS_LAYOUT_ONNX;
    if (there.layout == ONS_LAYOUT_ONNX) return ons_device_context_read(c, address, bytes, copy, contents);
    ONS_TRY(reserve_copy(copy, bytes));
    *contents = copy->data;
    return c->registry->relayout(&there, ONS_LAYOUT_ONNX, address, copy->data);
}

ons_status *ons_device_context_write_value(ons_device_context *c, const char *name, const void *contents) {
    ons_type type;
    void *address = ons_device_context_find(c, name, &type);
    if (address == NULL) return NULL;
    ons_layout layout = type.layout;
    type.layout = ONS_LAYOUT_ONNX;
    if (layout != ONS_LAYOUT_ONNX)
        ONS_TRY(c->registry->relayout(&type, layout, contents, address));
    else
        ONS_TRY(ons_device_context_copy(c, address, contents, (size_t)ons_type_dense_bytes(&type)));
    return ons_device_context_changed(c, name);
}

/* ---------------------------------------------------------------------------------------------------------- masters */

static void widen_halves(const uint16_t *from, int64_t count, ons_dtype dtype, float *widened) {
    for (int64_t i = 0; i < count; ++i)
        widened[i] = dtype == ONS_BFLOAT16 ? ons_bfloat16_to_float(from[i]) : ons_half_to_float(from[i]);
}

/* A piece at a time, so that no weight is held twice. */
static ons_status *load_pieces(ons_device_context *c, const ons_tensor *tensor, char *address) {
    enum { PIECE = 1 << 16 };
    const uint16_t *halves = tensor->data;
    int64_t count = ons_shape_elements(&tensor->type.shape);
    float *piece = malloc(PIECE * sizeof *piece);
    ons_status *status = piece == NULL ? ons_status_out_of_memory() : NULL;
    for (int64_t at = 0; status == NULL && at < count; at += PIECE) {
        int64_t length = count - at < PIECE ? count - at : PIECE;
        widen_halves(halves + at, length, tensor->type.dtype, piece);
        status =
            ons_device_context_copy(c, address + (size_t)at * sizeof *piece, piece, (size_t)length * sizeof *piece);
    }
    free(piece);
    return status;
}

/* In another order of elements it is made whole. */
static ons_status *load_reordered(ons_device_context *c, const ons_resident *master, const ons_tensor *tensor,
                                  char *address) {
    ons_type type = ons_type_make(ONS_FLOAT32, tensor->type.shape);
    float *whole = malloc((size_t)ons_type_dense_bytes(&type) + 1);
    if (whole == NULL) return ons_status_out_of_memory();
    widen_halves(tensor->data, ons_shape_elements(&type.shape), tensor->type.dtype, whole);
    ons_status *status = c->registry->relayout(&type, master->type.layout, whole, address);
    free(whole);
    return status;
}

ons_status *ons_device_context_load_widened(ons_device_context *c, const ons_resident *master,
                                            const ons_tensor *tensor) {
    char *address = (char *)c->arena + master->offset;
    ONS_CHECK(master->type.dtype == ONS_FLOAT32 && ons_dtype_is_half(tensor->type.dtype), ONS_DEFECT,
              "'%s' is %s in the file and %s in the arena", master->name, ons_dtype_name(tensor->type.dtype),
              ons_dtype_name(master->type.dtype));
    return master->type.layout == ONS_LAYOUT_ONNX ? load_pieces(c, tensor, address)
                                                  : load_reordered(c, master, tensor, address);
}

/* ----------------------------------------------------------------------------------------------------- half weights */

static void round_floats(const float *from, int64_t count, ons_dtype to, uint16_t *rounded) {
    for (int64_t i = 0; i < count; ++i)
        rounded[i] = to == ONS_BFLOAT16 ? ons_float_to_bfloat16(from[i]) : ons_float_to_half(from[i]);
}

static ons_status *round_weight(ons_device_context *c, const ons_resident *half, ons_host_copy *weight,
                                ons_host_copy *rounded) {
    ons_type type;
    const void *contents;
    size_t bytes = (size_t)ons_type_dense_bytes(&half->type);
    if (bytes == 0) return NULL;
    ONS_TRY(ons_device_context_read_value(c, half->rounds, &type, weight, &contents));
    ONS_CHECK(contents != NULL, ONS_DEFECT, "'%s' has no place in the arena", half->rounds);
    ONS_TRY(reserve_copy(rounded, bytes));
    round_floats(contents, ons_shape_elements(&type.shape), half->type.dtype, rounded->data);
    return ons_device_context_write_value(c, half->name, rounded->data);
}

/* Those of one weight; NULL: of all. */
static ons_status *round_weights(ons_device_context *c, const char *name) {
    ons_host_copy weight = {0}, rounded = {0};
    ons_status *status = NULL;
    for (size_t i = 0; status == NULL && i < c->residents.count; ++i) {
        const ons_resident *each = &c->residents.items[i];
        if (each->rounds != NULL && (name == NULL || strcmp(each->rounds, name) == 0))
            status = round_weight(c, each, &weight, &rounded);
    }
    ons_host_copy_free(&weight);
    ons_host_copy_free(&rounded);
    return status;
}

ons_status *ons_device_context_round_all(ons_device_context *c) { return round_weights(c, NULL); }

ons_status *ons_device_context_changed(ons_device_context *c, const char *name) { return round_weights(c, name); }

void ons_host_copy_free(ons_host_copy *copy) {
    free(copy->data);
    *copy = (ons_host_copy){0};
}
