#include <string.h>

#include "engine/model/loss_division.h"
#include "graph/passes/prune.h"
#include "kernels/loss_rules.h"

typedef struct totals_builder {
    const ons_binding_options *o;
    const ons_graph *like; /* a graph that takes the totals */
    const ons_value_id *totals;
    uint32_t count;
    ons_loss_parts parts; /* of both graphs, as they are before anything is left out */
    ons_value_id *found;  /* of each total: its place there */
    ons_totals_graphs *r;
} totals_builder;

/* The name of a total is that of the value which it stands for, and a word more (graph/passes/loss_parts_apply.c). */
static bool is_named_after(const char *total, const char *value) {
    size_t length = strlen(value);
    return strncmp(total, value, length) == 0 &&
           strncmp(total + length, ONS_LOSS_TOTAL_SUFFIX, strlen(ONS_LOSS_TOTAL_SUFFIX)) == 0;
}

static bool find_totals(totals_builder *b, const ons_graph *graph) {
    bool all = true;
    for (uint32_t k = 0; k < b->count; ++k) {
        const ons_value *total = ons_graph_value(b->like, b->totals[k]);
        b->found[k] = ONS_NONE;
        for (uint32_t i = 0; i < b->parts.total_count; ++i)
            if (is_named_after(total->name, ons_graph_value(graph, b->parts.totals[i])->name) &&
                ons_type_equal(&total->type, &ons_graph_value(graph, b->parts.totals[i])->type))
                b->found[k] = b->parts.totals[i];
        all &= b->found[k] != ONS_NONE;
    }
    return all;
}

/* Graphs without what a step trains: running statistics would bring the whole model along. */
static ons_status *bind_for(totals_builder *b, int64_t rows, bool *fits) {
    ons_value_id loss;
    ons_status *status = ons_bind_model(b->o, rows, &b->r->sums);
    *fits = false;
    if (status != NULL && ons_status_get_code(status) != ONS_OUT_OF_MEMORY) {
        ons_status_free(status);
        b->r->sums = NULL;
        return NULL;
    }
    ONS_TRY(status);
    for (size_t i = 0; i < b->r->sums->inputs.count; ++i) {
        const ons_shape *shape = &ons_graph_value(b->r->sums, b->r->sums->inputs.items[i])->type.shape;
        if (shape->rank == 0 || shape->dims[0] != rows) return NULL;
    }
    ONS_TRY(ons_divide_loss(b->o, rows, b->r->sums, b->r->arena, &loss, &b->parts));
    *fits = loss != ONS_NONE && b->parts.obstacle.node == NULL && find_totals(b, b->r->sums);
    b->r->rows = rows;
    return NULL;
}

/* Sample by sample where the model takes one, and else as many as it takes. */
static ons_status *bind_sums(totals_builder *b, int64_t rows) {
    bool fits;
    ONS_TRY(bind_for(b, 1, &fits));
    if (!fits && rows > 1) {
        ons_graph_free(b->r->sums);
        b->r->sums = NULL;
        ONS_TRY(bind_for(b, rows, &fits));
    }
    ONS_CHECK(fits, ONS_DEFECT, "what the loss counts is not found in the model bound for %lld samples",
              (long long)b->r->rows);
    return NULL;
}

static bool is_read(const ons_graph *graph, ons_value_id id) {
    bool read = false;
    for (ons_node_id n = 0; n < graph->nodes.count; ++n)
        for (uint32_t i = 0; i < ons_graph_node(graph, n)->input_count; ++i)
            read |= ons_graph_node(graph, n)->inputs[i] == id;
    return read;
}

