/* Lifetimes and places in the arena, on random buffers and on random graphs. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/arena_layout.h"
#include "tests/rooms/graph/fixture.h"

enum { BUFFERS = 120, POSITIONS = 60, ROUNDS = 60 };

/* --------------------------------------------------------------------------------------------------- random buffers */

static bool live_together(const ons_buffer *a, const ons_buffer *b) {
    return !a->persistent && !b->persistent && a->first <= b->last && b->first <= a->last;
}

static void check_layout(const ons_liveness *l, const ons_arena_layout *layout, uint32_t positions, uint64_t seed) {
    for (uint32_t i = 0; i < l->buffer_count; ++i) {
        if (l->buffers[i].persistent) {
            cr_assert_eq(layout->offsets[i], -1);
            continue;
        }
        int64_t begin = layout->offsets[i], end = begin + l->buffers[i].bytes;
        cr_assert(begin >= 0 && begin % ONS_ARENA_ALIGNMENT == 0 && end <= layout->bytes, "seed %" PRIu64 ": buffer %u",
                  seed, i);
        for (uint32_t k = 0; k < i; ++k) {
            bool apart = layout->offsets[k] + l->buffers[k].bytes <= begin || end <= layout->offsets[k];
            cr_assert(apart || !live_together(&l->buffers[i], &l->buffers[k]),
                      "seed %" PRIu64 ": buffers %u and %u overlap", seed, i, k);
        }
    }
    int64_t bound = 0;
    for (uint32_t position = 0; position <= positions; ++position) {
        int64_t alive = 0;
        for (uint32_t i = 0; i < l->buffer_count; ++i)
            if (!l->buffers[i].persistent && l->buffers[i].first <= position && position <= l->buffers[i].last)
                alive += ons_arena_align(l->buffers[i].bytes);
        bound = alive > bound ? alive : bound;
    }
    cr_assert_eq(layout->lower_bound, bound, "seed %" PRIu64, seed);
    cr_assert_geq(layout->bytes, bound, "seed %" PRIu64, seed);
}

static void fill_buffers(ons_buffer *buffers, uint32_t count, uint64_t *random) {
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t first = (uint32_t)(next_random(random) % POSITIONS);
        buffers[i] = (ons_buffer){
            .bytes = (int64_t)(next_random(random) % (next_random(random) % 8 == 0 ? 100000 : 3000)),
            .first = first,
            .last = first + (uint32_t)(next_random(random) % (POSITIONS - first + 1)),
            .persistent = next_random(random) % 10 == 0,
            .owner = i,
        };
    }
}

Test(layout, random_buffers) {
    for (uint64_t seed = 1; seed <= ROUNDS; ++seed) {
        uint64_t random = seed * 7919;
        ons_buffer buffers[BUFFERS];
        uint32_t count = 1 + (uint32_t)(next_random(&random) % BUFFERS);
        fill_buffers(buffers, count, &random);
        ons_liveness liveness = {.buffers = buffers, .buffer_count = count};
        ons_arena *arena = ons_arena_new();
        ons_arena_layout layout;
        const ons_execution_order execution_order = {
            .end = (uint32_t[]){0, POSITIONS, POSITIONS, POSITIONS, POSITIONS}, .chunks = 1, .count = POSITIONS};
        must(ons_arena_layout_make(&(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order},
                                   arena, &layout));
        check_layout(&liveness, &layout, POSITIONS, seed);
        ons_arena_free(arena);
    }
}

Test(layout, nothing_to_place) {
    ons_buffer buffer = {.bytes = 100, .persistent = true};
    for (uint32_t count = 0; count < 2; ++count) {
        ons_liveness liveness = {.buffers = &buffer, .buffer_count = count};
        ons_arena *arena = ons_arena_new();
        ons_arena_layout layout;
        const ons_execution_order execution_order = {.end = (uint32_t[]){0, 1, 1, 1, 1}, .chunks = 1, .count = 1};
        must(ons_arena_layout_make(&(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order},
                                   arena, &layout));
        cr_assert(layout.bytes == 0 && layout.lower_bound == 0);
        ons_arena_free(arena);
    }
}

