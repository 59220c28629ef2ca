#include "graph/passes/cut.h"

#include "graph/passes/cutter.h"

static ons_status *check_options(const ons_cut_options *o) {
    ONS_CHECK(o->stages > 0, ONS_INVALID_ARGUMENT, "a graph cannot be cut into no stages");
    ONS_CHECK(o->stages < 1 << 14, ONS_UNSUPPORTED, "%u stages are more than messages can be numbered for", o->stages);
    ONS_CHECK(!o->updates_in_backward || (o->stages == 1 && !o->repeats), ONS_INVALID_ARGUMENT,
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

static ons_status *list_chunks(cutter *c, uint32_t device) {
    ons_cut_stage *d = &c->cut->stages[device];
    uint32_t *stages;
    ONS_NEW(stages, c->cut->arena, (size_t)c->o->stages + 1);
    for (uint32_t s = 0; s < c->o->stages; ++s)
        if (c->device[s] == device) stages[d->chunks++] = s;
    ONS_CHECK(d->chunks > 0, ONS_INVALID_ARGUMENT, "device %u has no stage", device);
    d->stages = stages;
    return NULL;
}

static ons_status *place_stages(cutter *c) {
    c->devices = c->o->device_of != NULL ? c->o->devices : c->o->stages;
    ONS_NEW(c->device, c->scratch, c->o->stages);
    for (uint32_t s = 0; s < c->o->stages; ++s) {
        c->device[s] = c->o->device_of != NULL ? c->o->device_of[s] : s;
        ONS_CHECK(c->device[s] < c->devices, ONS_INVALID_ARGUMENT, "stage %u on device %u of %u", s, c->device[s],
                  c->devices);
    }
    ONS_NEW(c->cut->stages, c->cut->arena, c->devices);
    c->cut->stage_count = c->devices;
    for (uint32_t d = 0; d < c->devices; ++d) ONS_TRY(list_chunks(c, d));
    return NULL;
}

static ons_status *make(cutter *c) {
    c->cut->arena = ons_arena_new();
    if (c->cut->arena == NULL) return ons_status_out_of_memory();
    ONS_TRY(place_stages(c));
    ONS_TRY(ons_cut_place(c));
    ONS_TRY(ons_cut_find_needs(c));
    ONS_TRY(ons_cut_list_transfers(c));
    for (uint32_t d = 0; d < c->devices; ++d) {
        cut_steps steps;
        ONS_TRY(ons_cut_list_steps(c, d, &steps));
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
