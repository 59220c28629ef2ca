/* Random training graphs with random cuts and random decisions, run by workers over the local transport: the bits of
 * the whole graph in one stage, and asynchronously those of sequential training with delayed gradients. Memory is
 * poisoned before each step and must be as large as predicted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/pipeline/worker.h"
#include "runtime/verify/verify_stages.h"
#include "tests/rooms/graph/cut_random.h"
#include "tests/rooms/pipeline/delayed.h"
#include "tests/rooms/pipeline/guarded.h"

enum { STAGES_MAX = 8, STEPS = 3, MICRO_BATCHES_MAX = 6 };

typedef struct stage {
    ons_device_context *device_context;
    ons_stage_program program;
    ons_transport *transport;
    ons_worker *worker;
    ons_pipeline_pass pass;
    uint32_t number;
    /* asynchronous: what the weights of micro-batches in flight were when they went forward */
    uint64_t weights_of[MICRO_BATCHES_MAX];
    bool flying[MICRO_BATCHES_MAX];
    uint32_t live; /* different ones at once, at most */
    bool changed;  /* a backward part has found others than its forward part */
} stage;

typedef struct pipeline {
    const cut_random *m;
    const ons_cut *cut;
    ons_pipeline kind;
    uint64_t seed;
    ons_schedule schedule;
    stage stages[STAGES_MAX];
} pipeline;

/* Weights, states and statistics, by their order in the whole graph. */
typedef struct outcome {
    unsigned char *bytes;
    size_t size;
} outcome;

static const char *where; /* for messages */

static bool is_asynchronous(const pipeline *p) { return ons_pipeline_is_asynchronous(&p->kind); }

static void ok(ons_status *status) { cr_assert_null(status, "%s: %s", where, ons_status_get_message(status)); }

/* --------------------------------------------------------------------------------------------------------- building */

static void build_stage(pipeline *p, uint32_t number) {
    stage *s = &p->stages[number];
    ons_device *device;
    ons_value_id kept[CUT_RANDOM_KEPT];
    const ons_cut_stage *cut = &p->cut->stages[number];
    for (uint32_t i = 0; i < p->m->kept_count; ++i) kept[i] = cut->value_of[p->m->kept[i]];
    s->number = number;
    ok(ons_cpu_device_new(0, false, &device));
    ok(ons_device_context_new(device, p->m->s->registry, 1, &s->device_context));
    const ons_stage_program_options options = {
        .cut = cut,
        .registry = p->m->s->registry,
        .repeats = p->m->c.repeats,
        .kept = kept,
        .kept_count = p->m->kept_count,
        .schedule = &p->schedule,
        .device = number,
        .micro_batches = p->kind.micro_batches,
        .versions = p->schedule.loads[number].versions,
    };
    ok(ons_stage_program_make(s->device_context, &options, &s->program));
}

static void verify(const pipeline *p) {
    const ons_stage_program *programs[STAGES_MAX];
    for (uint32_t i = 0; i < p->kind.stages; ++i) programs[i] = &p->stages[i].program;
    const ons_verify_options options = {
        .stages = p->kind.stages,
        .programs = programs,
        .lists = p->schedule.lists,
        .micro_batches = p->kind.micro_batches,
        .updates = true,
        .asynchronous = is_asynchronous(p),
    };
    ok(ons_verify_stages(&options));
}

static void start(pipeline *p) {
    ons_transport *transports[STAGES_MAX] = {NULL};
    ok(ons_schedule_make(&p->kind, p->m->c.arena, &p->schedule));
    for (uint32_t i = 0; i < p->kind.stages; ++i) build_stage(p, i);
    verify(p);
    if (p->kind.stages > 1) ok(ons_local_transports_new(p->kind.stages, transports));
    for (uint32_t i = 0; i < p->kind.stages; ++i) {
        stage *s = &p->stages[i];
        const ons_stage_program *programs[] = {&s->program};
        s->transport = transports[i];
        ok(ons_device_context_start(s->device_context));
        const ons_worker_options options = {
            .device_context = s->device_context,
            .transport = s->transport,
            .stage = i,
            .programs = programs,
            .program_count = 1,
        };
        ok(ons_worker_new(&options, &s->worker));
    }
}

/* ---------------------------------------------------------------------------------------------------------- running */

