/* Who takes part in a run: how many stages the options or a plan's file ask for, as threads of this process or as
 * processes, which must all mean the same. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "engine/train/trainer.h"
#include "planner/cost/device_profile.h"

bool ons_trainer_leads(const ons_trainer *t) { return !t->remote || ons_trainer_world(t)->rank == 0; }

int64_t ons_trainer_processes(const ons_trainer *t) { return t->remote ? ons_trainer_world(t)->ranks : 1; }

ons_status *ons_trainer_tell_all(const ons_trainer *t, void *mine, size_t bytes) {
    if (!t->remote) return NULL;
    char *all = calloc(ons_trainer_world(t)->ranks, bytes + 1);
    if (all == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_trainer_meet(t, NULL, mine, all, bytes);
    if (status == NULL && mine != NULL) memcpy(mine, all, bytes);
    free(all);
    return status;
}

static ons_status *open_mpi(ons_trainer *t) {
    ONS_NEW(t->transports, t->arena, 1);
    ONS_TRY(ons_mpi_transport_new(ONS_SILENCE_SECONDS, &t->transports[0]));
    t->transport_count = 1;
    t->remote = true;
    return NULL;
}

/* A plan has decided: an option that says the same is fine, one that says something else would be ignored. */
static ons_status *check_said(const ons_config *c, const char *option, const char *said, const char *planned) {
    if (!ons_config_is_given(c, option) || planned == NULL || strcmp(said, planned) == 0) return NULL;
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "--%s %s beside --plan %s, which was made for %s: leave --%s out, or plan again with it",
                          option, said, c->plan, planned, option);
}

static ons_status *check_device_said(const ons_config *c, const char *option, const char *said, const ons_plan *plan,
                                     ons_arena *arena) {
    ons_device_profile profile;
    const char *planned = plan->subject.device_profile;
    if (said == NULL || (planned != NULL && strcmp(said, planned) == 0)) return NULL;
    ONS_TRY(ons_device_profile_load(said, arena, &profile));
    return planned != NULL && strcmp(profile.name, planned) == 0 ? NULL : check_said(c, option, said, planned);
}

static ons_status *check_count_said(const ons_config *c, const char *option, int64_t said, uint32_t planned) {
    char texts[2][24];
    snprintf(texts[0], sizeof texts[0], "%" PRId64, said);
    snprintf(texts[1], sizeof texts[1], "%u", planned);
    return check_said(c, option, texts[0], texts[1]);
}

static ons_status *check_options(const ons_config *c, const ons_plan *plan, ons_arena *arena) {
    ONS_TRY(check_count_said(c, "stages", c->stages, plan->pipeline.stages));
    if (c->devices > 0) ONS_TRY(check_count_said(c, "devices", c->devices, plan->pipeline.devices));
    ONS_TRY(check_said(c, "pipeline", c->pipeline, plan->pipeline.generator->name));
    ONS_TRY(check_said(c, "partition", c->partition, plan->partition));
    ONS_TRY(check_said(c, "memory-strategy", c->memory_strategy, plan->memory));
    ONS_TRY(check_device_said(c, "profile", c->profile, plan, arena));
    return check_device_said(c, "device-profile", c->profile != NULL ? NULL : c->device_profile, plan, arena);
}

/* Stages that have copies of their own leave some options no meaning. */
static ons_status *check_copies(const ons_config *c, const ons_schedule *schedule) {
    uint32_t stage = 0;
    while (stage < schedule->stages && ons_schedule_grouping(schedule, stage).copies == 1) ++stage;
    if (stage == schedule->stages) return ons_config_check_replicas(c);
    uint32_t copies = ons_schedule_grouping(schedule, stage).copies;
    ONS_CHECK(c->replicas == 1, ONS_UNSUPPORTED,
              "--replicas %" PRId64 " beside --plan %s, whose stage %u has %u copies: a run has replicas of the whole "
              "pipeline or copies of its stages; leave --replicas out, or plan without copies",
              c->replicas, c->plan, stage, copies);
    ONS_CHECK(
        !c->sync_batchnorm, ONS_UNSUPPORTED,
        "--sync-batchnorm beside --plan %s, whose stage %u has %u copies: replicas of the whole pipeline normalise "
        "together, and copies of a stage each by the micro-batch that they compute; leave it out",
        c->plan, stage, copies);
    return NULL;
}

/* A plan says how many stages there are, and how a batch is split. */
static ons_status *read_plan(ons_trainer *t) {
    ons_config *c = t->config;
    ons_mapping file;
    ONS_TRY(ons_mapping_open(c->plan, &file));
    ons_status *status = ons_lowering_parse((const char *)file.bytes, file.size, &t->lowering);
    t->plan_digest = ons_hash_bytes(ONS_HASH_BASIS, file.bytes, file.size);
    ons_mapping_close(&file);
    if (status != NULL) return ons_status_at(status, "%s", c->plan);
    const ons_plan *plan = &t->lowering.plan;
    ONS_TRY(check_options(c, plan, t->lowering.arena));
    c->stages = plan->pipeline.stages;
    c->devices = plan->pipeline.devices;
    c->pipeline = plan->pipeline.generator->name;
    c->generator = plan->pipeline.generator;
    if (plan->subject.replicas > 1) {
        ONS_TRY(check_count_said(c, "replicas", c->replicas, (uint32_t)plan->subject.replicas));
        c->replicas = plan->subject.replicas;
        c->shard_optimizer |= plan->subject.shard_optimizer;
    }
    ONS_TRY(check_copies(c, &plan->schedule));
    if (c->micro_batches == 0) c->micro_batches = plan->subject.micro_batches;
    bool alone = plan->subject.replicas == 1; /* the plan is one replica's */
    if (c->batch == 0) c->batch = plan->subject.batch * (alone ? c->replicas : 1);
    return NULL;
}

