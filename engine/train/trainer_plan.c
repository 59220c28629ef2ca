/* The plan of a run and the stages made by it: as a plan's file says, as one stage, or searched for until the arenas
 * are within --memory. Rank 0 searches; every process cuts the whole graph by its plan. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/config/plan_libraries.h"
#include "engine/model/loss_division.h"
#include "engine/plan/arena_search.h"
#include "engine/plan/problem.h"
#include "engine/train/trainer.h"
#include "planner/plan/plan_check.h"

static void drop_local_stages(ons_trainer *t) {
    ons_local_stages_free(t->local_stages);
    t->local_stages = NULL;
    ons_dataset_graphs_drop_cuts(&t->training);
    ons_dataset_graphs_drop_cuts(&t->validation);
}

/* Without a plan there is one stage. */
static ons_status *find_schedule(ons_trainer *t, ons_pipeline *pipeline, const ons_schedule **schedule) {
    if (t->lowering.planned) {
        *pipeline = t->lowering.pipeline;
        pipeline->replicas = (uint32_t)t->batching.replicas;
        *schedule = &t->lowering.lanes.schedule;
        return NULL;
    }
    ons_schedule *made;
    *pipeline = ons_pipeline_of_one_stage(ons_config_is_asynchronous(t->config), (uint32_t)t->batching.micro_batches);
    ONS_NEW(made, t->arena, 1);
    pipeline->replicas = (uint32_t)t->batching.replicas;
    *schedule = made;
    return ons_schedule_make(pipeline, t->arena, made);
}

static ons_status *cut_training(ons_trainer *t) {
    ons_pipeline pipeline;
    const ons_schedule *schedule;
    ONS_TRY(find_schedule(t, &pipeline, &schedule));
    const ons_model_graph_options whole = {
        .model = t->model,
        .config = t->config,
        .dataset = t->training.dataset,
        .training = true,
        .repeats = ons_trainer_repeats(t),
    };
    int64_t samples = (int64_t)ons_dataset_count(t->training.dataset);
    ONS_TRY(ons_dataset_graphs_build_halves(&whole, schedule, &t->training));
    ONS_TRY(ons_dataset_graphs_build_groups(&whole, schedule, &t->batching, samples, &t->training));
    ons_step_form form = ons_step_form_of(&pipeline);
    /* A GPU has more arithmetic than bandwidth to spare, and a pass more costs it what it is long. Statistics that
     * replicas take together are not worth telling twice. */
    form.makes_again = !ons_config_uses_cuda(t->config) && !t->config->sync_batchnorm;
    ONS_TRY(ons_lowering_cut(&t->lowering, t->model, NULL, form, &t->training));
    if (ons_dataset_graphs_keep_loss_whole(&t->training, t->batching.micro_batches)) return NULL;
    return ons_refuse_loss_in_parts(t->model, t->config, &t->training.graphs[ONS_WHOLE].loss_obstacle);
}

/* The training graphs are cut already. */
static ons_status *make_local_stages(ons_trainer *t, int64_t cap) {
    ons_pipeline pipeline;
    const ons_schedule *schedule;
    ONS_TRY(find_schedule(t, &pipeline, &schedule));
    ONS_TRY(ons_lowering_cut(&t->lowering, t->model, &t->training, (ons_step_form){0}, &t->validation));
    const ons_local_stages_options options = {
        .model = t->model,
        .config = t->config,
        .training = &t->training,
        .validation = &t->validation,
        .pipeline = pipeline,
        .schedule = schedule,
        .lanes = t->lowering.planned ? &t->lowering.lanes : NULL,
        .batching = t->batching,
        .threads = t->threads,
        .cap = cap,
        .capacity = t->lowering.planned ? t->lowering.plan.capacity_bytes : 0,
        .first = t->remote ? ons_trainer_world(t)->rank : 0,
        .count = t->remote ? 1 : schedule->devices * (uint32_t)t->batching.replicas,
        .nccl = t->nccl,
        .gpu = t->gpu,
        .transports = t->transports,
        .trace = t->trace,
        .stop_requested = &t->stop_requested,
    };
    return ons_local_stages_new(&options, &t->local_stages);
}

/* The arenas of all ranks, in their order, each with what its device's context, libraries and recordings take beside
 * it. */
static ons_status *list_arenas(const ons_trainer *t, int64_t *all) {
    int64_t own = 0, reserve;
    ONS_TRY(ons_device_context_reserve(ons_local_stages_get(t->local_stages, 0)->device_context, &reserve));
    for (uint32_t i = 0; i < ons_local_stages_count(t->local_stages); ++i) {
        ons_device_context_memory memory;
        ONS_TRY(ons_device_context_predict(ons_local_stages_get(t->local_stages, i)->device_context, &memory));
        all[i] = own = reserve + memory.total;
    }
    return t->remote ? ons_trainer_meet(t, NULL, &own, all, sizeof own) : NULL;
}

