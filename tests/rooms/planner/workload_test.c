/* What is planned: bad input refused, sums and lists against walking everything, a stage's memory against lifetimes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rooms/planner/random_work.h"

enum { CASES = 300 };

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(workload, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static void expect_refusal(ons_status *status, const char *part) {
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(ons_status_get_code(status) == ONS_INVALID_DATA);
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

/* -------------------------------------------------------------------------------------------------------- bad input */

typedef void damage(ons_workload *work);

static void negative_time(ons_workload *w) { w->nodes[1].forward_seconds = -1; }
static void time_not_a_number(ons_workload *w) { w->nodes[1].weight_gradient_seconds = NAN; }
static void endless_time(ons_workload *w) { w->nodes[2].update_seconds = INFINITY; }
static void negative_scratch(ons_workload *w) { w->nodes[2].backward_bytes = -1; }
static void negative_tensor(ons_workload *w) { w->tensors[1].bytes = -8; }
static void huge_tensors(ons_workload *w) { w->tensors[0].bytes = w->tensors[1].bytes = INT64_MAX - 1; }
static void too_much_together(ons_workload *w) { w->weights[0].state_bytes = INT64_MAX >> 16; }
static void no_such_producer(ons_workload *w) { w->tensors[1].producer = w->node_count; }
static void read_before_made(ons_workload *w) { w->tensors[2].producer = 3; }
static void no_such_reader(ons_workload *w) { ((uint32_t *)w->tensors[1].readers)[0] = w->node_count; }
static void saved_before_made(ons_workload *w) {
    static const uint32_t early[] = {0};
    w->tensors[2].savers = early;
}
static void users_fall(ons_workload *w) {
    static const uint32_t falling[] = {2, 1};
    w->weights[0].users = falling;
    w->weights[0].user_count = 2;
}
static void user_twice(ons_workload *w) {
    static const uint32_t twice[] = {1, 1};
    w->weights[0].users = twice;
    w->weights[0].user_count = 2;
}
static void no_user(ons_workload *w) { w->weights[2].user_count = 0; }
static void no_nodes(ons_workload *w) { w->node_count = 0; }

Test(workload, bad_input_is_refused_with_its_name) {
    static const struct {
        damage *damage;
        const char *part;
    } cases[] = {
        {negative_time, "node 'n1'"},     {time_not_a_number, "node 'n1'"},   {endless_time, "node 'n2'"},
        {negative_scratch, "'n2'"},       {negative_tensor, "'t1'"},          {huge_tensors, "add up"},
        {too_much_together, "add up"},    {no_such_producer, "'t1'"},         {read_before_made, "'t2': reader"},
        {no_such_reader, "'t1': reader"}, {saved_before_made, "'t2': saver"}, {users_fall, "'w0': its users"},
        {user_twice, "'w0': its users"},  {no_user, "weight 'w2'"},           {no_nodes, "no node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        ons_workload work;
        expect_success(uniform_work_make(5, arena, &work));
        cases[i].damage(&work);
        expect_refusal(ons_workload_finish(&work, arena), cases[i].part);
    }
}

Test(workload, extremes_are_accepted) {
    ons_workload work;
    expect_success(uniform_work_make(1, arena, &work));
    work.tensors[0].bytes = (INT64_MAX >> 16) - 1 - 1000 - 400;
    expect_success(ons_workload_finish(&work, arena));
    ons_stage_memory memory;
    ons_work_stage_memory(&work, 0, 1, &(ons_stage_load){.in_flight = 60000, .versions = 60000, .accumulates = true},
                          &memory);
    cr_expect(memory.total > 0);
}

/* ------------------------------------------------------------------------------------------------------ sums, lists */

static ons_workload random_case(uint64_t seed, bool chain) {
    ons_workload work;
    uint32_t nodes = 1 + (uint32_t)(seed % 23);
    random_work_options options = random_work_graph(seed, nodes);
    if (chain) options = (random_work_options){.seed = seed, .nodes = nodes, .heavy_tailed = seed % 2 == 0};
    expect_success(random_work_make(&options, arena, &work));
    return work;
}

static bool holds(const uint32_t *list, uint32_t count, uint32_t item) {
    for (uint32_t i = 0; i < count; ++i) {
        if (list[i] == item) return true;
    }
    return false;
}

static bool any_in(const uint32_t *list, uint32_t count, uint32_t first, uint32_t end) {
    for (uint32_t i = 0; i < count; ++i) {
        if (list[i] >= first && list[i] < end) return true;
    }
    return false;
}

static bool crosses(const ons_workload *w, const ons_work_tensor *t, uint32_t cut) {
    return t->producer != ONS_NO_NODE && t->producer < cut &&
           (any_in(t->readers, t->reader_count, cut, w->node_count) ||
            any_in(t->savers, t->saver_count, cut, w->node_count));
}

Test(workload, sums_of_stages) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload w = random_case(seed, false);
        for (uint32_t first = 0; first < w.node_count; ++first) {
            double forward = 0, backward = 0, update = 0;
            for (uint32_t end = first + 1; end <= w.node_count; ++end) {
                const ons_work_node *n = &w.nodes[end - 1];
                forward += n->forward_seconds;
                backward += n->input_gradient_seconds + n->weight_gradient_seconds;
                update += n->update_seconds;
                cr_assert(fabs(ons_work_forward_seconds(&w, first, end) - forward) < 1e-12, "%s", w.name);
                cr_assert(fabs(ons_work_backward_seconds(&w, first, end) - backward) < 1e-12, "%s", w.name);
                cr_assert(fabs(ons_work_seconds(&w, first, end) - forward - backward) < 1e-12, "%s", w.name);
                cr_assert(fabs(ons_work_update_seconds(&w, first, end) - update) < 1e-12, "%s", w.name);
            }
        }
    }
}

