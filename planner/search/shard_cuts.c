#include "planner/search/shard_cuts.h"

#include <math.h>

#include "planner/partition/link.h"

/* Halvings of what is between the bounds of the fastest: by computing alone to the last bit that matters; with memory,
 * where each asks a strategy, to within a thousandth. */
enum { HALVINGS_ALONE = 48, HALVINGS_WITH_MEMORY = 9 };

/* The bounds are first looked for in such steps, up to so many times the whole model on a device: a micro-batch waits
 * for its copies and recomputes, but no longer. */
static const double STEP = 1.4, SLOWEST = 4;

uint32_t ons_shard_stage_device(const ons_shard_order *o, uint32_t stage) {
    if (stage < o->early_count) return o->early[stage].device;
    stage -= o->early_count;
    return stage < o->devices ? stage : o->late[stage - o->devices].device;
}

void ons_shard_cuts_place(const ons_shard_order *o, const uint32_t *cuts, uint32_t *first) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < o->early_count; ++i) first[count++] = o->early[i].first;
    for (uint32_t i = 0; i < o->devices; ++i) first[count++] = cuts[i];
    for (uint32_t i = 0; i < o->late_count; ++i) first[count++] = o->late[i].first;
    first[count] = o->late_count > 0 ? o->late[o->late_count - 1].end : o->body_end;
}

/* ------------------------------------------------------------------------------------------------------------ rests */

static ons_status *add_part(const ons_shard_cutting *c, const ons_shard_part *part, uint32_t stage) {
    ons_device_rest *rests = &c->rests[part->device * ONS_SHARD_RESTS], least;
    double seconds = ons_work_seconds(c->problem->work, part->first, part->end);
    rests[0].seconds += seconds;
    rests[1].seconds += seconds;
    if (c->costs == NULL) return NULL;
    ONS_TRY(ons_device_memory_least(c->costs, part->first, part->end, stage, &least));
    rests[0].bytes += ons_stage_costs_bytes(c->costs, part->first, part->end, stage);
    rests[1].seconds += least.seconds - seconds;
    rests[1].bytes += least.bytes;
    return NULL;
}

ons_status *ons_shard_cutting_make(const ons_planning_problem *problem, const ons_shard_order *o,
                                   ons_stage_costs *costs, ons_arena *arena, ons_shard_cutting *c) {
    *c = (ons_shard_cutting){.problem = problem, .order = o, .costs = costs};
    ONS_NEW(c->rests, arena, (size_t)o->devices * ONS_SHARD_RESTS);
    for (uint32_t i = 0; i < o->early_count; ++i) ONS_TRY(add_part(c, &o->early[i], i));
    for (uint32_t i = 0; i < o->late_count; ++i) ONS_TRY(add_part(c, &o->late[i], o->early_count + o->devices + i));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- one interval */

/* Whether the device can do these nodes of the body beside its rest; more nodes are never faster. */
static ons_status *is_within(const ons_shard_cutting *c, uint32_t device, uint32_t first, uint32_t end, double limit,
                             bool *within) {
    const ons_device_rest *rests = &c->rests[device * ONS_SHARD_RESTS];
    double computing = ons_work_seconds(c->problem->work, first, end), seconds;
    int64_t capacity = c->problem->capacity_bytes;
    *within = computing + rests[0].seconds <= limit;
    if (c->costs == NULL || capacity == 0 || !*within) return NULL;
    *within = false;
    for (uint32_t i = 0; i < ONS_SHARD_RESTS && !*within; ++i) {
        if (rests[i].bytes >= capacity || !(rests[i].seconds < limit)) continue;
        ons_stage_costs_set_capacity(c->costs, capacity - rests[i].bytes);
        ONS_TRY(ons_stage_costs_within(c->costs, first, end, c->order->early_count + device, limit - rests[i].seconds,
                                       &seconds));
        *within = isfinite(seconds);
    }
    return NULL;
}

static int64_t message_bytes(const ons_shard_cutting *c, uint32_t cut) {
    int64_t forth = ons_work_cut_bytes(c->problem->work, cut),
            back = ons_work_cut_gradient_bytes(c->problem->work, cut);
    return forth > back ? forth : back;
}

static bool is_sent_within(const ons_shard_cutting *c, uint32_t cut, double limit) {
    return ons_link_seconds(ons_link_in_node(c->problem), message_bytes(c, cut)) <= limit;
}

/* Devices behind this one have a node each at least. 0: not even one node can be done. */
static ons_status *find_furthest(const ons_shard_cutting *c, uint32_t device, uint32_t first, double limit,
                                 uint32_t *end) {
    uint32_t most = c->order->body_end - (c->order->devices - 1 - device), low = first, high = most;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        bool within;
        ONS_TRY(is_within(c, device, first, middle, limit, &within));
        if (within)
            low = middle;
        else
            high = middle - 1;
    }
    while (device + 1 < c->order->devices && low > first && !is_sent_within(c, low, limit)) --low;
    *end = low > first ? low : 0;
    return NULL;
}

