/* What keeps stages from running together is found before they run: passes that are right succeed, and with one thing
 * broken at random they do not. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "engine/stages/local_stages.h"
#include "runtime/verify/verify_stages.h"
#include "tests/rooms/pipeline/pipeline_run.h"

enum { STAGES_MAX = 8, ROUNDS = 20 };

/* Copies of what a verifier looks at, to be broken; graphs and layouts are those of the run. */
typedef struct pass {
    ons_arena *arena;
    uint32_t stages, micro_batches;
    bool asynchronous;
    ons_cut_stage cuts[STAGES_MAX];
    ons_stage_program programs[STAGES_MAX];
    ons_action_list *lists;
    uint64_t random;
} pass;

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static uint32_t draw(pass *f, uint32_t below) {
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return below == 0 ? 0 : (uint32_t)((f->random >> 33) % below);
}

static void *copy(const pass *f, const void *from, size_t bytes) {
    void *to = ons_arena_allocate(f->arena, bytes + 1, 1);
    cr_assert_not_null(to);
    if (bytes > 0) memcpy(to, from, bytes);
    return to;
}

static pass take(const ons_local_stages *local_stages, const ons_pipeline *pipeline, uint64_t seed) {
    pass f = {.arena = ons_arena_new(), .stages = pipeline->stages, .random = seed};
    f.micro_batches = pipeline->micro_batches;
    f.asynchronous = ons_pipeline_is_asynchronous(pipeline);
    ons_schedule schedule;
    must(ons_schedule_make(pipeline, f.arena, &schedule));
    f.lists = schedule.lists;
    for (uint32_t i = 0; i < f.stages; ++i) {
        const ons_stage_program *s = &ons_local_stages_get(local_stages, i)->training.programs[ONS_WHOLE].stage;
        uint32_t sync_points = s->sync_point_end[ONS_PART_END], hazards = s->cut->send_count + s->cut->swap_count;
        f.cuts[i] = *s->cut;
        f.cuts[i].sends = copy(&f, s->cut->sends, s->cut->send_count * sizeof *s->cut->sends);
        f.cuts[i].receives = copy(&f, s->cut->receives, s->cut->receive_count * sizeof *s->cut->receives);
        f.programs[i] = *s;
        f.programs[i].rings = copy(&f, s->rings, s->cut->receive_count * sizeof *s->rings);
        f.programs[i].sync_points = copy(&f, s->sync_points, sync_points * sizeof *s->sync_points);
        f.programs[i].sync_point_end = copy(&f, s->sync_point_end, ONS_PART_KINDS * sizeof *s->sync_point_end);
        f.programs[i].hazards = copy(&f, s->hazards, hazards * sizeof *s->hazards);
    }
    return f;
}

/* `programs` must live as long as the options are used. */
static ons_verify_options options_of(pass *f, const ons_stage_program *programs[static STAGES_MAX]) {
    for (uint32_t i = 0; i < f->stages; ++i) {
        f->programs[i].cut = &f->cuts[i];
        programs[i] = &f->programs[i];
    }
    return (ons_verify_options){
        .stages = f->stages,
        .programs = programs,
        .lists = f->lists,
        .micro_batches = f->micro_batches,
        .updates = true,
        .asynchronous = f->asynchronous,
    };
}

static ons_status *verify(pass *f) {
    const ons_stage_program *programs[STAGES_MAX];
    ons_verify_options options = options_of(f, programs);
    return ons_verify_stages(&options);
}

/* ----------------------------------------------------------------------------------------------------------- damage */

/* Each function breaks one thing of a stage; false: the stage has nothing of the kind. */

static bool drop_send(pass *f, uint32_t stage) {
    ons_cut_stage *cut = &f->cuts[stage];
    if (cut->send_count == 0) return false;
    uint32_t at = draw(f, cut->send_count--);
    memmove(cut->sends + at, cut->sends + at + 1, (cut->send_count - at) * sizeof *cut->sends);
    return true;
}