/* Data of a sample depends on step, micro-batch and name alone. */
static void put_data(const ons_stage_program *program, ons_part part, uint64_t number,
                     const ons_part_place *part_place) {
    const ons_graph *graph = program->cut->graph;
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_value_id id = graph->inputs.items[i];
        if (!ons_stage_program_loads(program, id, part)) continue;
        float *data = ons_program_address_to_write(program->program, id, part_place);
        if (data == NULL) continue;
        uint64_t state = number;
        for (const char *c = ons_graph_value(graph, id)->name; *c != '\0'; ++c) state = state * 31 + (unsigned char)*c;
        for (int64_t k = 0; k < ons_shape_elements(&ons_graph_value(graph, id)->type.shape); ++k)
            data[k] = (float)(next_random(&state) % 4096) / 2048 - 1;
    }
}

static uint64_t data_number(uint64_t step, uint32_t micro_batch) { return step * 100 + micro_batch; }

/* Of all weights that the stage brings up to date. */
static uint64_t fingerprint(const stage *s, const ons_part_place *part_place) {
    const ons_graph *graph = s->program.cut->graph;
    uint64_t hash = ONS_HASH_BASIS;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        if (v->kind != ONS_PARAMETER || v->producer != ONS_NONE) continue;
        const void *bytes = ons_program_address(s->program.program, id, part_place);
        if (bytes != NULL) hash = ons_hash_bytes(hash, bytes, (size_t)ons_type_dense_bytes(&v->type));
    }
    return hash;
}

static void note_forward(stage *s, uint32_t micro_batch, const ons_part_place *part_place) {
    uint32_t live = 0;
    s->weights_of[micro_batch] = fingerprint(s, part_place);
    s->flying[micro_batch] = true;
    for (uint32_t i = 0; i < MICRO_BATCHES_MAX; ++i) {
        bool known = !s->flying[i];
        for (uint32_t k = 0; k < i; ++k) known = known || (s->flying[k] && s->weights_of[k] == s->weights_of[i]);
        live += !known;
    }
    s->live = live > s->live ? live : s->live;
}

static void load(void *context, uint32_t micro_batch, ons_part part, const ons_part_place *part_place) {
    stage *s = context;
    put_data(&s->program, part, data_number(s->pass.step.step, micro_batch), part_place);
    if (s->pass.asynchronous && part == ONS_PART_FORWARD) note_forward(s, micro_batch, part_place);
}

/* Behind a backward part and before its update. */
static void note_backward(void *context, uint32_t micro_batch, const ons_part_place *part_place) {
    stage *s = context;
    s->changed = s->changed || fingerprint(s, part_place) != s->weights_of[micro_batch];
    s->flying[micro_batch] = false;
}

static void check_versions(const pipeline *p) {
    for (uint32_t i = 0; i < p->kind.stages; ++i) {
        const stage *s = &p->stages[i];
        cr_expect_not(s->changed, "%s: stage %u went back with other weights than forward", where, i);
        cr_expect_leq(s->live, p->kind.stages - i, "%s: stage %u has %u versions of weights", where, i, s->live);
    }
}

static void run_step(pipeline *p, uint64_t number) {
    for (uint32_t i = 0; i < p->kind.stages; ++i) {
        stage *s = &p->stages[i];
        ok(guarded_poison(s->device_context));
        s->pass = (ons_pipeline_pass){
            .lineup = {{&s->program, NULL}, 0},
            .actions = p->schedule.lists[i],
            .micro_batches = p->kind.micro_batches,
            .begins = true,
            .updates = true,
            .step = {.seed = 7,
                     .step = number,
                     .learning_rate = 0.01F,
                     .counted_targets = 10,
                     .sample_share = is_asynchronous(p) ? 1 : 1.0 / p->kind.micro_batches},
            .asynchronous = is_asynchronous(p),
            .version = is_asynchronous(p) ? (uint32_t)(number - 1) * p->kind.micro_batches : 0,
            .update = is_asynchronous(p) ? (number - 1) * p->kind.micro_batches + 1 : number,
            .load = load,
            .read = is_asynchronous(p) ? note_backward : NULL,
            .context = s,
        };
    }
    for (uint32_t i = 0; i < p->kind.stages; ++i) ok(ons_worker_launch(p->stages[i].worker, &p->stages[i].pass));
    for (uint32_t i = 0; i < p->kind.stages; ++i) {
        ons_program_fault fault;
        const ons_stage_program *faulty;
        ok(ons_worker_wait(p->stages[i].worker, &fault, &faulty));
        cr_assert_null(fault.fault.problem, "%s: %s", where, fault.fault.problem);
    }
}

