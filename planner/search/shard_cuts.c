#include "planner/search/shard_cuts.h"

#include <math.h>
#include <string.h>

#include "planner/partition/link.h"

/* Halvings of what is between the bounds of the fastest: by computing alone to the last bit that matters; with memory,
 * where each asks a strategy, to within a hundredth. */
enum { HALVINGS_ALONE = 48, HALVINGS_WITH_MEMORY = 6 };

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

/* Adds a stage that is no part of the body to what its device holds: once as it is, and once in the least memory that
 * it can do with, which may cost it time. */
static ons_status *add_part(const ons_shard_cutting *c, ons_stage_memo *memo, const ons_shard_part *part,
                            uint32_t stage) {
    ons_device_rest *rests = &c->rests[part->device * ONS_SHARD_RESTS], least;
    double seconds = ons_work_seconds(c->problem->work, part->first, part->end);
    rests[0].seconds += seconds;
    rests[1].seconds += seconds;
    if (c->costs == NULL) return NULL;
    ONS_TRY(ons_device_memory_least(memo, c->costs, part->first, part->end, stage, &least));
    rests[0].bytes += ons_stage_costs_bytes(c->costs, part->first, part->end, stage);
    rests[1].seconds += least.seconds - seconds;
    rests[1].bytes += least.bytes;
    return NULL;
}

ons_status *ons_shard_cutting_make(const ons_planning_problem *problem, const ons_shard_order *o,
                                   ons_stage_costs *costs, ons_stage_memo *memo, ons_arena *arena,
                                   ons_shard_cutting *c) {
    *c = (ons_shard_cutting){.problem = problem, .order = o, .costs = costs};
    ONS_NEW(c->rests, arena, (size_t)o->devices * ONS_SHARD_RESTS);
    for (uint32_t i = 0; i < o->early_count; ++i) ONS_TRY(add_part(c, memo, &o->early[i], i));
    for (uint32_t i = 0; i < o->late_count; ++i)
        ONS_TRY(add_part(c, memo, &o->late[i], o->early_count + o->devices + i));
    return NULL;
}

/* ----------------------------------------------------------------------------------------------------- one interval */

/* Whether the device can do these nodes of the body beside its rest; more nodes are never faster. Computing alone is
 * asked first, since it is a subtraction and memory is a search. The body may have what the rest leaves: the rest as it
 * is, or, where that leaves too little, the rest in its least memory and so in more time. */
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

static bool is_cut_within(const ons_shard_cutting *c, uint32_t cut, double limit) {
    if (cut < c->order->body_end && !ons_shard_may_cut(c->problem, cut)) return false;
    return ons_link_seconds(ons_link_in_node(c->problem), message_bytes(c, cut)) <= limit;
}

/* The furthest end of the device's nodes from `first` on, up to `most`; `first`: not even one node can be done. */
static ons_status *find_furthest(const ons_shard_cutting *c, uint32_t device, uint32_t first, uint32_t most,
                                 double limit, uint32_t *end) {
    uint32_t low = first, high = most;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        bool within;
        ONS_TRY(is_within(c, device, first, middle, limit, &within));
        if (within)
            low = middle;
        else
            high = middle - 1;
    }
    *end = low;
    return NULL;
}

/* The earliest beginning of the device's nodes up to `end`; `end`: not even one node can be done. */
static ons_status *find_earliest(const ons_shard_cutting *c, uint32_t device, uint32_t end, double limit,
                                 uint32_t *first) {
    uint32_t low = c->order->body_first, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool within;
        ONS_TRY(is_within(c, device, middle, end, limit, &within));
        if (within)
            high = middle;
        else
            low = middle + 1;
    }
    *first = high;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ all devices */

/* Where each device can begin, and the last one end: rows of body positions. */
static bool *row_of(const ons_shard_cutting *c, bool *reached, uint32_t device) {
    return reached + (size_t)device * (c->order->body_end - c->order->body_first + 1);
}

/* The last position in front of `before` that is reached; `before`: none is. */
static uint32_t last_before(const ons_shard_cutting *c, const bool *row, uint32_t before) {
    for (uint32_t i = before; i-- > c->order->body_first;)
        if (row[i - c->order->body_first]) return i;
    return before;
}

/* Where the next device can begin. Of all beginnings of this one the last in front of an end leaves it fewest nodes,
 * and more nodes are never faster, so no other beginning need be looked at. A device has a node at least, so that what
 * it can end at may have gaps, where that one takes too long. */
static ons_status *reach_from(const ons_shard_cutting *c, uint32_t device, double limit, const bool *row, bool *next) {
    uint32_t first = c->order->body_first, most = c->order->body_end - (c->order->devices - 1 - device), furthest;
    bool is_last = device + 1 == c->order->devices;
    uint32_t last = last_before(c, row, most);
    if (last == most) return NULL;
    for (uint32_t end = first + 1; end <= last && !is_last; ++end) {
        uint32_t begin = last_before(c, row, end);
        if (begin < end) ONS_TRY(is_within(c, device, begin, end, limit, &next[end - first]));
    }
    if (is_last) return is_within(c, device, last, most, limit, &next[most - first]);
    ONS_TRY(find_furthest(c, device, last, most, limit, &furthest));
    for (uint32_t end = last + 1; end <= furthest; ++end) next[end - first] = true;
    for (uint32_t end = first + 1; end <= furthest; ++end) next[end - first] &= is_cut_within(c, end, limit);
    return NULL;
}