static bool drop_receive(pass *f, uint32_t stage) {
    ons_cut_stage *cut = &f->cuts[stage];
    if (cut->receive_count == 0) return false;
    uint32_t at = draw(f, cut->receive_count--);
    memmove(cut->receives + at, cut->receives + at + 1, (cut->receive_count - at) * sizeof *cut->receives);
    return true;
}

/* Two values for the same stage in the same part. */
static bool swap_sends(pass *f, uint32_t stage) {
    ons_cut_stage *cut = &f->cuts[stage];
    for (uint32_t i = 0; i + 1 < cut->send_count; ++i) {
        ons_cut_transfer *a = &cut->sends[i], *b = &cut->sends[i + 1], first = *a;
        if (a->peer != b->peer || a->part != b->part) continue;
        *a = *b;
        *b = first;
        return true;
    }
    return false;
}

static bool leave_no_place(pass *f, uint32_t stage) {
    if (f->cuts[stage].receive_count == 0) return false;
    f->programs[stage].rings[draw(f, f->cuts[stage].receive_count)] = 0;
    return true;
}

/* Of the marks that are, or are not, waits for a copy whose place is taken. */
static bool drop_one(pass *f, uint32_t stage, bool gone) {
    ons_stage_program *s = &f->programs[stage];
    uint32_t sync_points = s->sync_point_end[ONS_PART_END], at = sync_points == 0 ? 0 : draw(f, sync_points), tried = 0;
    for (; tried < sync_points && (s->sync_points[at].kind == ONS_SYNC_GONE) != gone; ++tried)
        at = (at + 1) % sync_points;
    if (tried == sync_points) return false;
    memmove(s->sync_points + at, s->sync_points + at + 1, (sync_points - at - 1) * sizeof *s->sync_points);
    for (ons_part part = ONS_PART_BEGIN; part < ONS_PART_KINDS; ++part)
        s->sync_point_end[part] -= at < s->sync_point_end[part];
    return true;
}

static bool drop_sync_point(pass *f, uint32_t stage) { return drop_one(f, stage, false); }
static bool drop_wait(pass *f, uint32_t stage) { return drop_one(f, stage, true); }

/* The first mark of this kind in the part gets the position. */
static ons_sync_point *find_sync_point(pass *f, uint32_t stage, ons_sync_kind kind, ons_part part) {
    ons_stage_program *s = &f->programs[stage];
    for (uint32_t i = part == ONS_PART_BEGIN ? 0 : s->sync_point_end[part - 1]; i < s->sync_point_end[part]; ++i)
        if (s->sync_points[i].kind == kind) return &s->sync_points[i];
    return NULL;
}

/* A value goes on its way before it is made. */
static bool send_early(pass *f, uint32_t stage) {
    ons_sync_point *sync_point = find_sync_point(f, stage, ONS_SYNC_SEND, ONS_PART_FORWARD);
    if (sync_point == NULL ||
        sync_point != &f->programs[stage].sync_points[f->programs[stage].sync_point_end[ONS_PART_BEGIN]])
        return false;
    sync_point->position = f->cuts[stage].end[ONS_PART_BEGIN];
    return true;
}

/* A place is given back before its last reader has run. */
static bool release_early(pass *f, uint32_t stage) {
    ons_sync_point *sync_point = find_sync_point(f, stage, ONS_SYNC_RELEASE, ONS_PART_BACKWARD);
    if (sync_point == NULL || sync_point->position == f->cuts[stage].end[ONS_PART_FORWARD]) return false;
    ons_sync_point moved = *sync_point,
                   *first = &f->programs[stage].sync_points[f->programs[stage].sync_point_end[ONS_PART_FORWARD]];
    memmove(first + 1, first, (size_t)(sync_point - first) * sizeof *first);
    *first = moved;
    first->position = f->cuts[stage].end[ONS_PART_FORWARD];
    return true;
}

static bool update_before_last_gradient(pass *f, uint32_t stage) {
    ons_action_list *list = &f->lists[stage];
    ons_action *last = &list->items[list->count - 1], moved = *last;
    if (list->count < 2 || moved.kind != ONS_ACTION_UPDATE) return false;
    *last = last[-1];
    last[-1] = moved;
    return true;
}