/* A device holds the arenas of its lanes. */
static int64_t find_fullest(const ons_trainer *t, const int64_t *arenas, uint32_t ranks) {
    int64_t most = 0;
    for (uint32_t i = 0; i < ranks; ++i) {
        const uint32_t *beside = t->lowering.lanes.beside;
        int64_t bytes = arenas[i] + (beside == NULL || beside[i] == i ? 0 : arenas[beside[i]]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* What the fullest device holds. */
static ons_status *find_largest(ons_trainer *t, int64_t *bytes) {
    uint32_t ranks = t->remote ? ons_trainer_world(t)->ranks : ons_local_stages_count(t->local_stages);
    int64_t *arenas = calloc(ranks, sizeof *arenas);
    if (arenas == NULL) return ons_status_out_of_memory();
    ons_status *status = list_arenas(t, arenas);
    if (status == NULL) *bytes = find_fullest(t, arenas, ranks);
    free(arenas);
    return status;
}

/* Rank 0 plans, the others get its plan as the text of a file. */
static ons_status *follow_plan(ons_trainer *t) {
    char *text = NULL;
    uint64_t size = 0;
    ons_status *status = NULL;
    if (ons_trainer_leads(t)) {
        status = ons_plan_print(&t->lowering.plan, &text);
        size = status == NULL ? strlen(text) : 0;
    }
    if (status == NULL) status = ons_trainer_tell_all(t, &size, sizeof size);
    if (status == NULL && !ons_trainer_leads(t)) text = malloc(size + 1);
    if (status == NULL && text == NULL) status = ons_status_out_of_memory();
    if (status == NULL) status = ons_trainer_tell_all(t, text, size);
    if (status == NULL && !ons_trainer_leads(t)) status = ons_lowering_parse(text, size, &t->lowering);
    if (status == NULL && !ons_trainer_leads(t))
        status = ons_lowering_place(t->training.graphs[ONS_WHOLE].graph, &t->lowering);
    free(text);
    return status;
}

/* The arenas of a plan that was made just now, as they are laid out: of several replicas and copies in this process the
 * first one's, which are no smaller than the others'. */
static ons_status *note_arenas(ons_trainer *t) {
    uint32_t count = ons_local_stages_count(t->local_stages), devices = t->lowering.lanes.schedule.devices;
    for (uint32_t i = 0; i < count && i < devices; ++i) {
        const ons_local_stage *local_stage = ons_local_stages_get(t->local_stages, i);
        ons_device_context_memory memory;
        ONS_TRY(ons_device_context_predict(local_stage->device_context, &memory));
        if (!t->remote && local_stage->rank_group.in_turn && local_stage->rank_group.own > 0) continue;
        ons_plan_note_arena(&t->lowering.plan, &t->lowering.lanes.schedule, local_stage->device, memory.total);
    }
    return NULL;
}

typedef struct attempt {
    ons_trainer *t;
    int64_t cap;
    const ons_schedule_choice *choice; /* where the planner chooses, of rank 0; NULL: as the configuration says */
    bool may_fail;                     /* another choice follows: a cut that cannot be made is no failure */
} attempt;

static ons_lowering_request request_plan(const attempt *a) {
    const ons_trainer *t = a->t;
    return (ons_lowering_request){.model = t->model,
                                  .config = t->config,
                                  .graph = &t->training.graphs[ONS_WHOLE],
                                  .batching = &t->batching,
                                  .choice = a->choice};
}

/* Rank 0 alone searches. *found is false where no plan is for so little. */
static ons_status *make_plan(const attempt *a, int64_t capacity, uint8_t *found) {
    ons_trainer *t = a->t;
    const ons_lowering_request request = request_plan(a);
    *found = 1;
    ons_status *status = NULL;
    if (ons_trainer_leads(t)) status = ons_lowering_make(&request, capacity, &t->lowering);
    if (status != NULL && ons_status_get_code(status) == ONS_OUT_OF_MEMORY) {
        ons_status_free(status);
        status = NULL;
        *found = 0;
    }
    ONS_TRY(status);
    return ons_trainer_tell_all(t, found, sizeof *found);
}

/* Every rank cuts the whole graph, so all of them come to the same. *cut is false where what the plan swaps or computes
 * again cannot be in its lists, and another choice follows. */
static ons_status *try_cut(const attempt *a, bool *cut) {
    ons_status *status = cut_training(a->t);
    *cut = status == NULL || !a->may_fail || ons_status_get_code(status) != ONS_UNSUPPORTED;
    if (*cut) return status;
    ons_status_free(status);
    return NULL;
}

/* One plan for devices of `capacity` bytes, made ready. */
static ons_status *try_capacity(void *context, int64_t capacity, int64_t *bytes) {
    attempt *a = context;
    ons_trainer *t = a->t;
    drop_local_stages(t);
    ons_lowering_free(&t->lowering);
    uint8_t found;
    bool cut;
    ONS_TRY(make_plan(a, capacity, &found));
    *bytes = INT64_MAX;
    if (found == 0) return NULL;
    if (t->remote) ONS_TRY(follow_plan(t));
    ONS_TRY(try_cut(a, &cut));
    if (!cut) return NULL;
    ONS_TRY(make_local_stages(t, a->cap));
    ONS_TRY(note_arenas(t));
    return find_largest(t, bytes);
}

static ons_status *find_least(void *context, int64_t *capacity) {
    const attempt *a = context;
    ons_trainer *t = a->t;
    const ons_lowering_request request = request_plan(a);
    if (ons_trainer_leads(t)) ONS_TRY(ons_lowering_least(&request, capacity));
    return ons_trainer_tell_all(t, capacity, sizeof *capacity);
}

/* Rank 0's word counts: the others may have been given other options, which is noticed later. */
static ons_status *find_asked(ons_trainer *t, const char **asked) {
    uint8_t some;
    ONS_TRY(ons_problem_find_asked(t->config, t->arena, asked));
    some = *asked != NULL;
    ONS_TRY(ons_trainer_tell_all(t, &some, sizeof some));
    if (some == 0) *asked = NULL;
    if (some != 0 && *asked == NULL) *asked = "these options";
    return NULL;
}

/* What would do if the user had not asked for other strategies than the usual ones; INT64_MAX: no less. */
static ons_status *find_usual(attempt *a, const ons_arena_search_options *options, int64_t least, int64_t *usual) {
    a->t->config->partition = ons_usual_partition;
    a->t->config->memory_strategy = ons_usual_memory;
    ONS_TRY(ons_arena_search(options, usual));
    if (*usual >= least) *usual = INT64_MAX;
    return NULL;
}

/* `least`: bytes of the smallest plan that was found. */
static ons_status *refuse(attempt *a, const ons_arena_search_options *options, int64_t least) {
    const char *asked;
    int64_t usual = INT64_MAX;
    ONS_TRY(find_asked(a->t, &asked));
    if (asked != NULL) ONS_TRY(find_usual(a, options, least, &usual));
    if (usual <= a->cap)
        return ons_status_new(ONS_OUT_OF_MEMORY,
                              "--memory %" PRId64 " bytes is too little: %" PRId64
                              " are needed in the smallest plan that was found with %s; leave that out, and %" PRId64
                              " are enough",
                              a->cap, least, asked, usual);
    if (usual < INT64_MAX)
        return ons_status_new(ONS_OUT_OF_MEMORY,
                              "--memory %" PRId64 " bytes is too little: %" PRId64
                              " are needed in the smallest plan that was found with %s, and %" PRId64
                              " without; a larger --micro-batches or --stages may need fewer",
                              a->cap, least, asked, usual);
    return ons_status_new(ONS_OUT_OF_MEMORY,
                          "--memory %" PRId64 " bytes is too little: %" PRId64
                          " are needed in the smallest plan that was found; a larger --micro-batches or --stages may "
                          "need fewer",
                          a->cap, least);
}

static ons_status *search_local_stages(attempt *a, int64_t *bytes) {
    const ons_arena_search_options options = {
        .attempt = try_capacity, .least = find_least, .context = a, .cap = a->cap};
    return a->cap == 0 ? try_capacity(a, 0, bytes) : ons_arena_search(&options, bytes);
}

/* Rank 0 chooses among schedules; all learn how many may be tried. */
static ons_status *choose_schedules(attempt *a, ons_schedule_choices *choices) {
    const ons_lowering_request request = request_plan(a);
    *choices = (ons_schedule_choices){.count = 1};
    if (!ons_config_chooses_schedule(a->t->config)) return NULL;
    if (ons_trainer_leads(a->t)) ONS_TRY(ons_lowering_choose(&request, a->cap, a->t->arena, choices));
    return ons_trainer_tell_all(a->t, &choices->count, sizeof choices->count);
}

/* `whole`: what one stage takes whose memory nobody plans; 0: not tried. */
static ons_status *plan_local_stages(ons_trainer *t, int64_t cap, int64_t whole) {
    attempt a = {.t = t, .cap = cap};
    ons_schedule_choices choices;
    int64_t bytes = 0;
    ONS_TRY(choose_schedules(&a, &choices));
    for (uint32_t i = 0; i < choices.count; ++i) {
        if (choices.items != NULL) a.choice = &choices.items[i];
        a.may_fail = i + 1 < choices.count;
        ONS_TRY(search_local_stages(&a, &bytes));
        if (bytes < INT64_MAX && (cap == 0 || bytes <= cap)) return NULL;
    }
    const ons_arena_search_options options = {.attempt = try_capacity, .least = find_least, .context = &a, .cap = cap};
    return refuse(&a, &options, whole > 0 && whole < bytes ? whole : bytes);
}

/* Whether the plan's first device is of the kind that this run computes on, as far as its name tells. */
static ons_status *has_other_kind(ons_trainer *t, bool *other) {
    const char *devices = t->lowering.plan.subject.device_profile;
    const char *first =
        devices == NULL ? NULL : ons_arena_format(t->arena, "%.*s", (int)strcspn(devices, "*,"), devices);
    ons_device_profile profile;
    *other = false;
    if (devices == NULL) return NULL;
    if (first == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_device_profile_load(first, t->arena, &profile);
    if (status == NULL) *other = profile.processor == ons_config_uses_cuda(t->config);
    ons_status_free(status); /* a measured profile that is not here tells nothing */
    return NULL;
}

/* A plan names nodes, which a GPU's graph has others of. Takes over the failure to find them. */
static ons_status *explain_nodes(ons_trainer *t, ons_status *failure) {
    bool other;
    if (failure == NULL || ons_status_get_code(failure) != ONS_INVALID_DATA) return failure;
    ons_status *status = has_other_kind(t, &other);
    if (status == NULL && !other) return failure;
    ons_status_free(failure);
    ONS_TRY(status);
    bool cuda = ons_config_uses_cuda(t->config);
    return ons_status_new(
        ONS_INVALID_ARGUMENT,
        "the plan was made for %s, and this run computes on a %s: on a GPU neighbouring nodes are joined "
        "that a CPU computes one by one, so that the plan's stages have other nodes; plan with "
        "--device-profile %s%s",
        t->lowering.plan.subject.device_profile, cuda ? "GPU" : "CPU", cuda ? "and the GPU's name" : "cpu",
        cuda ? "" : ", or train with --device cuda");
}

/* As the plan of a file says, whatever else would be better. */
static ons_status *follow_file(ons_trainer *t, int64_t cap) {
    int64_t bytes;
    ONS_TRY_AT(ons_lowering_check(t->model, t->config, &t->training.graphs[ONS_WHOLE], &t->batching, &t->lowering),
               "--plan %s", t->config->plan);
    ons_status *nodes = ons_lowering_check_decisions(t->training.graphs[ONS_WHOLE].graph, &t->lowering);
    if (nodes == NULL) nodes = ons_lowering_place(t->training.graphs[ONS_WHOLE].graph, &t->lowering);
    ONS_TRY_AT(explain_nodes(t, nodes), "--plan %s", t->config->plan);
    ONS_TRY_AT(ons_plan_check_costs(&t->lowering.plan, t->lowering.arena), "--plan %s", t->config->plan);
    ONS_TRY(cut_training(t));
    ONS_TRY(make_local_stages(t, cap));
    ONS_TRY(find_largest(t, &bytes));
    const char *elsewhere;
    ONS_TRY(ons_plan_libraries_differ(&t->lowering.plan.subject, t->arena, &elsewhere));
    ONS_CHECK(cap == 0 || bytes <= cap, ONS_OUT_OF_MEMORY,
              "--memory %" PRId64 " bytes is too little for the plan: %" PRId64
              " are needed%s; without --plan one is made that fits",
              cap, bytes, elsewhere);
    int64_t reserve;
    ONS_TRY(ons_device_context_reserve(ons_local_stages_get(t->local_stages, 0)->device_context, &reserve));
    int64_t capacity = t->lowering.plan.capacity_bytes;
    ONS_CHECK(cap > 0 || capacity == 0 || bytes - reserve <= capacity, ONS_OUT_OF_MEMORY,
              "--plan %s: decisions.capacity_bytes: this run, with its validation and last batch, takes %" PRId64
              " bytes, and the plan is for %" PRId64 "%s; --memory %" PRId64 " allows it",
              t->config->plan, bytes - reserve, capacity, elsewhere, bytes);
    return NULL;
}

ons_status *ons_trainer_choose_local_stages(ons_trainer *t) {
    int64_t cap, bytes;
    ONS_TRY(ons_config_memory(t->config, &cap));
    if (t->config->plan != NULL) return follow_file(t, cap);
    if (t->config->stages > 1) return plan_local_stages(t, cap, 0);
    ONS_TRY(cut_training(t));
    ONS_TRY(make_local_stages(t, cap));
    ONS_TRY(find_largest(t, &bytes));
    return cap == 0 || bytes <= cap ? NULL : plan_local_stages(t, cap, bytes);
}
