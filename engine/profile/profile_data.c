#include "engine/profile/profile_data.h"

#include <stdlib.h>

#include "base/philox.h"

bool ons_profile_has_data(const ons_config *config) {
    return config->inputs.count > 0 || config->tokens != NULL || config->arrays.count > 0;
}

static void make_up(ons_dtype dtype, uint64_t seed, uint64_t input, int64_t elements, void *data) {
    for (int64_t i = 0; i < elements; ++i) {
        float value = ons_uniform_float(ons_philox_draw(seed, input, (uint64_t)i).words[0]);
        switch (dtype) {
        case ONS_FLOAT32: ((float *)data)[i] = value; break;
        case ONS_FLOAT64: ((double *)data)[i] = (double)value; break;
        case ONS_FLOAT16: ((uint16_t *)data)[i] = ons_float_to_half(value); break;
        case ONS_BFLOAT16: ((uint16_t *)data)[i] = ons_float_to_bfloat16(value); break;
        default: return; /* zeros, as they are */
        }
    }
}

/* The first samples, from the start again where there are too few. */
static ons_status *gather(ons_dataset *dataset, const char *name, const ons_type *type, void *to) {
    ONS_CHECK(type->shape.rank > 0, ONS_UNSUPPORTED, "model input '%s' is a scalar: it has no axis for samples", name);
    ons_type sample = {.dtype = type->dtype, .shape = ons_shape_make(type->shape.rank - 1, type->shape.dims + 1)};
    uint32_t field = ons_dataset_find(dataset, name);
    uint64_t samples = ons_dataset_count(dataset);
    size_t count = (size_t)type->shape.dims[0];
    ONS_TRY(ons_dataset_check(dataset, field, &sample));
    ONS_CHECK(samples > 0, ONS_INVALID_DATA, "the data has no samples");
    uint64_t *rows = calloc(count + 1, sizeof *rows);
    if (rows == NULL) return ons_status_out_of_memory();
    for (size_t i = 0; i < count; ++i) rows[i] = i % samples;
    ons_status *status = ons_dataset_gather(dataset, field, rows, count, &sample, to);
    free(rows);
    return status;
}

ons_status *ons_profile_data_make(const ons_model *model, ons_dataset *dataset, const ons_model_graph *stage,
                                  uint64_t seed, ons_arena *arena, ons_profile_data *data) {
    ONS_NEW(data->inputs, arena, stage->input_count + 1);
    data->counted_targets = (double)stage->rows;
    for (uint32_t i = 0; i < stage->input_count; ++i) {
        bool target = i >= model->graph->inputs.count;
        ons_type type = ons_graph_value(stage->graph, stage->inputs[i])->type;
        int64_t elements = ons_shape_elements(&type.shape), bytes = ons_type_dense_bytes(&type);
        void *bytes_of_input = calloc(1, (size_t)bytes + 1);
        if (bytes_of_input == NULL) return ons_status_out_of_memory();
        data->inputs[data->count++] =
            (ons_profiler_input){.value = stage->inputs[i], .data = bytes_of_input, .bytes = (size_t)bytes};
        const char *name =
            target ? ONS_TARGET_FIELD : ons_graph_value(model->graph, model->graph->inputs.items[i])->name;
        if (target && elements > 0) data->counted_targets = (double)elements;
        if (dataset != NULL && ons_dataset_find(dataset, name) != ONS_NO_FIELD)
            ONS_TRY(gather(dataset, name, &type, bytes_of_input));
        else if (!target)
            make_up(type.dtype, seed, i, elements, bytes_of_input);
    }
    return NULL;
}

int64_t ons_profile_data_bytes(const ons_model_graph *stage) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < stage->input_count; ++i)
        bytes += ons_type_dense_bytes(&ons_graph_value(stage->graph, stage->inputs[i])->type);
    return bytes;
}

void ons_profile_data_free(ons_profile_data *data) {
    for (uint32_t i = 0; i < data->count; ++i) free((void *)data->inputs[i].data);
    data->count = 0;
}
