#include "engine/model/new_head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/philox.h"
#include "engine/model/batching.h"
#include "engine/model/data.h"
#include "graph/evaluate.h"
#include "graph/passes/batch.h"
#include "graph/passes/head.h"
#include "onnx_import/resize.h"

enum { ASSUMED_BATCH = 2 };

typedef struct heads {
    const ons_model *model;
    const ons_config *config;
    ons_arena *arena;
    ons_graph *bound;
    ONS_VECTOR(ons_resized) resized;
} heads;

static ons_status *find_output(const heads *h, const char *name, uint32_t *output) {
    const ons_graph *graph = h->model->graph;
    ons_nearest nearest = ons_nearest_to(name);
    for (uint32_t i = 0; i < graph->outputs.count; ++i) {
        const char *each = ons_graph_value(graph, graph->outputs.items[i])->name;
        ons_nearest_try(&nearest, each);
        *output = i;
        if (strcmp(each, name) == 0 || (name[0] == '\0' && graph->outputs.count == 1)) return NULL;
    }
    ONS_CHECK(name[0] != '\0', ONS_INVALID_ARGUMENT, "--new-head: the model has %zu outputs; say which one by OUTPUT=N",
              (size_t)graph->outputs.count);
    return ons_status_new(ONS_INVALID_ARGUMENT, "--new-head: the model has no output named '%s'%s", name,
                          ons_nearest_hint(&nearest));
}

/* As torch.nn.Linear and torch.nn.Conv2d start: evenly in ±1/√inputs. */
static ons_status *draw(const heads *h, uint64_t number, const ons_type *type, int64_t inputs, const void **contents) {
    int64_t count = ons_shape_elements(&type->shape);
    double *values, bound = 1 / sqrt((double)(inputs > 0 ? inputs : 1));
    void *bytes;
    ONS_NEW(values, h->arena, (size_t)count + 1);
    bytes = ons_arena_allocate(h->arena, (size_t)ons_type_dense_bytes(type) + 1, 1);
    if (bytes == NULL) return ons_status_out_of_memory();
    for (int64_t i = 0; i < count; ++i) {
        ons_philox random = ons_philox_draw((uint64_t)h->config->seed, number, (uint64_t)i);
        values[i] = bound * (2 * ((double)random.words[0] + 0.5) / 4294967296.0 - 1);
    }
    ons_narrow(type->dtype, values, count, bytes);
    *contents = bytes;
    return NULL;
}

static ons_status *resize_head(heads *h, const char *name, int64_t classes) {
    uint32_t output = 0;
    ons_head head;
    ONS_TRY(find_output(h, name, &output));
    ONS_TRY(ons_head_find(h->bound, h->model->registry, output, false, h->arena, &head));
    for (uint32_t i = 0; i < head.count; ++i) {
        const ons_value *value = ons_graph_value(h->bound, head.sizes[i].value);
        ons_resized resized = {.name = value->name, .axis = head.sizes[i].axis, .size = classes};
        if (i < head.parameters) {
            resized.contents.type = value->type;
            resized.contents.type.shape.dims[resized.axis] = classes;
            ONS_TRY_AT(ons_shape_check(&resized.contents.type.shape), "--new-head %s", name);
            ONS_TRY(draw(h, h->resized.count, &resized.contents.type, head.inputs, &resized.contents.data));
        }
        ONS_PUSH(&h->resized, resized);
    }
    return NULL;
}

ons_status *ons_bind_for_changes(const ons_model *model, const ons_config *config, ons_arena *arena,
                                 ons_graph **bound) {
    int64_t exported = ons_exported_batch(model->graph);
    ons_bind_options options = {.batch = exported > 0 ? exported : ASSUMED_BATCH,
                                .fallback = ONS_ASSUMED_DIMENSION,
                                .folded_most = ons_model_file_budget(model->file)};
    ons_binding *bindings;
    ONS_TRY(ons_config_mode(config, true, &options.mode));
    ONS_TRY(ons_make_bindings(model, config, NULL, options.batch, arena, &bindings, &options.binding_count));
    options.bindings = bindings;
    return ons_bind(model->graph, model->registry, &options, NULL, bound);
}

static ons_status *make(heads *h, ons_model_file **file) {
    ONS_TRY(ons_bind_for_changes(h->model, h->config, h->arena, &h->bound));
    for (size_t i = 0; i < h->config->new_heads.count; ++i) {
        const char *name = h->config->new_heads.items[i].name, *value = h->config->new_heads.items[i].value;
        char *end;
        long long classes = strtoll(value, &end, 10);
        ONS_CHECK(*end == '\0' && end != value && classes > 0 && classes < INT32_MAX, ONS_INVALID_ARGUMENT,
                  "--new-head %s=%s: the number of classes must be a whole number above 0", name, value);
        ONS_TRY(resize_head(h, name, classes));
    }
    return ons_model_file_resize(h->model->file, h->resized.items, h->resized.count, file);
}

ons_status *ons_make_new_heads(const ons_model *model, const ons_config *config, ons_model_file **file) {
    heads h = {.model = model, .config = config, .arena = ons_arena_new()};
    ons_status *status = h.arena == NULL ? ons_status_out_of_memory() : make(&h, file);
    ons_vector_free(&h.resized);
    ons_graph_free(h.bound);
    ons_arena_free(h.arena);
    return status;
}
