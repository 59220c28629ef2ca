/* Cost graphs from files: what each format says is what the workload holds, what is wrong is refused with its place,
 * and orders of nodes are orders. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/cost/cost_file.h"
#include "tests/rooms/planner/random_work.h"

static ons_arena *arena;

static void make_arena(void) { arena = ons_arena_new(); }
static void free_arena(void) { ons_arena_free(arena); }

TestSuite(cost_file, .init = make_arena, .fini = free_arena);

static void expect_success(ons_status *status) {
    cr_assert(status == NULL, "%s", status != NULL ? ons_status_get_message(status) : "");
}

static ons_workload parse(const char *text, ons_order_kind order, uint32_t stages) {
    ons_workload work;
    expect_success(ons_cost_file_parse(text, strlen(text), &(ons_cost_file_options){order, stages}, arena, &work));
    return work;
}

static void expect_refusal(const char *text, size_t size, const char *part) {
    ons_workload work;
    ons_status *status = ons_cost_file_parse(text, size, NULL, arena, &work);
    cr_assert_not_null(status, "expected a failure with '%s'", part);
    cr_expect(ons_status_get_code(status) == ONS_INVALID_DATA, "%s", ons_status_get_message(status));
    cr_expect(strstr(ons_status_get_message(status), part) != NULL, "'%s' lacks '%s'", ons_status_get_message(status),
              part);
    ons_status_free(status);
}

#define NODE(name, kind, forward, backward, activation, parameters)                                                    \
    name " -- " kind " -- forward_compute_time=" forward ", backward_compute_time=" backward                           \
         ", activation_size=" activation ", parameter_size=" parameters "\n"
#define EDGE(from, to) "\t" from " -- " to "\n"

/* -------------------------------------------------------------------------------------------------------- PipeDream */

Test(cost_file, pipedream_lines) {
    ons_workload w = parse(NODE("c", "Add(in -- place)", "0", "1", "[100.0; 28.0; 0.5]", "0.000") /* the last to run */
                           NODE("a", "Input0", "635.9", "2.0", "4096.0", "8")                     /* costs nothing */
                           NODE("b", "Conv2d(3, 64)", "2.5", "5.0", "64.000", "32.0")             /**/
                           EDGE("a", "b") EDGE("b", "c") EDGE("a", "c") EDGE("b", "c"),
                           ONS_ORDER_DEPTH, 0);
    cr_assert_eq(w.node_count, 3);
    cr_assert_eq(w.tensor_count, 3);
    cr_assert_eq(w.weight_count, 1);
    cr_assert_eq(w.layer_count, 3);
    const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; ++i) cr_expect_str_eq(w.nodes[i].name, names[i]);
    cr_expect_str_eq(w.nodes[2].kind, "Add(in -- place)");
    cr_expect_float_eq(w.nodes[1].forward_seconds, 0.0025, 1e-15);
    cr_expect_float_eq(w.nodes[1].input_gradient_seconds, 0.0025, 1e-15);
    cr_expect_float_eq(w.nodes[1].weight_gradient_seconds, 0.0025, 1e-15);
    cr_expect_float_eq(w.nodes[2].input_gradient_seconds, 0.001, 1e-15);
    cr_expect_float_eq(ons_work_seconds(&w, 0, 1), 0, 1e-15);
    ons_work_list made = ons_work_produces(&w, 1);
    cr_assert_eq(made.count, 1);
    const ons_work_tensor *b = &w.tensors[made.items[0]];
    cr_expect(b->bytes == 64 && b->gradient_bytes == 64);
    cr_expect(b->reader_count == 1 && b->readers[0] == 2, "an edge twice is one reader");
    cr_expect(b->saver_count == 1 && b->savers[0] == 1, "a result is kept by its own node");
    cr_expect_eq(w.tensors[ons_work_produces(&w, 2).items[0]].bytes, 129, "sums are rounded up");
    cr_expect_eq(w.tensors[ons_work_produces(&w, 0).items[0]].bytes, 0);
    cr_expect(w.weights[0].bytes == 32 && w.weights[0].gradient_bytes == 32 && w.weights[0].users[0] == 1);
    cr_expect_eq(ons_work_cut_bytes(&w, 2), 64);
}