/* Two programs beside each other; what both make alike at the beginning has one place, and nothing else lies there. */
Test(layout, shared_buffers_share_a_place) {
    enum { BEGIN = 5, SHARED_BUFFERS = 12 };
    for (uint64_t seed = 1; seed <= ROUNDS; ++seed) {
        uint64_t random = seed * 104729;
        ons_buffer buffers[2][BUFFERS];
        ons_buffer_id shared_buffers[BUFFERS];
        ons_arena_layout layouts[2];
        ons_arena *arena = ons_arena_new();
        const ons_execution_order execution_order = {
            .end = (uint32_t[]){BEGIN, POSITIONS, POSITIONS, POSITIONS, POSITIONS}, .chunks = 1, .count = POSITIONS};
        for (int k = 0; k < 2; ++k) fill_buffers(buffers[k], BUFFERS, &random);
        for (uint32_t i = 0; i < BUFFERS; ++i) shared_buffers[i] = ONS_NONE;
        for (uint32_t n = 0; n < SHARED_BUFFERS; ++n) { /* anywhere in the second, in another order than in the first */
            uint32_t own = (n * 7 + 3) % BUFFERS, other = (n * 11 + 50) % BUFFERS;
            buffers[0][other] = buffers[1][own] = (ons_buffer){
                .bytes = 1 + (int64_t)(next_random(&random) % 5000), .first = n % BEGIN, .last = POSITIONS - 1};
            if (n % 3 != 0) shared_buffers[own] = other;
        }
        for (int k = 0; k < 2; ++k) {
            const ons_liveness liveness = {.buffers = buffers[k], .buffer_count = BUFFERS};
            must(ons_arena_layout_make(
                &(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order, .joined = true},
                arena, &layouts[k]));
        }
        int64_t apart = layouts[0].bytes + layouts[1].bytes, shared = 0;
        must(ons_arena_layout_join((ons_arena_layout *const[]){&layouts[0], &layouts[1]},
                                   (const uint32_t[]){BUFFERS, BUFFERS}, shared_buffers, arena));
        for (uint32_t i = 0; i < BUFFERS; ++i) {
            int64_t begin = layouts[1].offsets[i], end = begin + ons_arena_align(buffers[1][i].bytes);
            cr_assert(begin < 0 || end <= layouts[1].bytes, "seed %" PRIu64 ": buffer %u", seed, i);
            if (shared_buffers[i] == ONS_NONE) continue;
            cr_assert_eq(begin, layouts[0].offsets[shared_buffers[i]], "seed %" PRIu64 ": buffer %u", seed, i);
            shared += end - begin;
            for (int k = 0; k < 2; ++k)
                for (uint32_t j = 0; j < BUFFERS; ++j) {
                    if (layouts[k].offsets[j] < 0 || buffers[k][j].bytes == 0 || j == (k == 0 ? shared_buffers[i] : i))
                        continue;
                    int64_t other = layouts[k].offsets[j];
                    cr_assert(other >= end || other + ons_arena_align(buffers[k][j].bytes) <= begin,
                              "seed %" PRIu64 ": buffer %u of program %d lies over a shared one", seed, j, k);
                }
        }
        cr_assert_leq(layouts[0].bytes, apart - shared);
        cr_assert_eq(layouts[0].bytes, layouts[1].bytes);
        ons_arena_free(arena);
    }
}

/* ---------------------------------------------------------------------------------------------------- random graphs */

enum { NODES = 80, KEPT = 3 };

/* Elementwise chains with forks, joins, views and matrix products; every value may be read again much later. */
static void build_random(scene *s, uint64_t *random) {
    static const char *const unary[] = {"Relu", "Tanh", "Exp", "Neg", "Sigmoid"};
    static const char *const binary[] = {"Add", "Mul", "Sub", "MatMul"};
    ons_value_id values[NODES + 4];
    uint32_t count = 0;
    values[count++] = add_input(s, "x", SHAPE(8, 8));
    values[count++] = add_input(s, "y", SHAPE(8, 8));
    values[count++] = add_parameter(s, "w", SHAPE(8, 8));
    for (int i = 0; i < NODES; ++i) {
        uint32_t recent = next_random(random) % 3 != 0 && count > 6 ? count - 6 : 0;
        ons_value_id a = values[recent + next_random(random) % (count - recent)],
                     b = values[next_random(random) % count];
        uint64_t choice = next_random(random) % 10;
        if (choice == 0) { /* there and back: two views */
            ons_value_id flat = apply2(s, "Reshape", a, ons_build_integers(&s->builder, (const int64_t[]){64}, 1));
            values[count++] = apply2(s, "Reshape", flat, ons_build_integers(&s->builder, (const int64_t[]){8, 8}, 2));
        } else if (choice < 5) {
            values[count++] = apply1(s, unary[next_random(random) % 5], a);
        } else {
            values[count++] = apply2(s, binary[next_random(random) % 4], a, b);
        }
    }
    for (int i = 0; i < KEPT; ++i) add_output(s, values[count - 1 - next_random(random) % 10]);
}

