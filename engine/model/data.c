#include "engine/model/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "engine/model/results.h"
#include "engine/model/sample_axes.h"
#include "onnx_import/tensor_file.h"

/* Where the arrays of one set come from, and which of their samples are in it. */
typedef struct sources {
    const ons_pairs *inputs;
    const char *target, *tokens;
    const char *option, *rows; /* those samples, as the option says; rows NULL: all */
    const char *left_out;      /* but for those of --val-rows; NULL: none is left out */
    const ons_number *share;   /* those in front of --val-split, or ... */
    bool last;                 /* ... that share itself; share NULL: all */
    bool validation;           /* arrays in memory that are for validation */
} sources;

static const char *input_name(const ons_model *model, size_t index) {
    return ons_graph_value(model->graph, model->graph->inputs.items[index])->name;
}

static ons_status *check_input(const ons_model *model, const char *name, const char **found) {
    size_t count = model->graph->inputs.count;
    ONS_CHECK(name[0] != '\0' || count == 1, ONS_INVALID_ARGUMENT,
              "--input: the model has %zu inputs; say which one by NAME=FILE", count);
    for (size_t i = 0; i < count; ++i)
        if (name[0] == '\0' || strcmp(input_name(model, i), name) == 0) {
            *found = input_name(model, i);
            return NULL;
        }
    ons_nearest nearest = ons_nearest_to(name);
    for (size_t i = 0; i < count; ++i) ons_nearest_try(&nearest, input_name(model, i));
    return ons_status_new(ONS_INVALID_ARGUMENT, "the model has no input named '%s'%s; its first one is '%s'", name,
                          ons_nearest_hint(&nearest), count == 0 ? "" : input_name(model, 0));
}

/* The axis of a field's arrays that counts samples. */
static uint32_t samples_axis(const ons_model *model, const char *field) {
    if (strcmp(field, ONS_TARGET_FIELD) == 0) return model->target_axis;
    for (size_t i = 0; i < model->graph->inputs.count; ++i)
        if (strcmp(input_name(model, i), field) == 0) return ons_input_samples_of(model, i).axis;
    return 0;
}

/* Takes over the array. */
static ons_status *add_array(const ons_model *model, ons_dataset *dataset, const char *field, const char *origin,
                             ons_array *array) {
    ons_status *status = ons_put_samples_first(origin, samples_axis(model, field), array);
    if (status == NULL) return ons_dataset_add_array(dataset, field, origin, array);
    ons_array_close(array);
    return status;
}

static ons_status *add_file(const ons_model *model, ons_dataset *dataset, const char *field, const char *path) {
    ons_array array;
    ONS_TRY(ons_array_open(path, ons_tensor_file_read, &array));
    return add_array(model, dataset, field, path, &array);
}

/* Whether the model's input is none of the graph's: it is fed once, or nothing needs it. */
static bool is_no_field(const ons_model *model, const char *name) {
    for (size_t i = 0; i < model->fed_once_count; ++i)
        if (strcmp(model->fed_once[i], name) == 0) return true;
    for (size_t i = 0; i < model->unread_count; ++i)
        if (strcmp(model->unread[i], name) == 0) return true;
    return false;
}

static ons_status *add_tokens(const ons_model *model, const ons_config *config, const sources *from,
                              ons_dataset *dataset) {
    ONS_CHECK(from->inputs->count == 0 && from->target == NULL, ONS_INVALID_ARGUMENT,
              "--tokens stands for --input and --target: give the one or the others");
    ONS_CHECK(model->graph->inputs.count == 1, ONS_INVALID_ARGUMENT,
              "--tokens needs a model with one input, this has %zu", model->graph->inputs.count);
    const ons_shape *shape = &ons_graph_value(model->graph, model->graph->inputs.items[0])->type.shape;
    int64_t length = config->seq > 0 ? config->seq : shape->rank == 2 ? shape->dims[1] : 0;
    ONS_CHECK(length > 0, ONS_INVALID_ARGUMENT,
              "--tokens: the model does not fix the length of its input; give --seq N");
    ONS_CHECK(shape->rank != 2 || shape->dims[1] < 0 || shape->dims[1] == length, ONS_INVALID_ARGUMENT,
              "--seq %lld: the model takes windows of %lld tokens; leave --seq out, or export it with a dynamic length",
              (long long)length, (long long)shape->dims[1]);
    ons_tokens tokens;
    ONS_TRY(ons_tokens_open(from->tokens, ONS_NO_DTYPE, (uint64_t)length, &tokens));
    return ons_dataset_add_tokens(dataset, input_name(model, 0), ONS_TARGET_FIELD, from->tokens, &tokens);
}