Test(cost_file, pipedream_with_stage_ids_and_other_line_ends) {
    static const char text[] =
        "\r\nnode1 -- ReLU -- forward_compute_time=1.0, backward_compute_time=1.0, activation_size=8, parameter_size=0 "
        "-- stage_id=2\r\n\r\n\n";
    ons_workload w = parse(text, ONS_ORDER_DEPTH, 0);
    cr_assert_eq(w.node_count, 1);
    cr_expect_float_eq(ons_work_seconds(&w, 0, 1), 0.002, 1e-15);
}

static const struct refused {
    const char *text, *part;
} refused_lines[] = {
    {"", "empty"},
    {" \n\t ", "empty"},
    {"hello", "line 1: neither a node"},
    {NODE("a", "x", "1", "1", "1", "1") "b -- c\n", "line 2: neither a node"},
    {NODE("a", "x", "-1", "1", "1", "1"), "line 1: 'forward_compute_time' is negative"},
    {NODE("a", "x", "nan", "1", "1", "1"), "'forward_compute_time' is negative or not finite"},
    {NODE("a", "x", "1", "inf", "1", "1"), "'backward_compute_time' is negative or not finite"},
    {NODE("a", "x", "1", "1e999", "1", "1"), "'backward_compute_time' is negative or not finite"},
    {NODE("a", "x", "1", "1", "1e17", "1"), "'activation_size' is negative, not finite or over"},
    {NODE("a", "x", "1", "1", "1", "-5"), "'parameter_size' is negative"},
    {NODE("a", "x", "1", "1", "[1; x]", "1"), "'activation_size' is '[1; x]', which is no number"},
    {NODE("a", "x", "1", "1", "[1", "1"), "'activation_size' is '[1', which is no number"},
    {NODE("a", "x", "1", "1", "", "1"), "'activation_size' is '', which is no number"},
    {NODE("a", "x", "1", "1", "1 2", "1"), "which is no number"},
    {"a -- x -- forward_compute_time=1, backward_compute_time=1, activation_size=1\n", "'parameter_size' is missing"},
    {NODE("a", "x", "1", "1", "1", "1") NODE("a", "x", "1", "1", "1", "1"), "line 2: a second node 'a'"},
    {NODE("", "x", "1", "1", "1", "1"), "without a name"},
    {NODE("a", "x", "1", "1", "1", "1") EDGE("a", "b"), "line 2: an edge of 'b'"},
    {NODE("a", "x", "1", "1", "1", "1") EDGE("a", "a"), "line 2: node 'a' reads its own result"},
    {NODE("a", "x", "1", "1", "1", "1") "\ta b\n", "line 2: no edge"},
    {NODE("a", "x", "1", "1", "1", "1") NODE("b", "x", "1", "1", "1", "1") NODE("c", "x", "1", "1", "1", "1")
         EDGE("a", "b") EDGE("b", "c") EDGE("c", "b"),
     "make a cycle of 2"},
};

Test(cost_file, pipedream_refuses) {
    for (size_t i = 0; i < sizeof refused_lines / sizeof *refused_lines; ++i)
        expect_refusal(refused_lines[i].text, strlen(refused_lines[i].text), refused_lines[i].part);
    expect_refusal("a\0b -- x -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1",
                   90, "line 1: a control character");
    expect_refusal(
        "a -- \x1b[2J -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1", 92,
        "line 1: a control character");
}

Test(cost_file, sizes_that_add_up_to_too_much) {
    char text[20000] = "";
    for (int i = 0; i < 100; ++i)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 NODE("n%d", "x", "1", "1", "9007199254740992", "9007199254740992"), i);
    expect_refusal(text, strlen(text), "add up to more");
}

