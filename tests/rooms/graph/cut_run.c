#include "tests/rooms/graph/cut_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph/operator.h"
#include "tests/rooms/graph/cut_check.h"
#include "tests/rooms/graph/fixture.h"
#include "tests/rooms/graph/walker.h"

typedef struct pipeline {
    const ons_cut_options *o;
    const ons_graph *whole;
    const ons_cut *cut;
    const char *where;
    walker *reference;
    walker **stages;
    void ***host; /* of each stage and swap */
    size_t second_versions;
} pipeline;

static uint32_t part_begin(const ons_cut_stage *stage, ons_part part) {
    return part == ONS_PART_BEGIN ? 0 : stage->end[part - 1];
}

/* ------------------------------------------------------------------------------------------------------------- data */

/* Floats in [-1, 1); integers below 2, which are classes and words of every model here. */
static void fill(walker *w, const ons_graph *graph, ons_value_id id, uint64_t seed) {
    const ons_type *type = &ons_graph_value(graph, id)->type;
    size_t bytes = walker_bytes(w, id);
    unsigned char *data = calloc(bytes + 8, 1);
    for (const char *c = ons_graph_value(graph, id)->name; *c != '\0'; ++c) seed = seed * 31 + (unsigned char)*c;
    if (type->dtype == ONS_FLOAT32)
        for (size_t i = 0; i < bytes / 4; ++i) ((float *)data)[i] = (float)(next_random(&seed) % 4096) / 2048 - 1;
    else if (type->dtype == ONS_INT64)
        for (size_t i = 0; i < bytes / 8; ++i) ((int64_t *)data)[i] = (int64_t)(next_random(&seed) % 2);
    else if (type->dtype == ONS_INT32)
        for (size_t i = 0; i < bytes / 4; ++i) ((int32_t *)data)[i] = (int32_t)(next_random(&seed) % 2);
    else if (type->dtype == ONS_BOOL)
        memset(data, 1, bytes);
    else
        cr_assert_fail("'%s': no data of this type", ons_graph_value(graph, id)->name);
    walker_write(w, id, data);
    free(data);
}

static void fill_inputs(walker *w, const ons_graph *graph, uint64_t seed) {
    for (size_t i = 0; i < graph->inputs.count; ++i) fill(w, graph, graph->inputs.items[i], seed);
}

/* Sums over the micro-batches of a step begin at zero. */
static void zero_sums(walker *w, const ons_graph *graph) {
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        if (v->pair == ONS_NONE || v->kind != ONS_STATE) continue;
        if (v->producer == ONS_NONE || ons_graph_node(graph, v->producer)->per_step) continue;
        void *zeros = calloc(walker_bytes(w, id) + 1, 1);
        walker_write(w, v->pair, zeros);
        free(zeros);
    }
}

/* ------------------------------------------------------------------------------------------------------------ whole */

static bool runs_in(const pipeline *p, const ons_node *node, ons_part part) {
    if (!p->o->repeats) return part == ONS_PART_FORWARD; /* all in one go */
    ons_part own = !node->per_step ? ONS_PART_FORWARD : node->phase == ONS_UPDATE ? ONS_PART_END : ONS_PART_BEGIN;
    return own == part;
}

static void run_whole(pipeline *p, ons_part part, const ons_step *step) {
    for (ons_node_id id = 0; id < p->whole->nodes.count; ++id)
        if (runs_in(p, ons_graph_node(p->whole, id), part)) walker_run(p->reference, id, step);
}

/* ----------------------------------------------------------------------------------------------------------- stages */

static void deliver(pipeline *p, uint32_t s, const ons_cut_transfer *receive) {
    const ons_cut_stage *peer = &p->cut->stages[receive->peer];
    for (uint32_t i = 0; i < peer->send_count; ++i)
        if (peer->sends[i].number == receive->number)
            walker_write(p->stages[s], receive->value, walker_read(p->stages[receive->peer], peer->sends[i].value));
}

static void swap_out(pipeline *p, uint32_t s, ons_node_id after) {
    const ons_cut_stage *stage = &p->cut->stages[s];
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        if (stage->swaps[i].out_after == after)
            memcpy(p->host[s][i], walker_read(p->stages[s], stage->swaps[i].value),
                   walker_bytes(p->stages[s], stage->swaps[i].value));
}