static void append(outcome *o, const void *data, size_t bytes) {
    o->bytes = realloc(o->bytes, o->size + bytes + 1);
    memcpy(o->bytes + o->size, data, bytes);
    o->size += bytes;
}

static bool is_collected(const ons_value *v) {
    return v->producer == ONS_NONE && v->kind != ONS_CONSTANT && ons_is_persistent(v);
}

/* Every stage's copy must be the same. */
static void collect(const pipeline *p, outcome *o) {
    const ons_graph *graph = p->m->s->graph;
    for (ons_value_id id = 0; id < graph->values.count; ++id) {
        const ons_value *v = ons_graph_value(graph, id);
        const void *first = NULL;
        size_t bytes = (size_t)ons_type_dense_bytes(&v->type);
        if (!is_collected(v)) continue;
        for (uint32_t i = 0; i < p->kind.stages; ++i) {
            const ons_stage_program *program = &p->stages[i].program;
            const ons_part_place newest = {
                .version = is_asynchronous(p) ? STEPS * p->kind.micro_batches % program->versions : 0,
            };
            ons_value_id own = program->cut->value_of[id];
            if (own == ONS_NONE || ons_device_context_find(p->stages[i].device_context, v->name, NULL) == NULL)
                continue;
            const void *data = ons_program_address(program->program, own, &newest);
            cr_assert(first == NULL || memcmp(first, data, bytes) == 0, "%s: '%s' of stage %u differs from another's",
                      where, v->name, i);
            first = data;
        }
        if (first != NULL) append(o, first, bytes);
    }
}

static void stop(pipeline *p) {
    for (uint32_t i = 0; i < p->kind.stages; ++i) {
        stage *s = &p->stages[i];
        ok(guarded_check(s->device_context));
        ons_worker_free(s->worker);
        ons_device_context_free(s->device_context);
        ons_stage_program_free(&s->program);
    }
    for (uint32_t i = 0; i < p->kind.stages; ++i)
        if (p->stages[i].transport != NULL) p->stages[i].transport->free(p->stages[i].transport);
}

static outcome run(pipeline *p) {
    outcome o = {NULL, 0};
    start(p);
    for (uint64_t step = 1; step <= STEPS; ++step) run_step(p, step);
    collect(p, &o);
    check_versions(p);
    stop(p);
    return o;
}

/* ------------------------------------------------------------------------------------------------------------ cases */

static outcome run_whole(cut_random *m, ons_cut_options options, uint32_t micro_batches) {
    ons_cut cut;
    options.stages = 1;
    memset(m->c.stage_of_node, 0, m->c.graph->nodes.count * sizeof *m->c.stage_of_node);
    ok(ons_cut_make(&options, &cut));
    pipeline p = {.m = m, .cut = &cut, .kind = {&ons_generator_one_f_one_b, 1, micro_batches, 0}};
    outcome o = run(&p);
    ons_cut_free(&cut);
    return o;
}

/* With nodes and decisions drawn from the case's random numbers. */
static ons_cut cut_anyhow(cut_random *m, ons_cut_options options, uint32_t stages) {
    ons_cut plain, cut;
    options.stages = stages;
    cut_random_choose_stages(m, stages);
    ok(ons_cut_make(&options, &plain));
    m->c.evictions = (cut_evictions)cut_case_random(&m->c, 3);
    if (cut_case_random(&m->c, 4) > 0) cut_case_decide(&m->c, &plain, 1 + cut_case_random(&m->c, 3), &options);
    ons_cut_free(&plain);
    ok(ons_cut_make(&options, &cut));
    return cut;
}

static outcome run_cut(const cut_random *m, const ons_cut *cut, const ons_pipeline *kind) {
    pipeline p = {.m = m, .cut = cut, .kind = *kind};
    return run(&p);
}