/* -------------------------------------------------------------------------------------------------------------- own */

#define OWN(nodes, tensors, more)                                                                                      \
    "{\"onstage_cost_graph\": 1, \"nodes\": [" nodes "], \"tensors\": [" tensors "]" more "}"
#define SIMPLE(name) "{\"name\": \"" name "\", \"forward_seconds\": 1}"

Test(cost_file, own_format) {
    ons_workload w = parse(
        OWN("{\"name\": \"b\", \"kind\": \"Gemm\", \"layer\": \"L\", \"forward_seconds\": 1, "
            "\"input_gradient_seconds\": "
            "2, \"weight_gradient_seconds\": 3, \"update_seconds\": 4, \"forward_bytes\": 5, \"backward_bytes\": 6, "
            "\"recomputable\": false}, {\"name\": \"a\", \"layer\": \"L\", \"forward_seconds\": 0.5}",
            "{\"name\": \"x\", \"bytes\": 10, \"producer\": null, \"readers\": [\"a\", \"b\"]},"
            "{\"name\": \"h\", \"bytes\": 20, \"producer\": \"a\", \"readers\": [\"b\"], \"savers\": [\"b\"], "
            "\"gradient_bytes\": 7}, {\"name\": \"y\", \"bytes\": 30, \"producer\": \"b\"}",
            ", \"samples\": 8, \"name\": \"two\", \"weights\": [{\"name\": \"w\", \"bytes\": 1, \"state_bytes\": 2, "
            "\"users\": [\"b\", \"a\"]}, {\"name\": \"frozen\", \"bytes\": 9, \"gradient_bytes\": 0, \"users\": "
            "[\"a\"]}]"),
        ONS_ORDER_DEPTH, 0);
    cr_assert_eq(w.node_count, 2);
    cr_expect_str_eq(w.name, "two");
    cr_expect_eq(w.samples, 8);
    const ons_work_node *b = &w.nodes[1];
    cr_expect_str_eq(b->name, "b");
    cr_expect_str_eq(b->kind, "Gemm");
    cr_expect(b->forward_seconds == 1 && b->input_gradient_seconds == 2 && b->weight_gradient_seconds == 3);
    cr_expect(b->update_seconds == 4 && b->forward_bytes == 5 && b->backward_bytes == 6 && !b->recomputable);
    cr_expect(w.nodes[0].recomputable);
    cr_assert_eq(w.layer_count, 1);
    cr_expect(w.layers[0].first == 0 && w.layers[0].count == 2);
    const ons_work_tensor *x = &w.tensors[0], *h = &w.tensors[1], *y = &w.tensors[2];
    cr_expect(x->producer == ONS_NO_NODE && x->gradient_bytes == 0 && x->saver_count == 0 && x->reader_count == 2);
    cr_expect(h->producer == 0 && h->gradient_bytes == 7 && h->saver_count == 1 && h->savers[0] == 1);
    cr_expect(y->producer == 1 && y->gradient_bytes == 30 && y->saver_count == 1 && y->savers[0] == 1);
    cr_expect(w.weights[0].gradient_bytes == 1 && w.weights[0].state_bytes == 2 && w.weights[0].user_count == 2);
    cr_expect(w.weights[1].gradient_bytes == 0);
}

Test(cost_file, layers_that_do_not_stand_together_become_several) {
    ons_workload w = parse(OWN("{\"name\": \"a\", \"layer\": \"L\", \"forward_seconds\": 1}," SIMPLE(
                                   "b") ",{\"name\": \"c\", \"layer\": \"L\", \"forward_seconds\": 1}",
                               "{\"name\": \"t\", \"bytes\": 1, \"producer\": \"a\", \"readers\": [\"b\"]},"
                               "{\"name\": \"u\", \"bytes\": 1, \"producer\": \"b\", \"readers\": [\"c\"]}",
                               ""),
                           ONS_ORDER_DEPTH, 0);
    cr_assert_eq(w.layer_count, 3);
    for (uint32_t i = 0; i < 3; ++i)
        cr_expect(w.layers[i].first == i && w.layers[i].count == 1 && w.nodes[i].layer == i);
    cr_expect_str_eq(w.layers[2].name, "L");
}