static ons_status *add_memory(const ons_model *model, const ons_config *config, bool validation, ons_dataset *dataset) {
    for (size_t i = 0; i < config->arrays.count; ++i) {
        const ons_memory_array *array = &config->arrays.items[i];
        if (array->validation != validation || is_no_field(model, array->name)) continue;
        const char *field = ONS_TARGET_FIELD;
        if (strcmp(array->name, "target") != 0) ONS_TRY(check_input(model, array->name, &field));
        ons_type type =
            ons_type_make((ons_dtype)array->view.element_type, ons_shape_make(array->view.rank, array->dims));
        if (samples_axis(model, field) == 0)
            ONS_TRY(ons_dataset_add_memory(dataset, field, &type, array->view.data));
        else
            ONS_TRY(
                add_array(model, dataset, field, array->name, &(ons_array){.type = type, .data = array->view.data}));
    }
    return NULL;
}

/* What is fed once is the same for training and validation: its array is a part of the model that is trained. */
static ons_status *check_validation_input(const ons_model *model, const sources *from, const char *name) {
    for (size_t i = 0; from->validation && i < model->fed_once_count; ++i)
        ONS_CHECK(
            strcmp(model->fed_once[i], name) != 0, ONS_INVALID_ARGUMENT,
            "--val-input %s: the input counts no samples, and is fed once, with the array of --input; leave it out",
            name);
    return NULL;
}

static ons_status *select_samples(const sources *from, ons_dataset *dataset) {
    if (from->rows != NULL) ONS_TRY(ons_dataset_select(dataset, from->option, from->rows));
    if (from->left_out != NULL) ONS_TRY(ons_dataset_leave_out(dataset, "val-rows", from->left_out));
    return from->share == NULL ? NULL : ons_dataset_split(dataset, "val-split", from->share->value, from->last);
}

static ons_status *fill_dataset(const ons_model *model, const ons_config *config, const sources *from,
                                ons_dataset *dataset) {
    if (from->tokens != NULL) ONS_TRY(add_tokens(model, config, from, dataset));
    for (size_t i = 0; i < from->inputs->count; ++i) {
        const char *field;
        ONS_TRY(check_validation_input(model, from, from->inputs->items[i].name));
        if (is_no_field(model, from->inputs->items[i].name)) continue;
        ONS_TRY(check_input(model, from->inputs->items[i].name, &field));
        ONS_TRY(add_file(model, dataset, field, from->inputs->items[i].value));
    }
    if (from->target != NULL) ONS_TRY(add_file(model, dataset, ONS_TARGET_FIELD, from->target));
    ONS_TRY(add_memory(model, config, from->validation, dataset));
    for (size_t i = 0; i < config->normalize.count; ++i) {
        const char *field;
        ONS_TRY(check_input(model, config->normalize.items[i].name, &field));
        ONS_TRY(ons_dataset_normalize(dataset, field, config->normalize.items[i].value));
    }
    ONS_TRY(select_samples(from, dataset));
    for (size_t i = 0; i < model->graph->inputs.count; ++i)
        ONS_CHECK(ons_dataset_find(dataset, input_name(model, i)) != ONS_NO_FIELD, ONS_INVALID_ARGUMENT,
                  "model input '%s' has no data; give --%sinput %s=FILE", input_name(model, i),
                  from->validation ? "val-" : "", input_name(model, i));
    return NULL;
}

static ons_status *open_data(const ons_model *model, const ons_config *config, const sources *from,
                             ons_dataset **result) {
    ons_dataset *dataset;
    ONS_TRY(ons_dataset_new(&dataset));
    ons_status *status = fill_dataset(model, config, from, dataset);
    if (status != NULL) {
        ons_dataset_free(dataset);
        return status;
    }
    *result = dataset;
    return NULL;
}