/* Sequential training with the gradients of `cut`: tests/rooms/pipeline/delayed.h. */
static outcome run_delayed(cut_random *m, ons_cut_options options, const ons_cut *cut, uint32_t micro_batches) {
    ons_cut one;
    outcome o = {NULL, 0};
    delayed *d;
    uint32_t *stage_of_node;
    options.stages = 1;
    memset(m->c.stage_of_node, 0, m->c.graph->nodes.count * sizeof *m->c.stage_of_node);
    ok(ons_cut_make(&options, &one));
    pipeline p = {.m = m, .cut = &one, .kind = {&ons_generator_one_f_one_b, 1, 1, 0}};
    start(&p);
    const ons_stage_program *whole = &p.stages[0].program;
    ok(delayed_find_stages(cut, &one, m->c.arena, &stage_of_node));
    ok(delayed_new(p.stages[0].device_context, whole, cut->stage_count, &d));
    for (uint32_t i = 0; i < STEPS * micro_batches; ++i) {
        const delayed_turn turn = {
            .whole = whole,
            .stage_of_node = stage_of_node,
            .micro_batch = i % micro_batches,
            .step = {.seed = 7,
                     .step = 1 + i / micro_batches,
                     .micro_batch = i % micro_batches,
                     .learning_rate = 0.01F,
                     .counted_targets = 10,
                     .sample_share = 1},
            .update = i + 1,
        };
        for (ons_part part = ONS_PART_FORWARD; part <= ONS_PART_BACKWARD; ++part)
            put_data(whole, part, data_number(turn.step.step, turn.micro_batch), NULL);
        ok(delayed_run(d, &turn));
    }
    collect(&p, &o);
    delayed_free(d);
    stop(&p);
    ons_cut_free(&one);
    return o;
}

static void compare(outcome expected, outcome found) {
    cr_assert(expected.bytes != NULL && found.bytes != NULL, "%s: nothing was computed", where);
    cr_assert(expected.size == found.size && memcmp(expected.bytes, found.bytes, expected.size) == 0, "%s: bits differ",
              where);
}

static ons_cut_options options_of(const cut_random *m) {
    return (ons_cut_options){
        .whole = m->s->graph,
        .registry = m->s->registry,
        .repeats = m->c.repeats,
        .stage_of_node = m->c.stage_of_node,
        .kept = m->kept,
        .kept_count = m->kept_count,
    };
}

static void try_graph(uint64_t seed) {
    char text[64];
    cut_random m = cut_random_open(seed);
    uint32_t micro_batches = m.c.repeats ? 2 + cut_case_random(&m.c, MICRO_BATCHES_MAX - 1) : 1;
    const ons_cut_options options = options_of(&m);
    snprintf(text, sizeof text, "seed %llu, whole", (unsigned long long)seed);
    where = text;
    outcome whole = run_whole(&m, options, micro_batches);
    for (int round = 0; round < 2; ++round) {
        const ons_pipeline kind = {round == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b,
                                   1 + cut_case_random(&m.c, STAGES_MAX), micro_batches, 0, 1};
        snprintf(text, sizeof text, "seed %llu, %u stages, %s", (unsigned long long)seed, kind.stages,
                 kind.generator->name);
        ons_cut cut = cut_anyhow(&m, options, kind.stages);
        outcome found = run_cut(&m, &cut, &kind);
        compare(whole, found);
        free(found.bytes);
        ons_cut_free(&cut);
    }
    free(whole.bytes);
    cut_random_close(&m);
}

/* Every micro-batch is an update: graphs that do not add up gradients over them. */
static void try_asynchronous(uint64_t seed) {
    char text[64];
    cut_random m = cut_random_open(seed);
    const ons_pipeline kind = {&ons_generator_pipedream, 2 + cut_case_random(&m.c, 3),
                               1 + cut_case_random(&m.c, MICRO_BATCHES_MAX), 0, 1};
    snprintf(text, sizeof text, "seed %llu, asynchronous, %u stages, %u micro-batches", (unsigned long long)seed,
             kind.stages, kind.micro_batches);
    where = text;
    if (!m.c.repeats) {
        const ons_cut_options options = options_of(&m);
        ons_cut cut = cut_anyhow(&m, options, kind.stages);
        outcome found = run_cut(&m, &cut, &kind), expected = run_delayed(&m, options, &cut, kind.micro_batches);
        compare(expected, found);
        free(found.bytes);
        free(expected.bytes);
        ons_cut_free(&cut);
    }
    cut_random_close(&m);
}

/* ONSTAGE_TEST_SEEDS=A:B tries those instead. */
static void try_seeds(void (*try_one)(uint64_t seed), unsigned long long first, unsigned long long last) {
    const char *seeds = getenv("ONSTAGE_TEST_SEEDS");
    if (seeds != NULL) cr_assert_eq(sscanf(seeds, "%llu:%llu", &first, &last), 2);
    for (uint64_t seed = first; seed <= last; ++seed) try_one(seed);
}

Test(random, cuts_have_the_bits_of_the_whole_graph) { try_seeds(try_graph, 1, 60); }

/* A third of the graphs is tried. */
Test(random, asynchronous_cuts_have_the_bits_of_delayed_gradients) { try_seeds(try_asynchronous, 1, 180); }