static const struct refused refused_json[] = {
    {"{", "line 1"},
    {"{}", "no cost graph"},
    {"[1]", "no cost graph"},
    {"{\"onstage_cost_graph\": 2, \"nodes\": [], \"tensors\": []}", "'onstage_cost_graph' is 2"},
    {OWN("", "", ""), "without nodes"},
    {OWN("{\"name\": \"a\"}", "", ""), "nodes[0]: 'forward_seconds' is missing"},
    {OWN("{\"forward_seconds\": 1}", "", ""), "nodes[0]: 'name' is missing"},
    {OWN(SIMPLE("a") "," SIMPLE("a"), "", ""), "nodes[1]: a second node 'a'"},
    {OWN("{\"name\": \"a\", \"forward_seconds\": -1}", "", ""), "nodes[0]: 'forward_seconds' is negative"},
    {OWN("{\"name\": \"a\", \"forward_seconds\": 1e999}", "", ""), "'forward_seconds' is not a number"},
    {OWN("{\"name\": \"a\", \"forward_seconds\": 1, \"forward_bytes\": 0.5}", "", ""), "not a whole number"},
    {OWN("{\"name\": \"a\", \"forward_seconds\": 1, \"foward_bytes\": 1}", "", ""), "no member 'foward_bytes'"},
    {OWN("3", "", ""), "nodes[0]: an object"},
    {OWN(SIMPLE("a"), "", ", \"extra\": 1"), "no member 'extra'"},
    {OWN(SIMPLE("a"), "", ", \"samples\": 0"), "'samples' must be 1"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"producer\": \"a\"}", ""), "tensors[0]: 'bytes' is missing"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": 1}", ""), "tensors[0]: 'producer' is missing"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": -1, \"producer\": null}", ""), "'bytes' is negative"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": 1, \"producer\": \"b\"}", ""), "'producer' names 'b'"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": 1, \"producer\": null, \"readers\": [\"b\"]}", ""),
     "'readers' names 'b'"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": 1, \"producer\": null, \"savers\": [0]}", ""),
     "'savers' does not name a node"},
    {OWN(SIMPLE("a"), "{\"name\": \"t\", \"bytes\": 1, \"producer\": \"a\", \"readers\": [\"a\"]}", ""),
     "among its readers"},
    {OWN(SIMPLE("a"), "", ", \"weights\": [{\"name\": \"w\", \"bytes\": 1}]"), "weights[0]: 'users' is missing"},
    {OWN(SIMPLE("a") "," SIMPLE("b"),
         "{\"name\": \"t\", \"bytes\": 1, \"producer\": \"a\", \"readers\": [\"b\"]},"
         "{\"name\": \"u\", \"bytes\": 1, \"producer\": \"b\", \"savers\": [\"a\"]}",
         ""),
     "make a cycle of 2"},
    {"{\"nodes\": [], \"edges\": []}", "'nodes' is empty"},
    {"{\"nodes\": [{\"id\": 1}], \"edges\": []}", "nodes[0]: 'TMPCs' is missing"},
    {"{\"nodes\": [{\"id\": 1, \"TMPCs\": {\"1\": []}}], \"edges\": []}", "TMPCs.1: empty"},
    {"{\"nodes\": [{\"id\": 1, \"TMPCs\": {\"1\": [{\"timePerSample\": -1}]}}], \"edges\": []}",
     "'timePerSample' is negative"},
};

Test(cost_file, json_refuses) {
    for (size_t i = 0; i < sizeof refused_json / sizeof *refused_json; ++i)
        expect_refusal(refused_json[i].text, strlen(refused_json[i].text), refused_json[i].part);
}

Test(cost_file, deep_nesting_is_refused) {
    char text[5000];
    memset(text, '[', sizeof text);
    expect_refusal(text, sizeof text, "nested too deeply");
}