static void swap_in(pipeline *p, uint32_t s, ons_node_id before) {
    const ons_cut_stage *stage = &p->cut->stages[s];
    for (uint32_t i = 0; i < stage->swap_count; ++i)
        if (stage->swaps[i].in_before == before) walker_write(p->stages[s], stage->swaps[i].back, p->host[s][i]);
}

static void run_stage(pipeline *p, uint32_t s, ons_part part, const ons_step *step) {
    const ons_cut_stage *stage = &p->cut->stages[s];
    for (uint32_t i = 0; i < stage->receive_count; ++i)
        if (stage->receives[i].part == part) deliver(p, s, &stage->receives[i]);
    for (ons_node_id id = part_begin(stage, part); id < stage->end[part]; ++id) {
        if (part == ONS_PART_BACKWARD) swap_in(p, s, id);
        walker_run(p->stages[s], id, step);
        if (part == ONS_PART_FORWARD) swap_out(p, s, id);
    }
}

static bool is_sent_later(const ons_cut_stage *stage, ons_value_id value) {
    bool later = false;
    for (uint32_t i = 0; i < stage->send_count; ++i)
        later |= stage->sends[i].value == value && stage->sends[i].part > ONS_PART_FORWARD;
    for (size_t i = 0; i < stage->graph->outputs.count; ++i) later |= stage->graph->outputs.items[i] == value;
    return later;
}

/* What has a second version is gone after the forward part. */
static void free_memory(pipeline *p, uint32_t s) {
    const ons_cut_stage *stage = &p->cut->stages[s];
    for (ons_value_id id = 0; id < p->whole->values.count; ++id) {
        ons_value_id own = stage->value_of[id];
        if (own != ONS_NONE && cut_second_version(stage, own) != ONS_NONE && !is_sent_later(stage, own))
            walker_forget(p->stages[s], own);
    }
}

static void forget_micro_batch(pipeline *p) {
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
        const ons_cut_stage *stage = &p->cut->stages[s];
        for (ons_value_id id = 0; id < stage->graph->values.count; ++id)
            if (!walker_is_held(stage->graph, id) && cut_part_of_value(stage, id) != ONS_PART_BEGIN)
                walker_forget(p->stages[s], id);
    }
}

/* The end part of all stages: in the whole graph's order, and what is made goes on its way at once. */
static void run_end(pipeline *p, const ons_step *step) {
    uint32_t *next = calloc(p->cut->stage_count, sizeof *next);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
        const ons_cut_stage *stage = &p->cut->stages[s];
        next[s] = stage->end[ONS_PART_BACKWARD];
        for (uint32_t i = 0; i < stage->receive_count; ++i) {
            const ons_cut_transfer *r = &stage->receives[i];
            ons_node_id maker =
                ons_graph_find_value(p->cut->stages[r->peer].graph, ons_graph_value(stage->graph, r->value)->name);
            maker = ons_graph_value(p->cut->stages[r->peer].graph, maker)->producer;
            if (r->part == ONS_PART_END && maker < p->cut->stages[r->peer].end[ONS_PART_BACKWARD]) deliver(p, s, r);
        }
    }
    for (ons_node_id id = 0; id < p->whole->nodes.count; ++id)
        for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
            const ons_cut_stage *stage = &p->cut->stages[s];
            if (next[s] >= stage->end[ONS_PART_END] || stage->original[next[s]] != id) continue;
            walker_run(p->stages[s], next[s], step);
            for (uint32_t t = 0; t < p->cut->stage_count; ++t)
                for (uint32_t i = 0; i < p->cut->stages[t].receive_count; ++i) {
                    const ons_cut_transfer *r = &p->cut->stages[t].receives[i];
                    ons_value_id value =
                        ons_graph_find_value(p->whole, ons_graph_value(p->cut->stages[t].graph, r->value)->name);
                    if (r->part == ONS_PART_END && r->peer == s && ons_graph_value(p->whole, value)->producer == id)
                        deliver(p, t, r);
                }
            ++next[s];
        }
    for (uint32_t s = 0; s < p->cut->stage_count; ++s)
        cr_assert_eq(next[s], p->cut->stages[s].end[ONS_PART_END], "%s: the end of stage %u is in no order", p->where,
                     s);
    free(next);
}

