#include "onnx_import/importer.h"

static ons_status *read_dimension(const Onnx__TensorShapeProto__Dimension *dim, ons_arena *arena, int64_t *size,
                                  const char **symbol) {
    *size = ONS_DIM_UNKNOWN;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value >= 0)
        *size = dim->dim_value;
    if (dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM || ons_text(dim->dim_param)[0] == '\0')
        return NULL;
    *symbol = ons_arena_copy_text(arena, dim->dim_param);
    return *symbol == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_value_info_type(const Onnx__ValueInfoProto *info, ons_arena *arena, ons_type *type,
                                const char *symbols[static ONS_RANK_MAX]) {
    *type = (ons_type){.dtype = ONS_NO_DTYPE};
    for (int i = 0; i < ONS_RANK_MAX; ++i) symbols[i] = NULL;
    if (info->type == NULL || info->type->value_case == ONNX__TYPE_PROTO__VALUE__NOT_SET) return NULL;
    ONS_CHECK(info->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE, ONS_UNSUPPORTED,
              "it is a sequence, map or optional value; onstage knows tensors only");
    const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
    bool known = tensor->elem_type > 0 && ons_dtype_size((ons_dtype)tensor->elem_type) > 0;
    ONS_CHECK(known, ONS_UNSUPPORTED, "its elements are of a type (%d) that onstage does not compute with",
              tensor->elem_type);
    ONS_CHECK(tensor->shape != NULL, ONS_UNSUPPORTED, "the file states no shape for it, not even how many dimensions");
    ONS_CHECK(tensor->shape->n_dim <= ONS_RANK_MAX, ONS_UNSUPPORTED, "it has %zu dimensions; onstage knows up to %d",
              tensor->shape->n_dim, ONS_RANK_MAX);
    type->dtype = (ons_dtype)tensor->elem_type;
    type->shape.rank = (uint32_t)tensor->shape->n_dim;
    for (uint32_t i = 0; i < type->shape.rank; ++i)
        ONS_TRY(read_dimension(tensor->shape->dim[i], arena, &type->shape.dims[i], &symbols[i]));
    return NULL;
}