static bool forward_twice(pass *f, uint32_t stage) {
    ons_action_list *list = &f->lists[stage];
    for (uint32_t i = 0; i < list->count; ++i)
        if (list->items[i].kind == ONS_ACTION_FORWARD && list->items[i].micro_batch > 0) {
            --list->items[i].micro_batch;
            return true;
        }
    return false;
}

/* The first stage wants its gradients before it sends the next activations, which the last stage wants first. */
static bool wait_for_each_other(pass *f, uint32_t stage) {
    if (stage > 0 || f->stages == 1 || f->micro_batches < 2) return false;
    ons_action_list *first = &f->lists[0], *last = &f->lists[f->stages - 1];
    for (uint32_t i = 0; i < 2 * f->micro_batches; ++i) {
        first->items[i] =
            (ons_action){.kind = i % 2 == 0 ? ONS_ACTION_FORWARD : ONS_ACTION_BACKWARD, .micro_batch = i / 2};
        last->items[i] = (ons_action){.kind = i < f->micro_batches ? ONS_ACTION_FORWARD : ONS_ACTION_BACKWARD,
                                      .stage = f->stages - 1,
                                      .micro_batch = i % f->micro_batches};
    }
    return true;
}

static const struct damage {
    const char *name;
    bool (*apply)(pass *f, uint32_t stage);
    const char *says; /* NULL: anything */
} damages[] = {
    {"a dropped send", drop_send, NULL},
    {"a dropped receive", drop_receive, "receive"},
    {"sends in another order", swap_sends, "receives"},
    {"no place for a message", leave_no_place, "no place"},
    {"a dropped mark", drop_sync_point, "marks"},
    {"a dropped wait for a copy", drop_wait, "on its way"},
    {"a value that leaves before it is made", send_early, "is not there"},
    {"a place given back too early", release_early, NULL},
    {"an update before the last gradient", update_before_last_gradient, "does not follow"},
    {"a forward part twice", forward_twice, "comes twice"},
    {"stages that wait for each other", wait_for_each_other, "deadlock: stage"},
};
enum { DAMAGES = sizeof damages / sizeof *damages };

/* ------------------------------------------------------------------------------------------------------------ tests */

static int applied[DAMAGES];

static void must_be_found(ons_status *status, const char *name, const char *says, uint64_t seed) {
    const char *message = ons_status_get_message(status);
    cr_assert_eq(ons_status_get_code(status), ONS_DEFECT, "%s is not found, seed %llu: %s", name,
                 (unsigned long long)seed, message);
    cr_assert(says == NULL || strstr(message, says) != NULL, "%s, seed %llu: '%s' does not say '%s'", name,
              (unsigned long long)seed, message, says);
    cr_assert_not_null(strstr(message, "stage"), "%s: '%s' names no stage", name, message);
    ons_status_free(status);
}

static void try_damages(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    for (int i = 0; i < DAMAGES; ++i)
        for (uint64_t round = 0; round < ROUNDS; ++round) {
            pass f = take(local_stages, pipeline, *seed + round);
            if (round == 0) must(verify(&f));
            if (damages[i].apply(&f, draw(&f, f.stages))) {
                must_be_found(verify(&f), damages[i].name, damages[i].says, *seed + round);
                ++applied[i];
            }
            ons_arena_free(f.arena);
        }
}

static void try_setting(pipeline_setting s, void (*look)(void *, const ons_local_stages *, const ons_pipeline *)) {
    pipeline_record record;
    s.look = look;
    s.context = &s.seed;
    s.threads = 1;
    must(pipeline_run(&s, &record));
    pipeline_record_free(&record);
}