Test(workload, what_crosses_a_cut) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload w = random_case(seed, false);
        for (uint32_t cut = 0; cut <= w.node_count; ++cut) {
            int64_t bytes = 0, gradients = 0;
            uint32_t count = 0;
            ons_work_list list = ons_work_crossing(&w, cut);
            for (uint32_t i = 0; i < w.tensor_count; ++i) {
                if (!crosses(&w, &w.tensors[i], cut)) continue;
                bytes += w.tensors[i].bytes;
                gradients += w.tensors[i].gradient_bytes;
                cr_assert(count < list.count && list.items[count] == i, "%s, cut %u", w.name, cut);
                ++count;
            }
            cr_assert_eq(list.count, count, "%s, cut %u", w.name, cut);
            cr_assert_eq(ons_work_cut_bytes(&w, cut), bytes, "%s, cut %u", w.name, cut);
            cr_assert_eq(ons_work_cut_gradient_bytes(&w, cut), gradients, "%s, cut %u", w.name, cut);
        }
    }
}

static void expect_list(const ons_workload *w, uint32_t node, ons_work_list list, uint32_t item, bool belongs) {
    cr_assert_eq(holds(list.items, list.count, item), belongs, "%s, node %u, item %u", w->name, node, item);
}

Test(workload, lists_of_nodes) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload w = random_case(seed, false);
        for (uint32_t node = 0; node < w.node_count; ++node) {
            for (uint32_t i = 0; i < w.tensor_count; ++i) {
                const ons_work_tensor *t = &w.tensors[i];
                expect_list(&w, node, ons_work_produces(&w, node), i, t->producer == node);
                expect_list(&w, node, ons_work_reads(&w, node), i, holds(t->readers, t->reader_count, node));
                expect_list(&w, node, ons_work_saves(&w, node), i, holds(t->savers, t->saver_count, node));
            }
            for (uint32_t i = 0; i < w.weight_count; ++i) {
                expect_list(&w, node, ons_work_uses(&w, node), i,
                            holds(w.weights[i].users, w.weights[i].user_count, node));
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------ memory of a stage */

static uint32_t last_in(const uint32_t *list, uint32_t count, uint32_t end, uint32_t otherwise) {
    for (uint32_t i = count; i-- > 0;) {
        if (list[i] < end) return list[i] > otherwise || otherwise == ONS_NO_NODE ? list[i] : otherwise;
    }
    return otherwise;
}

/* Bytes of one tensor and its gradient while a part runs, by the rules of workload.h alone. */
static int64_t alive_bytes(const ons_workload *w, const ons_work_tensor *t, uint32_t first, uint32_t end, uint32_t node,
                           bool backward) {
    bool reads = any_in(t->readers, t->reader_count, first, end), saves = any_in(t->savers, t->saver_count, first, end);
    bool outside = t->producer == ONS_NO_NODE, makes = !outside && t->producer >= first && t->producer < end;
    if (!reads && !saves && !makes) return 0;
    uint32_t born = makes ? t->producer : first;
    bool leaves = !outside && (any_in(t->readers, t->reader_count, end, w->node_count) ||
                               any_in(t->savers, t->saver_count, end, w->node_count));
    if (!backward) {
        uint32_t last = saves || leaves ? end - 1 : last_in(t->readers, t->reader_count, end, born);
        return node >= born && node <= last ? t->bytes : 0;
    }
    int64_t bytes = 0;
    for (uint32_t i = 0; i < t->saver_count; ++i) {
        if (t->savers[i] >= first && t->savers[i] < end && node >= t->savers[i]) bytes = t->bytes;
    }
    if (outside) return bytes;
    bool from_later = any_in(t->readers, t->reader_count, end, w->node_count);
    uint32_t from = from_later ? end - 1 : last_in(t->readers, t->reader_count, end, t->producer);
    if ((reads || makes) && node <= from && node >= t->producer) bytes += t->gradient_bytes;
    return bytes;
}

static int64_t walk_peak(const ons_workload *w, uint32_t first, uint32_t end) {
    int64_t peak = 0;
    for (uint32_t part = 0; part < 2 * (end - first); ++part) {
        bool backward = part >= end - first;
        uint32_t node = backward ? 2 * end - first - 1 - part : first + part;
        int64_t bytes = backward ? w->nodes[node].backward_bytes : w->nodes[node].forward_bytes;
        for (uint32_t i = 0; i < w->tensor_count; ++i)
            bytes += alive_bytes(w, &w->tensors[i], first, end, node, backward);
        if (bytes > peak) peak = bytes;
    }
    return peak;
}

static void walk_memory(const ons_workload *w, uint32_t first, uint32_t end, const ons_stage_load *load,
                        ons_stage_memory *m) {
    int64_t saved = 0, trained = 0;
    *m = (ons_stage_memory){.peak = walk_peak(w, first, end)};
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const ons_work_tensor *t = &w->tensors[i];
        if (any_in(t->savers, t->saver_count, first, end)) saved += t->bytes;
        if (first > 0 && crosses(w, t, first)) m->transfers += t->bytes;
        if (end < w->node_count && crosses(w, t, end)) m->transfers += t->gradient_bytes;
    }
    for (uint32_t i = 0; i < w->weight_count; ++i) {
        const ons_work_weight *weight = &w->weights[i];
        if (!any_in(weight->users, weight->user_count, first, end)) continue;
        m->weights += weight->bytes;
        m->states += weight->state_bytes;
        if (load->accumulates) m->gradients += weight->gradient_bytes;
        if (weight->gradient_bytes > 0) trained += weight->bytes;
    }
    m->versions = (load->versions - 1) * trained;
    m->stash = (load->in_flight - 1) * saved;
    m->total = m->weights + m->gradients + m->states + m->versions + m->stash + m->peak + m->transfers;
}

static void compare_stages(const ons_workload *w, bool equal) {
    for (uint32_t first = 0; first < w->node_count; ++first) {
        for (uint32_t end = first + 1; end <= w->node_count; ++end) {
            uint32_t in_flight = 1 + (first + end) % 4;
            ons_stage_load load = {.in_flight = in_flight, .versions = 1 + end % 3, .accumulates = first % 2 == 0};
            ons_stage_memory fast, walked;
            ons_work_stage_memory(w, first, end, &load, &fast);
            walk_memory(w, first, end, &load, &walked);
            cr_assert_eq(fast.weights, walked.weights, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.gradients, walked.gradients, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.states, walked.states, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.versions, walked.versions, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.stash, walked.stash, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.transfers, walked.transfers, "%s [%u, %u)", w->name, first, end);
            cr_assert_geq(fast.peak, walked.peak, "%s [%u, %u)", w->name, first, end);
            if (equal) cr_assert_eq(fast.peak, walked.peak, "%s [%u, %u)", w->name, first, end);
            cr_assert_eq(fast.total, walked.total + fast.peak - walked.peak, "%s [%u, %u)", w->name, first, end);
        }
    }
}

Test(workload, memory_of_stages_is_never_less_than_lifetimes) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload w = random_case(seed, false);
        compare_stages(&w, false);
    }
}