/* Whether there are arrays for validation alone. */
static bool has_validation_arrays(const ons_config *config) {
    bool memory = false;
    for (size_t i = 0; i < config->arrays.count; ++i) memory |= config->arrays.items[i].validation;
    return config->val_inputs.count > 0 || config->val_tokens != NULL || memory;
}

bool ons_validates_on_training_arrays(const ons_config *config) {
    return !has_validation_arrays(config) && (config->val_rows != NULL || config->val_split.given);
}

static bool is_training_file(const ons_config *config, const ons_pair *validation) {
    bool found = false;
    for (size_t i = 0; i < config->inputs.count && !found; ++i) {
        const ons_pair *input = &config->inputs.items[i];
        bool alone = input->name[0] == '\0' || validation->name[0] == '\0'; /* the model has one input */
        found =
            (alone || strcmp(input->name, validation->name) == 0) && ons_is_same_file(input->value, validation->value);
    }
    return found;
}

bool ons_validates_on_training_files(const ons_config *config) {
    if (config->val_rows == NULL) return false;
    if (config->val_tokens != NULL)
        return config->tokens != NULL && ons_is_same_file(config->tokens, config->val_tokens);
    bool all = config->val_inputs.count > 0;
    for (size_t i = 0; i < config->val_inputs.count && all; ++i)
        all = is_training_file(config, &config->val_inputs.items[i]);
    return all;
}

static bool has_target(const ons_config *config, bool validation) {
    bool has = (validation ? config->val_target : config->target) != NULL;
    for (size_t i = 0; i < config->arrays.count; ++i)
        has |= config->arrays.items[i].validation == validation && strcmp(config->arrays.items[i].name, "target") == 0;
    return has;
}

/* What options about validation say against each other. */
static ons_status *check_validation(const ons_config *config) {
    bool own = has_validation_arrays(config);
    ONS_CHECK(!config->val_split.given || (config->val_split.value > 0 && config->val_split.value < 1),
              ONS_INVALID_ARGUMENT, "--val-split %g does not lie above 0 and below 1; 0.2 is a fifth of the samples",
              config->val_split.value);
    ONS_CHECK(!config->val_split.given || config->val_rows == NULL, ONS_INVALID_ARGUMENT,
              "--val-split and --val-rows both say which samples to validate on; give one of them");
    ONS_CHECK(
        !config->val_split.given || !own, ONS_INVALID_ARGUMENT,
        "--val-split takes samples from --input or --tokens, and there are arrays for validation; leave it out, or "
        "leave --val-input and --val-tokens out");
    ONS_CHECK(own || config->val_target == NULL, ONS_INVALID_ARGUMENT,
              "--val-target: there are no validation inputs; give --val-input FILE, or instead of it --val-rows A:B, "
              "which validates on samples of --input and --target");
    bool needs = (ons_role)config->loss.value != ONS_ROLE_SAMPLE_MEAN && has_target(config, false);
    ONS_CHECK(!own || config->val_tokens != NULL || !needs || has_target(config, true), ONS_INVALID_ARGUMENT,
              "the validation arrays have no targets; give --val-target FILE");
    return NULL;
}

/* All that --input, --target, --tokens and --rows give. */
static sources all_samples(const ons_config *config) {
    return (sources){.inputs = &config->inputs,
                     .target = config->target,
                     .tokens = config->tokens,
                     .option = "rows",
                     .rows = config->rows};
}

ons_status *ons_open_evaluation_data(const ons_model *model, const ons_config *config, ons_dataset **dataset) {
    sources from = all_samples(config);
    return open_data(model, config, &from, dataset);
}

ons_status *ons_open_training_data(const ons_model *model, const ons_config *config, ons_dataset **dataset) {
    sources from = all_samples(config);
    if (ons_validates_on_training_arrays(config)) {
        ONS_TRY(check_validation(config));
        if (config->val_split.given) from.share = &config->val_split;
        if (config->rows == NULL) from.left_out = config->val_rows; /* else what --rows asks for stays */
    }
    return open_data(model, config, &from, dataset);
}