Test(verify, what_is_broken_is_found) {
    static const char *const models[] = {"mlp", "lenet", "gpt_tied", "resnet18"};
    for (uint64_t seed = 1; seed <= 8; ++seed)
        try_setting(
            (pipeline_setting){
                .model = models[seed % 4],
                .micro_batches = 1 + (uint32_t)seed % 4,
                .stages = 2 + (uint32_t)seed % 3,
                .kind = seed % 2 == 0 ? &ons_generator_gpipe : &ons_generator_one_f_one_b,
                .eviction = seed % 3 == 0 ? PIPELINE_SWAPS_AND_RECOMPUTES : PIPELINE_KEEPS,
                .seed = seed * 100,
            },
            try_damages);
    for (int i = 0; i < DAMAGES; ++i) cr_assert_gt(applied[i], 0, "%s was not tried", damages[i].name);
}

/* A message has another type at the one end. */
static void try_types(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    pass f = take(local_stages, pipeline, *seed);
    for (uint32_t i = 0; i < f.stages; ++i)
        for (uint32_t k = 0; k < f.cuts[i].receive_count; ++k) {
            ons_type *type = &ons_graph_value(f.cuts[i].graph, f.cuts[i].receives[k].value)->type, before = *type;
            type->dtype = type->dtype == ONS_FLOAT32 ? ONS_INT32 : ONS_FLOAT32;
            must_be_found(verify(&f), "another type", "another type", *seed);
            *type = before;
        }
    must(verify(&f));
    ons_arena_free(f.arena);
}

/* Two inputs of a node lie in one place. */
static void try_places(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    pass f = take(local_stages, pipeline, *seed);
    int tried = 0;
    for (uint32_t i = 0; i < f.stages; ++i) {
        const ons_liveness *l = ons_program_liveness(f.programs[i].program);
        int64_t *offsets = ons_program_layout(f.programs[i].program)->offsets;
        for (ons_node_id id = 0; id < f.cuts[i].end[ONS_PART_END]; ++id) {
            const ons_node *node = ons_graph_node(f.cuts[i].graph, id);
            if (node->input_count < 2 || node->inputs[0] == ONS_NONE || node->inputs[1] == ONS_NONE) continue;
            ons_buffer_id a = l->buffer_of_value[node->inputs[0]], b = l->buffer_of_value[node->inputs[1]];
            if (a == ONS_NONE || b == ONS_NONE || a == b || offsets[a] < 0 || offsets[b] < 0) continue;
            int64_t before = offsets[a];
            offsets[a] = offsets[b];
            must_be_found(verify(&f), "two values in one place", NULL, *seed);
            offsets[a] = before;
            ++tried;
        }
    }
    must(verify(&f));
    cr_assert_gt(tried, 0);
    ons_arena_free(f.arena);
}

Test(verify, types_of_both_ends_agree) {
    try_setting((pipeline_setting){.model = "lenet", .micro_batches = 2, .stages = 3, .seed = 5}, try_types);
}

Test(verify, values_that_are_alive_do_not_overlap) {
    try_setting((pipeline_setting){.model = "resnet18", .micro_batches = 2, .stages = 2, .seed = 5}, try_places);
    try_setting((pipeline_setting){.model = "gpt_tied",
                                   .micro_batches = 3,
                                   .stages = 3,
                                   .kind = &ons_generator_one_f_one_b,
                                   .eviction = PIPELINE_SWAPS,
                                   .seed = 6},
                try_places);
}

/* ---------------------------------------------------------------------------------------------- versions, inference */

/* With one place less the weights of a micro-batch are gone before its backward part. */
static void try_versions(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    pass f = take(local_stages, pipeline, *seed);
    int tried = 0;
    must(verify(&f));
    for (uint32_t i = 0; i < f.stages; ++i) {
        if (f.programs[i].versions == 1) continue;
        --f.programs[i].versions;
        must_be_found(verify(&f), "one version too few", "wants the weights after", *seed);
        ++f.programs[i].versions;
        ++tried;
    }
    cr_assert_gt(tried, 0);
    ons_arena_free(f.arena);
}

Test(verify, a_micro_batch_finds_its_weights) {
    for (uint64_t seed = 1; seed <= 4; ++seed)
        try_setting(
            (pipeline_setting){
                .model = seed % 2 == 0 ? "mlp" : "lenet",
                .micro_batches = 3 + (uint32_t)seed,
                .stages = 1 + (uint32_t)seed,
                .kind = &ons_generator_pipedream,
                .seed = seed,
            },
            try_versions);
}