Test(workload, memory_of_chains_is_that_of_lifetimes) {
    for (uint64_t seed = 1; seed <= CASES; ++seed) {
        ons_workload w = random_case(seed, true);
        compare_stages(&w, true);
    }
}

/* Written by hand: three nodes, tensors of 1000; backward holds two gradients and two saved tensors at once. */
Test(workload, memory_of_a_chain_by_hand) {
    ons_workload w;
    expect_success(uniform_work_make(3, arena, &w));
    ons_stage_memory m;
    ons_work_stage_memory(&w, 0, 3, &(ons_stage_load){.in_flight = 3, .versions = 2, .accumulates = true}, &m);
    cr_expect_eq(m.weights, 300);
    cr_expect_eq(m.gradients, 300);
    cr_expect_eq(m.states, 600);
    cr_expect_eq(m.versions, 300);
    cr_expect_eq(m.stash, 4000); /* t0 and t1, of two that wait */
    cr_expect_eq(m.peak, 4000);  /* backward of n2: t0, t1 and the gradients of t1 and t2 */
    cr_expect_eq(m.transfers, 0);
    ons_work_stage_memory(&w, 1, 2, &(ons_stage_load){.in_flight = 1, .versions = 1, .accumulates = false}, &m);
    cr_expect_eq(m.gradients, 0);
    cr_expect_eq(m.stash, 0);
    cr_expect_eq(m.peak, 3000);      /* t0, gradients of t0 and t1 */
    cr_expect_eq(m.transfers, 2000); /* t0 comes, the gradient of t1 comes */
}
