#include "planner/search/device_memory.h"

#include <math.h>

#include "planner/search/planner_search.h"

typedef struct sharing {
    ons_planned *planned;
    ons_stage_memo *memo;
    ons_stage_costs *costs;
    const ons_schedule *schedule;
    int64_t capacity;       /* bytes of a device; 0: no limit */
    int64_t *bytes, *least; /* [stage]: what it takes as it is, and the smallest capacity that does */
    int64_t *nothing;       /* [stage]: 0 */
    int64_t *share, *best;  /* [stage]: its part of the capacity: what is tried, and the fastest so far */
} sharing;

static uint32_t first_of(const sharing *s, uint32_t stage) { return s->planned->partition.first[stage]; }

static bool lies_on(const sharing *s, uint32_t stage, uint32_t device) {
    return s->schedule->device_of[stage] == device;
}

static int64_t sum_on(const sharing *s, const int64_t *bytes, uint32_t device) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->schedule->stages; ++i)
        if (lies_on(s, i, device) && __builtin_add_overflow(sum, bytes[i], &sum)) return INT64_MAX;
    return sum;
}

/* Nothing fits one byte, so that the first evaluation says which capacity would do; the second says how fast the stage
 * is with it. */
ons_status *ons_device_memory_least(ons_stage_memo *memo, ons_stage_costs *costs, uint32_t first, uint32_t end,
                                    uint32_t stage, ons_device_rest *least) {
    ons_stage_evaluation v;
    ONS_TRY(ons_stage_memo_evaluate(memo, costs, first, end, stage, 1, true, &v));
    least->bytes = v.least_bytes;
    ONS_TRY(ons_stage_memo_evaluate(memo, costs, first, end, stage, least->bytes, true, &v));
    least->seconds = v.feasible ? v.seconds : INFINITY;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------- one device */

/* Keeps the shares that are tried where the device's stages are faster with them. */
static ons_status *try_shares(const sharing *s, uint32_t device, double *fastest) {
    double seconds = 0;
    for (uint32_t i = 0; i < s->schedule->stages && seconds < *fastest; ++i) {
        ons_stage_evaluation v;
        if (!lies_on(s, i, device)) continue;
        if (s->share[i] <= 0) return NULL; /* 0 would be no limit */
        ONS_TRY(
            ons_stage_memo_evaluate(s->memo, s->costs, first_of(s, i), first_of(s, i + 1), i, s->share[i], false, &v));
        seconds += v.feasible ? v.seconds : INFINITY;
    }
    if (!(seconds < *fastest)) return NULL;
    *fastest = seconds;
    for (uint32_t i = 0; i < s->schedule->stages; ++i)
        if (lies_on(s, i, device)) s->best[i] = s->share[i];
    return NULL;
}

/* Each has as large a part of what it could use beyond `low`. */
static void serve_alike(const sharing *s, uint32_t device, const int64_t *low, double part) {
    for (uint32_t i = 0; i < s->schedule->stages; ++i)
        if (lies_on(s, i, device)) s->share[i] = low[i] + (int64_t)(part * (double)(s->bytes[i] - low[i]));
}

/* One stage saves all that is too much, or all save alike: few stages are asked for anything. */
static ons_status *try_few(const sharing *s, uint32_t device, double *fastest) {
    int64_t whole = sum_on(s, s->bytes, device);
    for (uint32_t saves = 0; saves < s->schedule->stages; ++saves) {
        if (!lies_on(s, saves, device)) continue;
        for (uint32_t i = 0; i < s->schedule->stages; ++i)
            if (lies_on(s, i, device)) s->share[i] = s->bytes[i] - (i == saves ? whole - s->capacity : 0);
        ONS_TRY(try_shares(s, device, fastest));
    }
    serve_alike(s, device, s->nothing, (double)s->capacity / (double)whole);
    return try_shares(s, device, fastest);
}

/* One stage has as much as it can use, then the others in turn. */
static void serve_first(const sharing *s, uint32_t device, uint32_t favoured, int64_t slack) {
    for (uint32_t turn = 0; turn < 2; ++turn)
        for (uint32_t i = 0; i < s->schedule->stages; ++i) {
            if (!lies_on(s, i, device) || (i == favoured) != (turn == 0)) continue;
            int64_t more = s->bytes[i] - s->least[i];
            if (more > slack) more = slack;
            s->share[i] = s->least[i] + more;
            slack -= more;
        }
}

static ons_status *find_least(const sharing *s, uint32_t device) {
    for (uint32_t i = 0; i < s->schedule->stages; ++i) {
        ons_device_rest least;
        if (!lies_on(s, i, device)) continue;
        ONS_TRY(ons_device_memory_least(s->memo, s->costs, first_of(s, i), first_of(s, i + 1), i, &least));
        s->least[i] = least.bytes < s->bytes[i] ? least.bytes : s->bytes[i];
    }
    return NULL;
}

/* All have what they need at the least, and share what is left. `need`: bytes of the device with which they fit. */
static ons_status *try_from_least(const sharing *s, uint32_t device, double *fastest, int64_t *need) {
    int64_t whole = sum_on(s, s->bytes, device);
    ONS_TRY(find_least(s, device));
    int64_t least = sum_on(s, s->least, device), slack = s->capacity - least;
    *need = least;
    if (slack < 0) return NULL;
    serve_alike(s, device, s->least, whole > least ? (double)slack / (double)(whole - least) : 0);
    ONS_TRY(try_shares(s, device, fastest));
    for (uint32_t i = 0; i < s->schedule->stages; ++i) {
        if (!lies_on(s, i, device)) continue;
        serve_first(s, device, i, slack);
        ONS_TRY(try_shares(s, device, fastest));
    }
    if (isinf(*fastest)) *need = whole;
    return NULL;
}

/* Shares one device's capacity among its stages. Where they fit as they are there is nothing to decide. Shares in which
 * few stages save anything come first: a stage that saves nothing costs no time, and no search. */
static ons_status *share_device(const sharing *s, uint32_t device, int64_t *need) {
    double fastest = INFINITY;
    *need = sum_on(s, s->bytes, device);
    if (s->capacity == 0 || *need <= s->capacity || s->planned->problem.memory == NULL) return NULL;
    ONS_TRY(try_few(s, device, &fastest));
    if (isinf(fastest)) return try_from_least(s, device, &fastest, need);
    *need = s->capacity;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ all devices */

static ons_status *take_solutions(const sharing *s, ons_arena *arena) {
    ons_planned *planned = s->planned;
    ONS_NEW(planned->solutions, arena, s->schedule->stages);
    planned->partition.bottleneck_seconds = 0;
    for (uint32_t i = 0; i < s->schedule->stages; ++i) {
        uint32_t first = first_of(s, i);
        ONS_TRY(
            ons_stage_memo_solve(s->memo, s->costs, first, first_of(s, i + 1), i, s->best[i], &planned->solutions[i]));
        planned->partition.bottleneck_seconds =
            fmax(planned->partition.bottleneck_seconds, planned->solutions[i].seconds);
    }
    return ons_planned_copy_decisions(planned, arena);
}

/* Devices are shared one by one: what a stage decides changes no other device's memory. `least_bytes` is what the
 * device that needs most would need, so that a refusal can name a capacity that does. */
static ons_status *share_all(sharing *s, ons_arena *scratch, ons_arena *arena) {
    ons_partition *p = &s->planned->partition;
    uint32_t stages = s->schedule->stages;
    ONS_NEW(s->bytes, scratch, stages);
    ONS_NEW(s->least, scratch, stages);
    ONS_NEW(s->nothing, scratch, stages);
    ONS_NEW(s->share, scratch, stages);
    ONS_NEW(s->best, scratch, stages);
    p->feasible = true;
    p->least_bytes = 0;
    for (uint32_t i = 0; i < stages; ++i) {
        s->bytes[i] = ons_stage_costs_bytes(s->costs, first_of(s, i), first_of(s, i + 1), i);
        s->best[i] = s->bytes[i];
    }
    for (uint32_t device = 0; device < s->schedule->devices; ++device) {
        int64_t need;
        ONS_TRY(share_device(s, device, &need));
        if (need > p->least_bytes) p->least_bytes = need;
    }
    p->feasible = s->capacity == 0 || p->least_bytes <= s->capacity;
    p->stages_evaluated += ons_stage_costs_count(s->costs);
    return p->feasible ? take_solutions(s, arena) : NULL;
}

ons_status *ons_device_memory_evaluate(ons_planned *planned, ons_stage_memo *memo, ons_arena *arena,
                                       uint64_t *optimised_nodes) {
    sharing s = {.memo = memo,
                 .planned = planned,
                 .schedule = planned->problem.schedule,
                 .capacity = planned->problem.capacity_bytes};
    planned->solutions = NULL;
    ONS_TRY(ons_stage_costs_new(&planned->problem, &s.costs));
    ons_arena *scratch = ons_arena_new();
    ons_status *status = scratch == NULL ? ons_status_out_of_memory() : share_all(&s, scratch, arena);
    *optimised_nodes += ons_stage_costs_optimised_nodes(s.costs);
    ons_arena_free(scratch);
    ons_stage_costs_free(s.costs);
    return status;
}
