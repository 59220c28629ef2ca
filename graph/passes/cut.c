#include "graph/passes/cut.h"

#include "graph/passes/cutter.h"

static ons_status *check_options(const ons_cut_options *o) {
    ONS_CHECK(o->stages > 0, ONS_INVALID_ARGUMENT, "a graph cannot be cut into no stages");
    ONS_CHECK(!o->early_updates || (o->stages == 1 && !o->repeats), ONS_INVALID_ARGUMENT,
              "updates wait for other stages and micro-batches");
    for (uint32_t i = 0; i < o->decision_count; ++i) {
        const ons_cut_decision *d = &o->decisions[i];
        ONS_CHECK(d->value < o->whole->values.count, ONS_INVALID_ARGUMENT, "a decision about value %u of %zu", d->value,
                  o->whole->values.count);
        ONS_CHECK(d->in_before < o->whole->nodes.count && ons_graph_node(o->whole, d->in_before)->phase == ONS_FORWARD,
                  ONS_INVALID_ARGUMENT, "'%s': it is to be back for node %u, which is no forward node",
                  ons_graph_value(o->whole, d->value)->name, d->in_before);
    }
    return NULL;
}

static ons_status *make(cutter *c) {
    c->cut->arena = ons_arena_new();
    if (c->cut->arena == NULL) return ons_status_out_of_memory();
    ONS_NEW(c->cut->stages, c->cut->arena, c->o->stages);
    c->cut->stage_count = c->o->stages;
    ONS_TRY(ons_cut_place(c));
    ONS_TRY(ons_cut_find_needs(c));
    ONS_TRY(ons_cut_list_transfers(c));
    for (uint32_t s = 0; s < c->o->stages; ++s) {
        cut_steps steps;
        ONS_TRY(ons_cut_list_steps(c, s, &steps));
        ONS_TRY(ons_cut_build_stage(c, &steps));
    }
    return NULL;
}

ons_status *ons_cut_make(const ons_cut_options *options, ons_cut *cut) {
    *cut = (ons_cut){0};
    ONS_TRY(check_options(options));
    cutter c = {.o = options, .whole = options->whole, .scratch = ons_arena_new(), .cut = cut};
    ons_status *status = c.scratch == NULL ? ons_status_out_of_memory() : make(&c);
    ons_arena_free(c.scratch);
    if (status != NULL) ons_cut_free(cut);
    return status;
}

void ons_cut_free(ons_cut *cut) {
    for (uint32_t s = 0; s < cut->stage_count; ++s) ons_graph_free(cut->stages[s].graph);
    ons_arena_free(cut->arena);
    *cut = (ons_cut){0};
}