/* The value whose bytes a value is: a view's source. */
static ons_value_id root_of(const ons_graph *graph, ons_value_id id) {
    for (bool view = true; view && ons_graph_value(graph, id)->producer != ONS_NONE;) {
        const ons_node *node = ons_graph_node(graph, ons_graph_value(graph, id)->producer);
        view = node->op->aliases[0].kind == ONS_ALIAS_VIEW;
        id = view ? node->inputs[node->op->aliases[0].input] : id;
    }
    return id;
}

typedef struct run {
    const ons_graph *graph;
    const ons_liveness *liveness;
    const ons_arena_layout *layout;
    ons_value_id *holds; /* of every 64 bytes of the arena: the value that was written there last */
    uint64_t seed;
} run;

/* The granules of a value; false where it lies outside of the transient part. */
static bool find_granules(const run *r, ons_value_id id, int64_t *begin, int64_t *end) {
    ons_buffer_id buffer = r->liveness->buffer_of_value[id];
    cr_assert_neq(buffer, ONS_NONE);
    if (r->liveness->buffers[buffer].persistent) return false;
    int64_t bytes = ons_type_dense_bytes(&ons_graph_value(r->graph, id)->type);
    cr_assert_leq(bytes, r->liveness->buffers[buffer].bytes);
    *begin = r->layout->offsets[buffer] / ONS_ARENA_ALIGNMENT;
    *end = *begin + ons_arena_align(bytes) / ONS_ARENA_ALIGNMENT;
    return true;
}

static void write_value(run *r, ons_value_id id) {
    int64_t begin, end;
    for (bool lies = find_granules(r, id, &begin, &end); lies && begin < end; ++begin)
        r->holds[begin] = root_of(r->graph, id);
}

static void check_value(const run *r, ons_value_id id, const char *reader) {
    int64_t begin, end;
    for (bool lies = find_granules(r, id, &begin, &end); lies && begin < end; ++begin)
        cr_assert_eq(r->holds[begin], root_of(r->graph, id),
                     "seed %" PRIu64 ": '%s' reads '%s', which '%s' has overwritten", r->seed, reader,
                     ons_graph_value(r->graph, id)->name, ons_graph_value(r->graph, r->holds[begin])->name);
}

/* Runs the graph in thought: whatever is read must still be what was written. Scratch is written while its node runs.
 */
static void simulate(run *r, const ons_execution_order *execution_order) {
    for (size_t i = 0; i < r->graph->inputs.count; ++i) write_value(r, r->graph->inputs.items[i]);
    for (uint32_t position = 0; position < execution_order->count; ++position) {
        const ons_node *node = ons_graph_node(r->graph, execution_order->nodes[position]);
        ons_buffer_id scratch = r->liveness->scratch_of_node[execution_order->nodes[position]];
        if (scratch != ONS_NONE)
            for (int64_t at = 0; at < ons_arena_align(r->liveness->buffers[scratch].bytes); at += ONS_ARENA_ALIGNMENT)
                r->holds[(r->layout->offsets[scratch] + at) / ONS_ARENA_ALIGNMENT] = 0;
        for (uint32_t i = 0; i < node->input_count; ++i) check_value(r, node->inputs[i], node->name);
        for (uint32_t i = 0; i < node->output_count; ++i) write_value(r, node->outputs[i]);
        if (scratch != ONS_NONE)
            for (uint32_t i = 0; i < node->output_count; ++i) check_value(r, node->outputs[i], node->name);
    }
    for (size_t i = 0; i < r->graph->outputs.count; ++i) check_value(r, r->graph->outputs.items[i], "the host");
}

static void check_graph(uint64_t seed, bool with_scratch) {
    uint64_t random = seed * 104729;
    scene *s = scene_open();
    build_random(s, &random);
    must(ons_graph_verify(s->graph));
    int64_t *scratch = calloc(s->graph->nodes.count, sizeof *scratch);
    for (size_t i = 0; with_scratch && i < s->graph->nodes.count; ++i)
        scratch[i] = next_random(&random) % 3 == 0 ? 64 * (int64_t)(next_random(&random) % 20) : 0;
    ons_arena *arena = ons_arena_new();
    ons_execution_order execution_order;
    ons_liveness liveness;
    ons_arena_layout layout;
    must(ons_execution_order_make(s->graph, NULL, 1, false, arena, &execution_order));
    must(ons_liveness_find(&(ons_liveness_options){.graph = s->graph,
                                                   .registry = s->registry,
                                                   .execution_order = &execution_order,
                                                   .scratch_bytes = scratch,
                                                   .kept = s->graph->outputs.items,
                                                   .kept_count = s->graph->outputs.count},
                           arena, &liveness));
    must(ons_arena_layout_make(&(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order}, arena,
                               &layout));
    check_layout(&liveness, &layout, execution_order.count, seed);
    run r = {s->graph, &liveness, &layout, calloc((size_t)layout.bytes / ONS_ARENA_ALIGNMENT + 1, sizeof *r.holds),
             seed};
    simulate(&r, &execution_order);
    free(r.holds);
    free(scratch);
    ons_arena_free(arena);
    scene_close(s);
}