/* ---------------------------------------------------------------------------------------------------------- compare */

static void compare_value(pipeline *p, uint32_t s, ons_value_id own, ons_value_id id, const char *when) {
    if (own == ONS_NONE || !walker_has(p->stages[s], own) || !walker_has(p->reference, id)) return;
    size_t bytes = walker_bytes(p->reference, id);
    cr_assert_eq(walker_bytes(p->stages[s], own), bytes);
    cr_assert_eq(memcmp(walker_read(p->stages[s], own), walker_read(p->reference, id), bytes), 0,
                 "%s: '%s' of stage %u differs after the %s", p->where,
                 ons_graph_value(p->cut->stages[s].graph, own)->name, s, when);
}

static void compare(pipeline *p, const char *when) {
    for (uint32_t s = 0; s < p->cut->stage_count; ++s)
        for (ons_value_id id = 0; id < p->whole->values.count; ++id) {
            ons_value_id own = p->cut->stages[s].value_of[id];
            if (own == ONS_NONE) continue;
            compare_value(p, s, own, id, when);
            ons_value_id second = cut_second_version(&p->cut->stages[s], own);
            compare_value(p, s, second, id, when);
            p->second_versions += second != ONS_NONE;
        }
}

/* -------------------------------------------------------------------------------------------------------------- run */

static void run_micro_batch(pipeline *p, const ons_step *step) {
    uint64_t seed = step->step * 100 + step->micro_batch;
    fill_inputs(p->reference, p->whole, seed);
    run_whole(p, ONS_PART_FORWARD, step);
    forget_micro_batch(p);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) fill_inputs(p->stages[s], p->cut->stages[s].graph, seed);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) run_stage(p, s, ONS_PART_FORWARD, step);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) free_memory(p, s); /* all that was sent has arrived */
    for (uint32_t s = p->cut->stage_count; s-- > 0;) run_stage(p, s, ONS_PART_BACKWARD, step);
    if (p->o->repeats) compare(p, "micro-batch");
}

static void run_step(pipeline *p, uint64_t number) {
    uint32_t count = p->o->repeats ? 3 : 1;
    ons_step step = {
        .seed = 7, .step = number, .learning_rate = 0.01F, .counted_targets = 10, .sample_share = 1.0 / count};
    zero_sums(p->reference, p->whole);
    run_whole(p, ONS_PART_BEGIN, &step);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
        zero_sums(p->stages[s], p->cut->stages[s].graph);
        run_stage(p, s, ONS_PART_BEGIN, &step);
    }
    for (; step.micro_batch < count; ++step.micro_batch) run_micro_batch(p, &step);
    run_whole(p, ONS_PART_END, &step);
    run_end(p, &step);
    compare(p, "step");
}

static void open_hosts(pipeline *p) {
    p->host = calloc(p->cut->stage_count, sizeof *p->host);
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
        const ons_cut_stage *stage = &p->cut->stages[s];
        p->host[s] = calloc(stage->swap_count + 1, sizeof **p->host);
        for (uint32_t i = 0; i < stage->swap_count; ++i)
            p->host[s][i] = malloc(walker_bytes(p->stages[s], stage->swaps[i].value) + 1);
    }
}

static void close_pipeline(pipeline *p) {
    for (uint32_t s = 0; s < p->cut->stage_count; ++s) {
        for (uint32_t i = 0; i < p->cut->stages[s].swap_count; ++i) free(p->host[s][i]);
        free(p->host[s]);
        walker_close(p->stages[s]);
    }
    free(p->host), free(p->stages);
    walker_close(p->reference);
}

size_t cut_run(const ons_cut_options *options, const ons_cut *cut, const char *where) {
    pipeline p = {.o = options, .whole = options->whole, .cut = cut, .where = where};
    p.reference = walker_open(p.whole, options->registry);
    p.stages = calloc(cut->stage_count, sizeof *p.stages);
    for (uint32_t s = 0; s < cut->stage_count; ++s) p.stages[s] = walker_open(cut->stages[s].graph, options->registry);
    open_hosts(&p);
    for (uint64_t step = 1; step <= 2; ++step) run_step(&p, step);
    close_pipeline(&p);
    return p.second_versions;
}
