#include "engine/model/class_weights.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "graph/evaluate.h"
#include "onnx_import/tensor_file.h"
#include "runtime/data/array.h"

static ons_status *check_weight(double weight, int64_t class, double *sum) {
    ONS_CHECK(isfinite((float)weight) && weight >= 0, ONS_INVALID_DATA,
              "the weight of class %" PRId64 " is %g; a weight is a finite number that is not negative", class, weight);
    *sum += weight;
    return NULL;
}

static ons_status *take_weights(const ons_array *array, ons_arena *arena, ons_loss_options *loss) {
    char text[ONS_TYPE_TEXT];
    const ons_type *type = &array->type;
    ONS_CHECK(ons_dtype_is_float(type->dtype) && type->shape.rank == 1, ONS_INVALID_DATA,
              "holds %s; a float vector is needed, with a weight for each class", ons_type_print(type, text));
    double *weights, *aligned, sum = 0;
    loss->class_weight_count = type->shape.dims[0];
    ONS_NEW(weights, arena, loss->class_weight_count + 1);
    ONS_NEW(aligned, arena, loss->class_weight_count + 1);
    memcpy(aligned, array->data, (size_t)ons_type_dense_bytes(type));
    ons_widen(type->dtype, aligned, loss->class_weight_count, weights);
    for (int64_t i = 0; i < loss->class_weight_count; ++i) ONS_TRY(check_weight(weights[i], i, &sum));
    ONS_CHECK(sum > 0, ONS_INVALID_DATA, "no class has a weight above 0");
    loss->class_weights = weights;
    return NULL;
}

ons_status *ons_class_weights_read(const ons_config *config, ons_arena *arena, ons_loss_options *loss) {
    if (config->class_weights == NULL) return NULL;
    ons_array array;
    ONS_TRY_AT(ons_array_open(config->class_weights, ons_tensor_file_read, &array), "--class-weights");
    ons_status *status = take_weights(&array, arena, loss);
    ons_array_close(&array);
    return status == NULL ? NULL : ons_status_at(status, "--class-weights '%s'", config->class_weights);
}