static void expect_same(const ons_workload *a, const ons_workload *b, const char *what) {
    cr_assert(a->node_count == b->node_count && a->tensor_count == b->tensor_count &&
                  a->weight_count == b->weight_count && a->layer_count == b->layer_count && a->samples == b->samples,
              "%s", what);
    for (uint32_t i = 0; i < a->node_count; ++i) {
        const ons_work_node *x = &a->nodes[i], *y = &b->nodes[i];
        cr_assert_str_eq(x->name, y->name, "%s", what);
        cr_assert(x->forward_seconds == y->forward_seconds && x->input_gradient_seconds == y->input_gradient_seconds &&
                      x->weight_gradient_seconds == y->weight_gradient_seconds && x->layer == y->layer &&
                      x->update_seconds == y->update_seconds && x->forward_bytes == y->forward_bytes &&
                      x->backward_bytes == y->backward_bytes && x->recomputable == y->recomputable,
                  "%s: node %u", what, i);
    }
    for (uint32_t i = 0; i < a->tensor_count; ++i) {
        const ons_work_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        cr_assert(x->bytes == y->bytes && x->gradient_bytes == y->gradient_bytes && x->producer == y->producer &&
                      x->reader_count == y->reader_count && x->saver_count == y->saver_count,
                  "%s: tensor %u", what, i);
        for (uint32_t r = 0; r < x->reader_count; ++r) cr_assert_eq(x->readers[r], y->readers[r], "%s", what);
        for (uint32_t r = 0; r < x->saver_count; ++r) cr_assert_eq(x->savers[r], y->savers[r], "%s", what);
    }
    for (uint32_t i = 0; i <= a->node_count; ++i)
        cr_assert(ons_work_cut_bytes(a, i) == ons_work_cut_bytes(b, i), "%s: cut %u", what, i);
}

Test(cost_file, what_is_printed_reads_back) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        random_work_options options = random_work_graph(seed, 5 + (uint32_t)seed);
        ons_workload made, work, again;
        uint32_t *order;
        char *text;
        expect_success(random_work_make(&options, arena, &made));
        expect_success(ons_work_order(&made, ONS_ORDER_DEPTH, 0, arena, &order));
        expect_success(ons_work_reorder(&made, order, arena, &work));
        expect_success(ons_cost_file_print(&work, &text));
        ons_status *status = ons_cost_file_parse(text, strlen(text), NULL, arena, &again);
        free(text);
        expect_success(status);
        expect_same(&work, &again, made.name);
    }
}

/* ------------------------------------------------------------------------------------------------------- real files */

static ons_workload load(const char *name, ons_order_kind order, uint32_t stages) {
    ons_workload work;
    const char *path = ons_arena_format(arena, "examples/data/profiles/%s", name);
    expect_success(ons_cost_file_load(path, &(ons_cost_file_options){order, stages}, arena, &work));
    cr_expect_str_eq(work.name, path);
    return work;
}

/* The slowest of as many stages when each takes what it can: the exact bottleneck of a chain with free links. */
static double bottleneck(const ons_workload *w, uint32_t stages) {
    double low = 0, high = ons_work_seconds(w, 0, w->node_count);
    for (int i = 0; i < 100; ++i) {
        double most = low + (high - low) / 2, load = 0, slowest = 0;
        uint32_t used = 1;
        for (uint32_t n = 0; n < w->node_count; ++n) {
            double seconds = ons_work_seconds(w, n, n + 1);
            if (load + seconds > most) {
                ++used;
                load = 0;
            }
            load += seconds;
            slowest = fmax(slowest, load);
        }
        if (used <= stages && slowest <= most)
            high = slowest;
        else
            low = most;
    }
    return high;
}

/* Figures of PipeDream's own planner (straight pipeline, no transfers), measured. On inception_v3 it does not end:
 * there it is the optimum, from our search without a limit on the sets that it follows. */