Test(layout, nothing_is_overwritten_too_early) {
    for (uint64_t seed = 1; seed <= ROUNDS; ++seed) check_graph(seed, false);
}

Test(layout, scratch_lies_apart) {
    for (uint64_t seed = 1; seed <= ROUNDS; ++seed) check_graph(seed, true);
}

/* A chain of elementwise nodes works in place: one buffer for all, and the input's own. */
Test(layout, chain_in_place) {
    scene *s = scene_open();
    ons_value_id value = add_input(s, "x", SHAPE(16));
    for (int i = 0; i < 10; ++i) value = apply1(s, "Relu", value);
    add_output(s, value);
    ons_arena *arena = ons_arena_new();
    ons_execution_order execution_order;
    ons_liveness liveness;
    ons_arena_layout layout;
    must(ons_execution_order_make(s->graph, NULL, 1, false, arena, &execution_order));
    must(ons_liveness_find(&(ons_liveness_options){.graph = s->graph,
                                                   .registry = s->registry,
                                                   .execution_order = &execution_order,
                                                   .scratch_bytes = NULL,
                                                   .kept = s->graph->outputs.items,
                                                   .kept_count = 1},
                           arena, &liveness));
    must(ons_arena_layout_make(&(ons_layout_options){.liveness = &liveness, .execution_order = &execution_order}, arena,
                               &layout));
    cr_assert_eq(liveness.buffer_count, 2);
    cr_assert_eq(layout.bytes, 128);
    ons_arena_free(arena);
    scene_close(s);
}

/* Where others still read a value while its last reader runs, that one works elsewhere. */
Test(layout, others_still_read) {
    enum { CHAIN = 10, READ = 4 };
    scene *s = scene_open();
    ons_value_id value = add_input(s, "x", SHAPE(16)), read = ONS_NONE;
    for (int i = 0; i < CHAIN; ++i) {
        value = apply1(s, "Relu", value);
        if (i == READ) read = value;
    }
    add_output(s, value);
    ons_arena *arena = ons_arena_new();
    ons_execution_order execution_order;
    must(ons_execution_order_make(s->graph, NULL, 1, false, arena, &execution_order));
    uint32_t *stays = calloc(s->graph->values.count, sizeof *stays);
    for (uint32_t until = READ; until <= READ + 1; ++until) {
        stays[read] = until;
        ons_liveness liveness;
        must(ons_liveness_find(&(ons_liveness_options){.graph = s->graph,
                                                       .registry = s->registry,
                                                       .execution_order = &execution_order,
                                                       .kept = s->graph->outputs.items,
                                                       .kept_count = 1,
                                                       .stays = stays},
                               arena, &liveness));
        cr_expect_eq(liveness.buffer_count, until == READ ? 2 : 3);
    }
    free(stays);
    ons_arena_free(arena);
    scene_close(s);
}

/* A state that is read after it was replaced would be read too late. */
Test(layout, state_read_after_its_replacement) {
    scene *s = scene_open();
    ons_value_id x = add_input(s, "x", SHAPE(4));
    ons_type type = ons_type_make(ONS_FLOAT32, SHAPE(4));
    ons_value_id state;
    must(ons_graph_add_value(s->graph, "state", ONS_STATE, &type, &state));
    ons_value_id fresh = apply2(s, "Add", state, x);
    ons_graph_value(s->graph, fresh)->pair = state;
    add_output(s, apply2(s, "Mul", state, fresh));
    ons_arena *arena = ons_arena_new();
    ons_execution_order execution_order;
    ons_liveness liveness;
    must(ons_execution_order_make(s->graph, NULL, 1, false, arena, &execution_order));
    must_fail(ons_liveness_find(&(ons_liveness_options){.graph = s->graph,
                                                        .registry = s->registry,
                                                        .execution_order = &execution_order,
                                                        .scratch_bytes = NULL,
                                                        .kept = NULL,
                                                        .kept_count = 0},
                                arena, &liveness),
              ONS_DEFECT, "state");
    ons_arena_free(arena);
    scene_close(s);
}
