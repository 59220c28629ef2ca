/* Masters: weights that a run holds in float32, and their file in a half type. */
#include <stdlib.h>
#include <string.h>

#include "engine/model/notes.h"
#include "engine/train/narrow.h"
#include "engine/train/trainer.h"
#include "graph/passes/masters.h"

static const ons_graph *whole_graph(const ons_trainer *t) { return t->training.graphs[ONS_WHOLE].graph; }

/* The value of that name, where it is a master; else NULL. */
static const ons_value *find_master(const ons_trainer *t, const char *name) {
    ons_value_id id = ons_graph_find_value(whole_graph(t), name);
    const ons_value *value = id == ONS_NONE ? NULL : ons_graph_value(whole_graph(t), id);
    return value != NULL && ons_is_master(whole_graph(t), value) ? value : NULL;
}

static ons_status *reserve(ons_narrowed *n, size_t bytes) {
    n->name = NULL;
    if (bytes <= n->size) return NULL;
    free(n->contents);
    n->contents = malloc(bytes);
    n->size = n->contents == NULL ? 0 : bytes;
    return n->contents == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_trainer_collect_for_file(ons_trainer *t, const char *name, const void **contents) {
    const ons_value *master = find_master(t, name);
    ons_narrowed *n = &t->narrowed;
    if (master == NULL) return ons_trainer_collect(t, name, NULL, contents);
    if (n->name != master->name) { /* the exporter reads a weight in pieces */
        ons_dtype dtype = ons_store_get(whole_graph(t)->store, master->data)->type.dtype;
        int64_t count = ons_shape_elements(&master->type.shape);
        const void *numbers;
        ONS_TRY(ons_trainer_collect(t, name, NULL, &numbers));
        ONS_TRY(reserve(n, (size_t)count * sizeof *n->contents + 1));
        ONS_TRY(ons_narrow_master(name, numbers, count, dtype, n->contents));
        n->name = master->name;
    }
    *contents = n->contents;
    return NULL;
}

void ons_trainer_drop_narrowed(ons_trainer *t) {
    free(t->narrowed.contents);
    t->narrowed = (ons_narrowed){0};
}

const char *ons_trainer_overflow_remedy(const ons_trainer *t) {
    bool half = false;
    for (ons_value_id id = 0; id < whole_graph(t)->values.count && !half; ++id) {
        const ons_value *value = ons_graph_value(whole_graph(t), id);
        half = ons_is_master(whole_graph(t), value) &&
               ons_store_get(whole_graph(t)->store, value->data)->type.dtype == ONS_FLOAT16;
    }
    return half && ons_config_low_type(t->config) != ONS_FLOAT16 ? "scale the loss by --precision fp16, " : "";
}

ons_status *ons_trainer_check_masters(const ons_trainer *t, const ons_checkpoint *c) {
    for (ons_value_id id = 0; id < whole_graph(t)->values.count; ++id) {
        const ons_value *value = ons_graph_value(whole_graph(t), id);
        const ons_tensor *there = ons_is_master(whole_graph(t), value) ? ons_checkpoint_find(c, value->name) : NULL;
        ONS_CHECK(there == NULL || !ons_dtype_is_half(there->type.dtype), ONS_INVALID_ARGUMENT,
                  ons_refusal_checkpoint_without_masters, t->config->checkpoint, value->name,
                  ons_dtype_name(there->type.dtype));
    }
    return NULL;
}