static const struct pipedream_figure {
    const char *file;
    uint32_t nodes;
    double seconds[3]; /* 2, 4, 8 stages */
} figures[] = {
    {"pipedream/alexnet.txt", 23, {.043075, .028721, .028721}},
    {"pipedream/resnet18.txt", 71, {.130199, .069523, .035207}},
    {"pipedream/squeezenet1_0.txt", 68, {.144143, .072954, .051094}},
    {"pipedream/gnmt.txt", 48, {.045936, .025868, .019032}},
    {"pipedream/resnet50.txt", 177, {.221933, .111497, .056684}},
    {"pipedream/densenet121.txt", 429, {.163085, .081985, .041615}},
    {"pipedream/inception_v3.txt", 326, {.344659, .177874, .091970}},
};

Test(cost_file, packed_order_is_no_worse_than_pipedreams_planner) {
    for (size_t i = 0; i < sizeof figures / sizeof *figures; ++i)
        for (int power = 0; power < 3; ++power) {
            uint32_t stages = 2u << power;
            ons_workload packed = load(figures[i].file, ONS_ORDER_PACKED, stages);
            cr_assert_eq(packed.node_count, figures[i].nodes);
            double reached = bottleneck(&packed, stages), given = figures[i].seconds[power];
            for (ons_order_kind order = 0; order < ONS_ORDER_PACKED; ++order) {
                ons_workload other = load(figures[i].file, order, stages);
                cr_expect(reached <= bottleneck(&other, stages) * (1 + 1e-9), "%s, %u stages: worse than %s",
                          figures[i].file, stages, ons_order_name(order));
            }
            cr_expect(reached <= given * (1 + 1e-9), "%s, %u stages: %.9f, not %.9f", figures[i].file, stages, reached,
                      given);
        }
}

Test(cost_file, piper) {
    ons_workload w = load("piper/bert32a100.json", ONS_ORDER_DEPTH, 0);
    cr_assert_eq(w.node_count, 37);
    cr_expect_float_eq(ons_work_seconds(&w, 0, w.node_count), 0.972864, 1e-9);
    int64_t weights = 0, saved = 0;
    for (uint32_t i = 0; i < w.weight_count; ++i)
        weights += w.weights[i].bytes + w.weights[i].gradient_bytes + w.weights[i].state_bytes;
    for (uint32_t i = 0; i < w.tensor_count; ++i) saved += w.tensors[i].saver_count > 0 ? w.tensors[i].bytes : 0;
    ons_stage_memory memory;
    ons_work_stage_memory(&w, 0, w.node_count, &(ons_stage_load){.in_flight = 3, .versions = 1, .accumulates = true},
                          &memory);
    cr_expect_eq(memory.weights + memory.gradients + memory.states, weights);
    cr_expect_eq(memory.stash, 2 * saved);
    ons_workload gnmt = load("piper/gnmt.json", ONS_ORDER_DEPTH, 0);
    cr_assert_eq(gnmt.node_count, 78);
}

/* ----------------------------------------------------------------------------------------------------------- orders */

static void expect_legal(const ons_workload *w, const uint32_t *order, const char *what) {
    uint32_t *position = calloc(w->node_count, sizeof *position);
    bool *seen = calloc(w->node_count, sizeof *seen);
    for (uint32_t i = 0; i < w->node_count; ++i) {
        cr_assert(order[i] < w->node_count && !seen[order[i]], "%s: position %u", what, i);
        seen[order[i]] = true;
        position[order[i]] = i;
    }
    for (uint32_t i = 0; i < w->tensor_count; ++i) {
        const ons_work_tensor *t = &w->tensors[i];
        for (uint32_t r = 0; t->producer != ONS_NO_NODE && r < t->reader_count; ++r)
            cr_assert(position[t->readers[r]] > position[t->producer], "%s: tensor %u", what, i);
    }
    free(position);
    free(seen);
}