ons_status *ons_open_validation_data(const ons_model *model, const ons_config *config, ons_dataset **dataset) {
    *dataset = NULL;
    ONS_TRY(check_validation(config));
    sources from = {.inputs = &config->val_inputs,
                    .target = config->val_target,
                    .tokens = config->val_tokens,
                    .option = "val-rows",
                    .rows = config->val_rows,
                    .validation = true};
    if (!has_validation_arrays(config)) {
        if (!ons_validates_on_training_arrays(config)) return NULL;
        from = all_samples(config); /* other samples of the same arrays */
        if (config->val_split.given) {
            from.share = &config->val_split;
            from.last = true;
        } else {
            from.option = "val-rows";
            from.rows = config->val_rows;
        }
    }
    return open_data(model, config, &from, dataset);
}

/* Fails where no input has a dimension of that name: most likely a typing error. */
static ons_status *check_symbol(const ons_model *model, const char *name) {
    const ons_graph *graph = model->graph;
    char known[256] = "";
    size_t length = 0;
    for (size_t k = 0; graph->symbols != NULL && k < graph->inputs.count; ++k)
        for (uint32_t axis = 0; axis < ons_graph_value(graph, graph->inputs.items[k])->type.shape.rank; ++axis) {
            const char *symbol = graph->symbols[k][axis];
            if (symbol == NULL) continue;
            if (strcmp(symbol, name) == 0) return NULL;
            if (strstr(known, symbol) == NULL && length < sizeof known)
                length +=
                    (size_t)snprintf(known + length, sizeof known - length, "%s%s", length == 0 ? "" : ", ", symbol);
        }
    return ons_status_new(ONS_INVALID_ARGUMENT, "--dim %s: no input has a dimension of that name; %s%s", name,
                          length == 0 ? "all have a number" : "there are: ", known);
}

ons_status *ons_make_bindings(const ons_model *model, const ons_config *config, const ons_dataset *dataset,
                              int64_t rows, ons_arena *arena, ons_binding **result, size_t *count) {
    ons_binding *bindings;
    *count = 0;
    ONS_NEW(bindings, arena, config->dims.count + model->graph->inputs.count + 1);
    for (size_t i = 0; i < config->dims.count; ++i) {
        char *end;
        long long size = strtoll(config->dims.items[i].value, &end, 10);
        ONS_CHECK(*end == '\0' && size > 0 && config->dims.items[i].value[0] != '\0', ONS_INVALID_ARGUMENT,
                  "--dim %s=%s: the size must be a whole number above 0", config->dims.items[i].name,
                  config->dims.items[i].value);
        ONS_TRY(check_symbol(model, config->dims.items[i].name));
        /* The symbol of axis 0 is the batch: it follows the rows of each program. */
        bool batch = false;
        for (size_t k = 0; model->graph->symbols != NULL && k < model->graph->inputs.count; ++k)
            batch |= model->graph->symbols[k][0] != NULL &&
                     strcmp(model->graph->symbols[k][0], config->dims.items[i].name) == 0;
        if (!batch) bindings[(*count)++] = (ons_binding){.symbol = config->dims.items[i].name, .size = size};
    }
    for (size_t i = 0; dataset != NULL && i < model->graph->inputs.count; ++i) {
        const char *name = input_name(model, i);
        const ons_type *wanted = &ons_graph_value(model->graph, model->graph->inputs.items[i])->type;
        ons_type sample = ons_dataset_sample_type(dataset, ons_dataset_find(dataset, name));
        if (sample.shape.rank + 1 != wanted->shape.rank)
            continue; /* the model's own numbers must do; the dataset reshapes where the elements agree */
        ons_binding binding = {.input = name, .shape = {.rank = wanted->shape.rank}};
        binding.shape.dims[0] = rows;
        for (uint32_t axis = 1; axis < wanted->shape.rank; ++axis)
            binding.shape.dims[axis] = sample.shape.dims[axis - 1];
        bindings[(*count)++] = binding;
    }
    *result = bindings;
    return NULL;
}