/* Fills the table from the first device to the last. The limit can be kept if the last device can end at the body's
 * end. */
static ons_status *reach(const ons_shard_cutting *c, double limit, bool *reached, bool *found) {
    uint32_t devices = c->order->devices, width = c->order->body_end - c->order->body_first + 1;
    memset(reached, 0, ((size_t)devices + 1) * width);
    reached[0] = true;
    for (uint32_t i = 0; i < devices; ++i)
        ONS_TRY(reach_from(c, i, limit, row_of(c, reached, i), row_of(c, reached, i + 1)));
    *found = row_of(c, reached, devices)[width - 1];
    return NULL;
}

/* Where links cost nothing messages are alike, and the cut in the middle leaves both its sides most room. */
static uint32_t choose_cut(const ons_shard_cutting *c, const bool *row, uint32_t low, uint32_t high) {
    uint32_t middle = low + (high - low) / 2, best = high;
    bool free_links = c->problem->link_bandwidth <= 0;
    for (uint32_t i = low; i <= high; ++i) {
        int64_t bytes = free_links ? 0 : message_bytes(c, i), least = free_links ? 0 : message_bytes(c, best);
        uint32_t far = i > middle ? i - middle : middle - i, near = best > middle ? best - middle : middle - best;
        if (row[i - c->order->body_first] && (bytes < least || (bytes == least && far < near))) best = i;
    }
    return best;
}

/* The cut in front of a device that ends at `end`. The last one that can be reached leaves most nodes to the devices in
 * front, the earliest one with which this device keeps the limit leaves them fewest. */
static ons_status *choose_begin(const ons_shard_cutting *c, uint32_t device, uint32_t end, double limit,
                                ons_shard_filling filling, const bool *row, uint32_t *begin) {
    uint32_t low, high = last_before(c, row, end);
    *begin = high;
    if (filling == ONS_SHARD_FILL_FRONT) return NULL;
    ONS_TRY(find_earliest(c, device, end, limit, &low));
    while (low < high && !row[low - c->order->body_first]) ++low;
    if (low < high) *begin = filling == ONS_SHARD_FILL_BACK ? low : choose_cut(c, row, low, high);
    return NULL;
}

/* The table says which cuts can be reached from the front; so cuts are chosen from the back, each of them one from
 * which the way to the front is known. */
static ons_status *find_cuts(const ons_shard_cutting *c, double limit, bool *reached, uint32_t *cuts, bool *found) {
    uint32_t devices = c->order->devices;
    ONS_TRY(reach(c, limit, reached, found));
    for (int filling = 0; *found && filling < ONS_SHARD_FILLINGS; ++filling, cuts += devices + 1) {
        cuts[devices] = c->order->body_end;
        for (uint32_t i = devices; i-- > 0;)
            ONS_TRY(
                choose_begin(c, i, cuts[i + 1], limit, (ons_shard_filling)filling, row_of(c, reached, i), &cuts[i]));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------ the fastest */

/* Of the body, the largest message between neighbours. */
static double slowest_message(const ons_shard_cutting *c) {
    double most = 0;
    for (uint32_t i = c->order->body_first + 1; i < c->order->body_end; ++i)
        most = fmax(most, ons_link_seconds(ons_link_in_node(c->problem), message_bytes(c, i)));
    return most;
}

/* Bisects the limit. No cuts are faster than all work shared evenly, which is where the search begins; the first limit
 * that can be kept is the upper end. A limit with which no cuts were found is taken for too small. */
static ons_status *find_fastest(const ons_shard_cutting *c, bool *reached, double *seconds) {
    double all = ons_work_seconds(c->problem->work, 0, c->problem->work->node_count);
    double low = all / c->order->devices * (1 - 1e-9), high = low, most = SLOWEST * fmax(all, slowest_message(c));
    bool found = false;
    while (!found && high <= most) {
        high = high * STEP + 1e-12;
        ONS_TRY(reach(c, high, reached, &found));
        if (!found) low = high;
    }
    uint32_t halvings = c->costs == NULL ? HALVINGS_ALONE : HALVINGS_WITH_MEMORY;
    for (uint32_t i = 0; found && i < halvings; ++i) {
        double middle = low + (high - low) / 2;
        bool within;
        ONS_TRY(reach(c, middle, reached, &within));
        *(within ? &high : &low) = middle;
    }
    *seconds = found ? high : INFINITY;
    return NULL;
}

static ons_status *make_rows(const ons_shard_cutting *c, ons_arena **arena, bool **reached) {
    *arena = ons_arena_new();
    if (*arena == NULL) return ons_status_out_of_memory();
    *reached = ons_arena_allocate(
        *arena, ((size_t)c->order->devices + 1) * (c->order->body_end - c->order->body_first + 1), sizeof **reached);
    return *reached == NULL ? ons_status_out_of_memory() : NULL;
}

ons_status *ons_shard_cuts_find(const ons_shard_cutting *c, double limit, uint32_t *cuts, bool *found) {
    ons_arena *arena;
    bool *reached;
    ons_status *status = make_rows(c, &arena, &reached);
    if (status == NULL) status = find_cuts(c, limit, reached, cuts, found);
    ons_arena_free(arena);
    return status;
}

ons_status *ons_shard_cuts_fastest(const ons_shard_cutting *c, double *seconds) {
    ons_arena *arena;
    bool *reached;
    ons_status *status = make_rows(c, &arena, &reached);
    if (status == NULL) status = find_fastest(c, reached, seconds);
    ons_arena_free(arena);
    return status;
}
