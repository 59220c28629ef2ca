#include "tests/agreement/backend/data_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "onnx.pb-c.h"
#include "onnx_import/tensor.h"

enum { PATH_BYTES = 4096 };

static bool exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

static ons_status *decode(const Onnx__TensorProto *proto, ons_arena *arena, data_tensor *result) {
    ons_type type;
    ONS_TRY(ons_tensor_type(proto, &type));
    uint64_t *data;
    ONS_NEW(data, arena, (size_t)ons_type_dense_bytes(&type) / sizeof *data + 1);
    ONS_TRY(ons_tensor_decode(NULL, proto, &type, data));
    result->name = ons_arena_copy_text(arena, ons_text(proto->name));
    result->tensor = (ons_tensor){.type = type, .data = data};
    return result->name == NULL ? ons_status_out_of_memory() : NULL;
}

static ons_status *read_tensor(const char *path, ons_arena *arena, data_tensor *result) {
    ons_mapping mapping;
    ONS_TRY(ons_mapping_open(path, &mapping));
    Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, mapping.size, mapping.bytes);
    ons_status *status =
        proto == NULL ? ons_status_new(ONS_UNSUPPORTED, "it is no tensor") : decode(proto, arena, result);
    if (proto != NULL) onnx__tensor_proto__free_unpacked(proto, NULL);
    ons_mapping_close(&mapping);
    const char *file = strrchr(path, '/');
    return ons_status_at(status, "%s", file == NULL ? path : file + 1);
}

/* All of NAME_0.pb, NAME_1.pb, … */
static ons_status *read_tensors(const char *folder, const char *name, ons_arena *arena, data_tensor **tensors,
                                uint32_t *count) {
    char path[PATH_BYTES];
    *count = 0;
    do snprintf(path, sizeof path, "%s/%s_%u.pb", folder, name, *count);
    while (exists(path) && ++*count > 0);
    ONS_NEW(*tensors, arena, *count + 1);
    for (uint32_t i = 0; i < *count; ++i) {
        snprintf(path, sizeof path, "%s/%s_%u.pb", folder, name, i);
        ONS_TRY(read_tensor(path, arena, &(*tensors)[i]));
    }
    return NULL;
}

ons_status *data_set_read(const char *folder, uint32_t index, ons_arena *arena, data_set *set, bool *found) {
    char path[PATH_BYTES / 2];
    snprintf(path, sizeof path, "%s/test_data_set_%u", folder, index);
    *found = exists(path);
    if (!*found) return NULL;
    ONS_TRY(read_tensors(path, "input", arena, &set->inputs, &set->input_count));
    return read_tensors(path, "output", arena, &set->outputs, &set->output_count);
}

void data_tensor_restate(data_tensor *each, ons_dtype stated) {
    if (stated == ONS_BFLOAT16 && each->tensor.type.dtype == ONS_UINT16) each->tensor.type.dtype = ONS_BFLOAT16;
}