/* An inference has no backward parts: whoever waits for what they send waits for ever. */
static void try_inference(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    const ons_stage_program *programs[STAGES_MAX];
    pass f = take(local_stages, pipeline, *seed);
    ons_verify_options options = options_of(&f, programs);
    options.inference = true;
    options.updates = false;
    must_be_found(ons_verify_stages(&options), "training as inference", "forward parts", *seed);
    for (uint32_t i = 0; i < f.stages; ++i) {
        for (uint32_t k = 0; k < f.micro_batches; ++k)
            f.lists[i].items[k] = (ons_action){.kind = ONS_ACTION_FORWARD, .stage = i, .micro_batch = k};
        f.lists[i].count = f.micro_batches;
    }
    must_be_found(ons_verify_stages(&options), "inference that is sent backwards", "deadlock", *seed);
    ons_arena_free(f.arena);
}

Test(verify, an_inference_waits_for_nothing_that_goes_backwards) {
    try_setting((pipeline_setting){.model = "lenet", .micro_batches = 3, .stages = 3, .seed = 7}, try_inference);
}

/* ---------------------------------------------------------------------------------------------------------- telling */

/* What another process tells may be of another version of the program, or anything: it is refused, or does no harm. */
static void try_telling(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    const ons_stage_program *programs[STAGES_MAX];
    ons_verify_bytes manifests[STAGES_MAX] = {{0}};
    pass f = take(local_stages, pipeline, *seed);
    ons_verify_options options = options_of(&f, programs);
    for (int passes = 0; passes < 2; ++passes)
        for (uint32_t i = 0; i < f.stages; ++i) must(ons_verify_stage(&options, i, &manifests[i]));
    must(ons_verify_manifests(f.stages, manifests));
    for (int round = 0; round < 2000; ++round) {
        ons_verify_bytes *one = &manifests[draw(&f, f.stages)];
        uint32_t at = draw(&f, (uint32_t)one->count);
        unsigned char before = one->items[at];
        one->items[at] ^= (unsigned char)(1 + draw(&f, 255));
        ons_status_free(ons_verify_manifests(f.stages, manifests));
        one->items[at] = before;
    }
    manifests[1].count -= 8;
    must_be_found(ons_verify_manifests(f.stages, manifests), "half a message", "does not tell", *seed);
    for (uint32_t i = 0; i < f.stages; ++i) ons_vector_free(&manifests[i]);
    ons_arena_free(f.arena);
}

Test(verify, anything_may_be_told) {
    try_setting((pipeline_setting){.model = "gpt_tied", .micro_batches = 2, .stages = 3, .seed = 8}, try_telling);
}

static int copies_awaited;

/* A view writes nothing, so it waits for no copy of what it looks at. */
static void try_views(void *context, const ons_local_stages *local_stages, const ons_pipeline *pipeline) {
    const uint64_t *seed = context;
    for (uint32_t i = 0; i < pipeline->stages; ++i) {
        const ons_stage_program *s = &ons_local_stages_get(local_stages, i)->training.programs[ONS_WHOLE].stage;
        for (uint32_t k = 0; k < s->sync_point_end[ONS_PART_END]; ++k) {
            if (s->sync_points[k].kind != ONS_SYNC_GONE) continue;
            const ons_node *node = ons_graph_node(s->cut->graph, s->sync_points[k].position);
            cr_expect_neq(node->op->aliases[0].kind, ONS_ALIAS_VIEW, "seed %" PRIu64 ": '%s' waits", *seed, node->name);
            ++copies_awaited;
        }
    }
}

Test(verify, views_wait_for_no_copy) {
    static const char *const models[] = {"gpt_tied", "gpt_decomposed", "dynamo_gpt"};
    for (uint64_t seed = 1; seed <= 6; ++seed)
        try_setting(
            (pipeline_setting){
                .model = models[seed % 3], .micro_batches = 2, .stages = 2, .eviction = PIPELINE_SWAPS, .seed = seed},
            try_views);
    cr_expect_gt(copies_awaited, 0);
}