/* Where nothing is said there are as many as the processes take. */
static ons_status *choose_stages(ons_config *c, uint32_t ranks) {
    ons_pipeline pipeline;
    ONS_TRY(ons_config_pipeline(c, &pipeline));
    uint32_t lanes = pipeline.generator->group == NULL ? 1 : 2; /* of a device */
    if (ranks % (c->replicas * lanes) != 0) return NULL;        /* refused below */
    c->stages = ranks / lanes / c->replicas * (pipeline.devices > 0 ? 1 : pipeline.generator->chunks);
    return NULL;
}

/* Ranks of a replica. */
static int64_t count_lanes(const ons_trainer *t) {
    return t->lowering.planned ? t->lowering.lanes.schedule.devices : ons_config_lanes(t->config);
}

/* Every lane of every replica has a rank of its own: a device has one, or two. */
static ons_status *check_ranks(const ons_trainer *t, int64_t lanes) {
    const ons_config *c = t->config;
    int64_t devices = ons_config_devices(c);
    if (!t->remote || lanes * c->replicas == ons_trainer_world(t)->ranks) return NULL;
    if (lanes > devices)
        return ons_status_new(ONS_INVALID_ARGUMENT,
                              "schedule %s puts two stages on each of %" PRId64
                              " device%s, which cannot run in %u processes: start one for each stage of each device "
                              "(mpirun -n %" PRId64 ")",
                              c->pipeline, devices, devices == 1 ? "" : "s", ons_trainer_world(t)->ranks, lanes);
    if (c->replicas > 1)
        return ons_status_new(ONS_INVALID_ARGUMENT,
                              "%" PRId64 " replicas of %" PRId64 " device%s cannot run in %u processes: start one for "
                              "each device of each replica (mpirun -n %" PRId64 ")",
                              c->replicas, devices, devices == 1 ? "" : "s", ons_trainer_world(t)->ranks,
                              devices * c->replicas);
    return ons_status_new(ONS_INVALID_ARGUMENT,
                          "%" PRId64 " stage%s on %" PRId64 " devices cannot run in %u processes: start one for each "
                          "device (mpirun -n %" PRId64 ")",
                          c->stages, c->stages == 1 ? "" : "s", devices, ons_trainer_world(t)->ranks, devices);
}

/* How the ranks are numbered: all must mean the same before they talk about anything else. */
static ons_status *agree_on_ranks(const ons_trainer *t) {
    const ons_config *c = t->config;
    const int64_t own[] = {(int64_t)t->plan_digest, c->stages, ons_config_devices(c), c->replicas, c->shard_optimizer};
    static const char *const options[] = {"--plan", "--stages", "--devices", "--replicas", "--shard-optimizer"};
    enum { OPTIONS = sizeof options / sizeof *options };
    if (!t->remote) return NULL;
    uint32_t ranks = ons_trainer_world(t)->ranks, rank, option = OPTIONS;
    int64_t(*all)[OPTIONS] = calloc(ranks, sizeof *all);
    if (all == NULL) return ons_status_out_of_memory();
    ons_status *status = ons_trainer_meet(t, NULL, own, all, sizeof own);
    for (rank = 1; status == NULL && rank < ranks; ++rank) {
        for (option = 0; option < OPTIONS && all[rank][option] == all[0][option];) ++option;
        if (option < OPTIONS) break;
    }
    free(all);
    ONS_TRY(status);
    ONS_CHECK(rank >= ranks, ONS_INVALID_ARGUMENT,
              "rank %u was started with another %s than rank 0; give all processes the same options", rank,
              options[option]);
    return NULL;
}

ons_status *ons_trainer_open_world(ons_trainer *t) {
    ons_config *c = t->config;
    uint32_t ranks = 1;
    bool launched = ons_mpi_is_launched(&ranks) && ranks > 1;
    bool among_processes = launched && c->transport.value != ONS_TRANSPORT_LOCAL;
    if (c->transport.value == ONS_TRANSPORT_MPI || among_processes) ONS_TRY(open_mpi(t));
    if (c->plan != NULL) ONS_TRY(read_plan(t));
    if (t->remote && c->plan == NULL && c->stages == 1) ONS_TRY(choose_stages(c, ons_trainer_world(t)->ranks));
    ONS_TRY(agree_on_ranks(t));
    ONS_TRY(ons_trainer_compare_options(t));
    ONS_TRY(check_ranks(t, count_lanes(t)));
    int64_t size = count_lanes(t) * c->replicas;
    c->stages_here = t->remote ? ons_trainer_world(t)->host_ranks : size;
    if (!t->remote && size > 1) {
        ONS_NEW(t->transports, t->arena, size);
        ONS_TRY(ons_local_transports_new((uint32_t)size, t->transports));
        t->transport_count = (uint32_t)size;
    }
    return ons_trainer_choose_gpus(t);
}

ons_status *ons_trainer_share_failure(ons_trainer *t, ons_status *status) {
    if (status == NULL || !t->remote) return status;
    ons_trainer_world(t)->fail(ons_trainer_world(t), status);
    ons_status *first = ons_trainer_world(t)->failure(ons_trainer_world(t));
    if (first != NULL) {
        ons_status_free(status);
        status = first;
    }
    if (ons_trainer_world(t)->tells(ons_trainer_world(t))) return status;
    ons_status *silent = ons_status_new(ons_status_get_code(status), "%s", "");
    ons_status_free(status);
    return silent;
}
