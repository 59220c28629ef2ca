#include "engine/plan/problem.h"

#include <string.h>

#include "device/device.h"
#include "engine/config/device_list.h"
#include "planner/search/planner.h"

typedef struct posing {
    const ons_config *config;
    ons_arena *arena;
    ons_device_profile *profile;
    const ons_partition_strategy **strategy;
    ons_planning_problem *problem;
} posing;

const char ons_usual_partition[] = "auto", ons_usual_memory[] = "capuchin";

ons_status *ons_problem_find_asked(const ons_config *c, ons_arena *arena, const char **asked) {
    bool partition = strcmp(c->partition, ons_usual_partition) != 0;
    bool memory = strcmp(c->memory_strategy, ons_usual_memory) != 0;
    *asked = NULL;
    if (!partition && !memory) return NULL;
    *asked = ons_arena_format(arena, "%s%s%s%s%s", partition ? "--partition " : "", partition ? c->partition : "",
                              partition && memory ? " " : "", memory ? "--memory-strategy " : "",
                              memory ? c->memory_strategy : "");
    return *asked == NULL ? ons_status_out_of_memory() : NULL;
}

/* A strategy that makes the schedule leaves nothing to say of it, unless all is said. */
static ons_status *check_schedule(const ons_config *c, const ons_partition_strategy *strategy) {
    ONS_CHECK(strategy->search != NULL || !ons_config_is_given(c, "pipeline"), ONS_INVALID_ARGUMENT,
              "--pipeline beside --partition %s, which makes the schedule with the stages: leave one of them out",
              strategy->name);
    return NULL;
}

static ons_status *choose_strategies(posing *p) {
    const ons_config *c = p->config;
    *p->strategy = ons_partition_strategy_find(c->partition);
    ONS_TRY(check_schedule(c, *p->strategy));
    p->problem->memory = ons_memory_strategy_find(c->memory_strategy);
    p->problem->follows_lists = c->schedule != NULL;
    return ons_config_pipeline(c, &p->problem->pipeline);
}

/* --memory, or all that the device has; either way the libraries' share comes off it. */
static ons_status *choose_capacity(posing *p) {
    char cap[ONS_BYTES_TEXT], reserve[ONS_BYTES_TEXT];
    int64_t bytes;
    ONS_TRY(ons_config_memory(p->config, &bytes));
    if (bytes == 0) bytes = p->profile->memory_bytes;
    if (bytes == 0) return NULL; /* no device, no limit */
    ONS_CHECK(bytes > p->profile->reserve_bytes, ONS_OUT_OF_MEMORY,
              "--memory %s is less than the %s that the device's own libraries take",
              ons_bytes_print((double)bytes, cap), ons_bytes_print((double)p->profile->reserve_bytes, reserve));
    p->problem->capacity_bytes = bytes - p->profile->reserve_bytes;
    return NULL;
}

ons_status *ons_problem_charged_devices(const ons_config *config, const ons_device_profile *profile,
                                        uint32_t *devices) {
    int threads;
    *devices = 0;
    if (!profile->processor) return NULL;
    ONS_TRY(ons_config_threads(config, &threads));
    int64_t here = config->stages_here, all = ons_config_devices(config),
            count = ons_cpu_count(); /* here: on this machine */
    if (here == 0 && config->transport.value == ONS_TRANSPORT_MPI) here = 1;
    if (here == 0 || here == all)
        *devices = (uint32_t)((count + threads - 1) / threads); /* all are here, however many there are */
    else
        *devices = here * threads >= count ? 1 : 0;
    return NULL;
}

static ons_status *choose_host_share(posing *p) {
    uint32_t charged;
    ONS_TRY(ons_problem_charged_devices(p->config, p->profile, &charged));
    p->problem->host_share = charged > 0 && ons_config_devices(p->config) >= charged ? 1 : 0;
    return NULL;
}

/* A profile that does not know the precision is taken as it is: on a CPU bfloat16 is no faster than float32. */
static ons_status *choose_precision(posing *p) {
    ons_precision precision = ons_config_precision(p->config);
    bool known = precision != ONS_PRECISION_FP32 && p->profile->matrix_flops_of[precision] > 0;
    return known ? ons_device_profile_use(p->profile, precision) : NULL;
}

static ons_status *pose(posing *p) {
    ONS_TRY(choose_strategies(p));
    const char *device;
    ONS_TRY(ons_device_list_first(p->config, p->arena, &device));
    if (device == NULL) device = p->config->profile;
    *p->profile = (ons_device_profile){.name = "unlimited", .title = "a device without limits"};
    if (p->config->cost_graph == NULL || device != NULL)
        ONS_TRY(ons_device_profile_load(device == NULL ? ons_config_device_profile(p->config) : device, p->arena,
                                        p->profile));
    ONS_TRY(choose_precision(p));
    ONS_TRY(choose_capacity(p));
    ONS_TRY(ons_config_slices(p->config, &p->problem->sliced));
    p->problem->divides_updates = ons_config_update_owners(p->config) > 1;
    p->problem->reads_norms = p->config->clip_norm.value > 0 || ons_config_logs_norms(p->config) ||
                              ons_config_low_type(p->config) == ONS_FLOAT16;
    p->problem->link_bandwidth = p->profile->link_bandwidth;
    p->problem->link_latency = p->profile->link_latency;
    p->problem->link_eager_bytes = p->profile->link_eager_bytes;
    p->problem->node_devices = p->profile->node_devices;
    p->problem->network_bandwidth = p->profile->network_bandwidth;
    p->problem->network_latency = p->profile->network_latency;
    p->problem->network_eager_bytes = p->profile->network_eager_bytes;
    p->problem->host_bandwidth = p->profile->host_bandwidth;
    p->problem->host_latency = p->profile->host_latency;
    ONS_TRY(choose_host_share(p));
    return NULL;
}

ons_status *ons_problem_pose(const ons_config *config, ons_arena *arena, ons_device_profile *profile,
                             const ons_partition_strategy **strategy, ons_planning_problem *problem) {
    posing p = {config, arena, profile, strategy, problem};
    *problem = (ons_planning_problem){0};
    return pose(&p);
}