Test(cost_file, orders_are_legal_and_packed_is_best) {
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        random_work_options options = random_work_graph(seed, 2 + (uint32_t)seed);
        options.branches = options.skips = 0.5;
        options.heavy_tailed = seed % 2 == 0;
        ons_workload work, moved;
        double best = INFINITY, packed = 0;
        uint32_t stages = 2 + (uint32_t)seed % 5;
        expect_success(random_work_make(&options, arena, &work));
        for (ons_order_kind order = 0; order < ONS_ORDER_COUNT; ++order) {
            uint32_t *nodes;
            expect_success(ons_work_order(&work, order, stages, arena, &nodes));
            expect_legal(&work, nodes, work.name);
            expect_success(ons_work_reorder(&work, nodes, arena, &moved));
            packed = bottleneck(&moved, stages); /* packed comes last */
            best = fmin(best, packed);
        }
        cr_expect(packed <= best * (1 + 1e-9), "%s: %g, not %g", work.name, packed, best);
    }
}

/* All orders of a small graph, by trying every node next. */
static double best_of_all(const ons_workload *w, uint32_t taken, uint32_t left, double load, double slowest,
                          uint32_t stages) {
    if (taken == (1u << w->node_count) - 1) return slowest;
    double best = INFINITY;
    for (uint32_t n = 0; n < w->node_count; ++n) {
        if ((taken >> n & 1) != 0) continue;
        bool ready = true;
        for (uint32_t i = 0; i < w->tensor_count; ++i) {
            const ons_work_tensor *t = &w->tensors[i];
            for (uint32_t r = 0; t->producer != ONS_NO_NODE && r < t->reader_count; ++r)
                if (t->readers[r] == n && (taken >> t->producer & 1) == 0) ready = false;
        }
        if (!ready) continue;
        double seconds = ons_work_seconds(w, n, n + 1);
        best = fmin(best, best_of_all(w, taken | 1u << n, left, load + seconds, fmax(slowest, load + seconds), stages));
        if (left > 1)
            best = fmin(best, best_of_all(w, taken | 1u << n, left - 1, seconds, fmax(slowest, seconds), stages));
    }
    return best;
}

Test(cost_file, packed_is_exact_on_small_graphs) {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        random_source random = {seed};
        uint32_t count = 4 + random_below(&random, 4), stages = 2 + random_below(&random, 2);
        char text[4000] = "";
        for (uint32_t i = 0; i < count; ++i)
            snprintf(text + strlen(text), sizeof text - strlen(text), NODE("n%u", "x", "%.3f", "0", "1", "0"), i,
                     random_between(&random, 1, 10, seed % 2 == 0));
        for (uint32_t to = 1; to < count; ++to)
            for (uint32_t from = 0; from < to; ++from)
                if (random_chance(&random, 0.3))
                    snprintf(text + strlen(text), sizeof text - strlen(text), EDGE("n%u", "n%u"), from, to);
        ons_workload w = parse(text, ONS_ORDER_PACKED, stages);
        double exact = best_of_all(&w, 0, stages, 0, 0, stages), packed = bottleneck(&w, stages);
        cr_expect(fabs(packed - exact) <= 1e-9 * exact, "seed %u: %g, not %g", seed, packed, exact);
    }
}

Test(cost_file, long_chains_and_wide_graphs_end) {
    enum { NODES = 20000 };
    char *text = calloc(NODES, 160);
    size_t used = 0;
    for (int i = 0; i < NODES; ++i)
        used += (size_t)snprintf(text + used, 120, NODE("n%d", "x", "%d", "1", "1", "1"), i, i % 7);
    for (int i = 1; i < NODES; ++i) /* a chain whose first tenth hangs on the first node */
        used += (size_t)snprintf(text + used, 120, EDGE("n%d", "n%d"), i < NODES / 10 ? 0 : i - 1, i);
    for (ons_order_kind order = 0; order < ONS_ORDER_COUNT; ++order) {
        ons_workload work = parse(text, order, 8);
        cr_expect_eq(work.node_count, NODES);
    }
    free(text);
}