static ons_status *prune_sums(totals_builder *b) {
    ons_totals_graphs *r = b->r;
    ons_tracked_values tracked = {.count = b->parts.atom_count};
    ONS_NEW(tracked.ids, r->arena, tracked.count + 1);
    r->sums->outputs.count = 0;
    for (uint32_t i = 0; i < b->parts.atom_count; ++i) {
        tracked.ids[i] = b->parts.atoms[i].value;
        ONS_PUSH(&r->sums->outputs, tracked.ids[i]);
    }
    ONS_TRY(ons_prune(r->sums, NULL, &tracked));
    for (uint32_t i = 0; i < b->parts.atom_count; ++i) r->parts[i].made = tracked.ids[i];
    r->input_count = (uint32_t)b->o->model->graph->inputs.count;
    ONS_NEW(r->inputs, r->arena, r->input_count + 1);
    ONS_NEW(r->names, r->arena, r->input_count + 1);
    for (uint32_t i = 0; i < r->input_count; ++i) {
        ons_value_id input = r->sums->inputs.items[i];
        r->inputs[i] = is_read(r->sums, input) ? input : ONS_NONE;
        r->names[i] = ons_graph_value(b->o->model->graph, b->o->model->graph->inputs.items[i])->name;
    }
    return NULL;
}

/* No node makes it any more: the caller fills it in. */
static void take_from_outside(ons_graph *graph, ons_value_id id) {
    ons_value *value = ons_graph_value(graph, id);
    ons_node *node = ons_graph_node(graph, value->producer);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (node->outputs[i] == id) node->outputs[i] = ONS_NONE;
    value->producer = ONS_NONE;
    value->kind = ONS_INPUT;
}

static ons_status *make_finish(totals_builder *b) {
    ons_totals_graphs *r = b->r;
    ons_value_id loss = ONS_NONE;
    uint32_t sums = b->parts.atom_count, factors = b->parts.factor_count;
    ons_tracked_values tracked = {.count = sums + factors + b->count};
    ONS_TRY(ons_bind_model(b->o, r->rows, &r->finish));
    loss = r->finish->outputs.items[0]; /* any: its new id is not looked at */
    ONS_TRY(ons_loss_parts_open(r->finish, b->o->model->registry, ons_kernels_loss_rules(), &loss));
    ONS_NEW(tracked.ids, r->arena, tracked.count + 1);
    r->finish->outputs.count = 0;
    for (uint32_t i = 0; i < sums; ++i) {
        tracked.ids[i] = b->parts.atoms[i].value;
        take_from_outside(r->finish, tracked.ids[i]);
    }
    for (uint32_t i = 0; i < factors; ++i) tracked.ids[sums + i] = b->parts.factors[i].value;
    for (uint32_t i = 0; i < b->count; ++i) {
        tracked.ids[sums + factors + i] = b->found[i];
        ONS_PUSH(&r->finish->outputs, b->found[i]);
    }
    ONS_TRY(ons_prune(r->finish, NULL, &tracked));
    for (uint32_t i = 0; i < sums; ++i) r->parts[i].taken = tracked.ids[i];
    for (uint32_t i = 0; i < factors; ++i)
        r->factors[i] = (ons_loss_factor){tracked.ids[sums + i], b->parts.factors[i].degree};
    memcpy(r->totals, tracked.ids + sums + factors, b->count * sizeof *r->totals);
    return NULL;
}

static ons_status *build(totals_builder *b, int64_t rows) {
    ons_totals_graphs *r = b->r;
    r->arena = ons_arena_new();
    if (r->arena == NULL) return ons_status_out_of_memory();
    ONS_NEW(b->found, r->arena, b->count + 1);
    ONS_NEW(r->totals, r->arena, b->count + 1);
    ONS_TRY(bind_sums(b, rows));
    r->count = b->count;
    r->part_count = b->parts.atom_count;
    r->factor_count = b->parts.factor_count;
    ONS_NEW(r->parts, r->arena, r->part_count + 1);
    ONS_NEW(r->factors, r->arena, r->factor_count + 1);
    for (uint32_t i = 0; i < r->part_count; ++i) r->parts[i].mean = b->parts.atoms[i].mean;
    ONS_TRY(make_finish(b)); /* whose ids are those of the other graph as long as that is whole */
    return prune_sums(b);
}

ons_status *ons_loss_totals_build(const ons_binding_options *options, int64_t rows, const ons_graph *like,
                                  const ons_value_id *totals, uint32_t count, ons_totals_graphs *result) {
    ons_binding_options inference = *options;
    inference.training = false;
    inference.blockers = NULL;
    totals_builder b = {.o = &inference, .like = like, .totals = totals, .count = count, .r = result};
    *result = (ons_totals_graphs){0};
    ons_status *status = build(&b, rows);
    if (status != NULL) ons_totals_graphs_free(result);
    return status;
}
