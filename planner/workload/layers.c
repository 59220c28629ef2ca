#include "planner/workload/layers.h"

#include <ctype.h>
#include <string.h>

enum { LAYERS_LEAST = 4 }; /* fewer names than this say nothing */

/* Length of the part of a name that says the layer: up to the component that holds the first number, or all but the
 * last component. 0: the name has one component alone. */
static size_t layer_length(const char *name) {
    const char *start = name, *end;
    while ((end = strpbrk(start, "/.")) != NULL) {
        for (const char *c = start; c < end; ++c)
            if (isdigit((unsigned char)*c)) return (size_t)(end - name);
        start = end + 1;
    }
    return start == name ? 0 : (size_t)(start - name - 1);
}

/* The name that says where each node belongs: its own where that is a path, else that of the first weight that it uses
 * (exporters without paths keep the names of weights). NULL: neither. */
static ons_status *find_names(const ons_workload *work, ons_arena *arena, const char ***names) {
    ONS_NEW(*names, arena, work->node_count);
    for (uint32_t i = 0; i < work->weight_count; ++i) {
        const ons_work_weight *w = &work->weights[i];
        for (uint32_t k = 0; w->gradient_bytes > 0 && k < w->user_count; ++k)
            if ((*names)[w->users[k]] == NULL && layer_length(w->name) > 0) (*names)[w->users[k]] = w->name;
    }
    for (uint32_t i = 0; i < work->node_count; ++i)
        if (strchr(work->nodes[i].name, '/') != NULL) (*names)[i] = work->nodes[i].name;
    return NULL;
}

static ons_status *add_layer(ons_workload *work, ons_arena *arena, const char *name, size_t length, uint32_t first) {
    char *copy = ons_arena_allocate(arena, length + 1, 1);
    if (copy == NULL) return ons_status_out_of_memory();
    memcpy(copy, name, length);
    while (*copy == '/') ++copy;
    work->layers[work->layer_count++] = (ons_work_layer){copy, first, 0};
    return NULL;
}

/* A node that says nothing (a constant's use, a view that a pass made) stays with its neighbours. */
static ons_status *by_name(ons_workload *work, ons_arena *arena) {
    const char **names, *last = "";
    size_t length = 0;
    ONS_TRY(find_names(work, arena, &names));
    for (uint32_t i = 0; i < work->node_count; ++i) {
        size_t own = names[i] == NULL ? 0 : layer_length(names[i]);
        bool starts = own > 0 && (own != length || strncmp(names[i], last, own) != 0);
        if (starts) {
            last = names[i];
            length = own;
        }
        if (i == 0 || starts)
            ONS_TRY(add_layer(work, arena, starts ? last : work->nodes[i].name,
                              starts ? own : strlen(work->nodes[i].name), i));
        work->nodes[i].layer = work->layer_count - 1;
    }
    return NULL;
}

/* How many tensors cross each cut: `crossing[i]` in front of node i. */
static ons_status *count_crossing(const ons_workload *work, ons_arena *arena, int32_t **crossing) {
    ONS_NEW(*crossing, arena, (size_t)work->node_count + 2);
    for (uint32_t i = 0; i < work->tensor_count; ++i) {
        const ons_work_tensor *t = &work->tensors[i];
        if (t->producer == ONS_NO_NODE || t->reader_count == 0) continue;
        ++(*crossing)[t->producer + 1];
        --(*crossing)[t->readers[t->reader_count - 1] + 1];
    }
    for (uint32_t i = 1; i <= work->node_count; ++i) (*crossing)[i] += (*crossing)[i - 1];
    return NULL;
}

static ons_status *by_cuts(ons_workload *work, ons_arena *arena) {
    int32_t *crossing;
    ONS_TRY(count_crossing(work, arena, &crossing));
    for (uint32_t i = 0; i < work->node_count; ++i) {
        if (i == 0 || crossing[i] <= 1)
            ONS_TRY(add_layer(work, arena, work->nodes[i].name, strlen(work->nodes[i].name), i));
        work->nodes[i].layer = work->layer_count - 1;
    }
    return NULL;
}

ons_status *ons_layers_find(ons_workload *work, ons_arena *arena) {
    work->layer_count = 0;
    ONS_NEW(work->layers, arena, (size_t)work->node_count + 1);
    ONS_TRY(by_name(work, arena));
    if (work->layer_count < LAYERS_LEAST) {
        work->layer_count = 0;
        ONS_TRY(by_cuts(work, arena));
    }
    for (uint32_t i = 0; i < work->layer_count; ++i)
        work->layers[i].count =
            (i + 1 < work->layer_count ? work->layers[i + 1].first : work->node_count) - work->layers[i].first;
    return NULL;
}