/* Likewise, by the end; the end itself: not even one node can be done. */
static ons_status *find_earliest(const ons_shard_cutting *c, uint32_t device, uint32_t end, double limit,
                                 uint32_t *first) {
    uint32_t low = c->order->body_first + device, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool within;
        ONS_TRY(is_within(c, device, middle, end, limit, &within));
        if (within)
            high = middle;
        else
            low = middle + 1;
    }
    while (device > 0 && high < end && !is_sent_within(c, high, limit)) ++high;
    *first = high;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------- cuts */

/* Each device takes all that it can. */
static ons_status *fill_front(const ons_shard_cutting *c, double limit, uint32_t *cuts, bool *found) {
    uint32_t devices = c->order->devices;
    cuts[0] = c->order->body_first;
    for (uint32_t i = 0; i < devices; ++i) {
        ONS_TRY(find_furthest(c, i, cuts[i], limit, &cuts[i + 1]));
        *found = cuts[i + 1] > 0;
        if (!*found) return NULL;
    }
    *found = cuts[devices] == c->order->body_end;
    return NULL;
}

static ons_status *fill_back(const ons_shard_cutting *c, double limit, uint32_t *cuts, bool *found) {
    uint32_t devices = c->order->devices;
    cuts[devices] = c->order->body_end;
    for (uint32_t i = devices; i-- > 0;) {
        ONS_TRY(find_earliest(c, i, cuts[i + 1], limit, &cuts[i]));
        *found = cuts[i] < cuts[i + 1];
        if (!*found) return NULL;
    }
    *found = cuts[0] == c->order->body_first;
    return NULL;
}

/* Where links cost nothing messages are alike, and the cut in the middle leaves both its sides most room. */
static uint32_t choose_cut(const ons_shard_cutting *c, uint32_t low, uint32_t high) {
    uint32_t middle = low + (high - low) / 2, best = middle;
    bool free_links = c->problem->link_bandwidth <= 0;
    for (uint32_t i = low; i <= high && !free_links; ++i) {
        int64_t bytes = message_bytes(c, i), least = message_bytes(c, best);
        uint32_t far = i > middle ? i - middle : middle - i, near = best > middle ? best - middle : middle - best;
        if (bytes < least || (bytes == least && far < near)) best = i;
    }
    return best;
}

/* `cuts` has the earliest that the devices behind each can begin. */
static ons_status *send_little(const ons_shard_cutting *c, double limit, uint32_t *cuts, bool *found) {
    for (uint32_t i = 0; i + 1 < c->order->devices; ++i) {
        uint32_t furthest;
        ONS_TRY(find_furthest(c, i, cuts[i], limit, &furthest));
        uint32_t earliest = cuts[i + 1] > cuts[i] ? cuts[i + 1] : cuts[i] + 1;
        *found = furthest >= earliest;
        if (!*found) return NULL;
        cuts[i + 1] = choose_cut(c, earliest, furthest);
    }
    return NULL;
}

ons_status *ons_shard_cuts_find(const ons_shard_cutting *c, double limit, ons_shard_filling filling, uint32_t *cuts,
                                bool *found) {
    if (filling == ONS_SHARD_FILL_FRONT) return fill_front(c, limit, cuts, found);
    ONS_TRY(fill_back(c, limit, cuts, found));
    return filling == ONS_SHARD_FILL_BACK || !*found ? NULL : send_little(c, limit, cuts, found);
}

/* Of the body, the largest message between neighbours. */
static double slowest_message(const ons_shard_cutting *c) {
    double most = 0;
    for (uint32_t i = c->order->body_first + 1; i < c->order->body_end; ++i)
        most = fmax(most, ons_link_seconds(ons_link_in_node(c->problem), message_bytes(c, i)));
    return most;
}

static ons_status *find_fastest(const ons_shard_cutting *c, uint32_t *cuts, double *seconds) {
    double all = ons_work_seconds(c->problem->work, 0, c->problem->work->node_count);
    double low = all / c->order->devices * (1 - 1e-9), high = low, most = SLOWEST * fmax(all, slowest_message(c));
    bool found = false;
    while (!found && high <= most) {
        high = high * STEP + 1e-12;
        ONS_TRY(fill_front(c, high, cuts, &found));
        if (!found) low = high;
    }
    uint32_t halvings = c->costs == NULL ? HALVINGS_ALONE : HALVINGS_WITH_MEMORY;
    for (uint32_t i = 0; found && i < halvings; ++i) {
        double middle = low + (high - low) / 2;
        bool within;
        ONS_TRY(fill_front(c, middle, cuts, &within));
        *(within ? &high : &low) = middle;
    }
    *seconds = found ? high : INFINITY;
    return NULL;
}

ons_status *ons_shard_cuts_fastest(const ons_shard_cutting *c, double *seconds) {
    ons_arena *arena = ons_arena_new();
    if (arena == NULL) return ons_status_out_of_memory();
    uint32_t *cuts = ons_arena_allocate(arena, (size_t)c->order->devices + 1, sizeof *cuts);
    ons_status *status = cuts == NULL ? ons_status_out_of_memory() : find_fastest(c, cuts, seconds);
    ons_arena_free(arena);
    return status;
}
