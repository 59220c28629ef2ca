#include "planner/search/flexpipe_space.h"

/* ------------------------------------------------------------------------------------------------------- pp and mbs */

static ons_flexpipe_sizes sizes_of(const ons_flexpipe_space *s, uint32_t devices, int64_t samples) {
    uint32_t copies = s->copies ? s->most_devices / devices : 1;
    return (ons_flexpipe_sizes){devices, copies, (uint32_t)(s->batch / (samples * copies)), samples};
}

static bool is_in(const ons_flexpipe_space *s, uint32_t devices, int64_t samples) {
    ons_flexpipe_sizes g = sizes_of(s, devices, samples);
    return g.micro_batches > 0 && (int64_t)g.micro_batches * samples * g.copies == s->batch;
}

ons_status *ons_flexpipe_list_sizes(const ons_flexpipe_space *s, ons_arena *arena, ons_flexpipe_sizes **list,
                                    uint32_t *count) {
    enum { MOST = 32 * 64 };
    *count = 0;
    ONS_NEW(*list, arena, MOST);
    for (uint32_t devices = s->most_devices; devices >= s->least_devices && devices > 0; devices /= 2)
        for (int64_t samples = s->least_samples; samples <= s->most_samples && samples <= s->batch; samples *= 2)
            if (is_in(s, devices, samples)) (*list)[(*count)++] = sizes_of(s, devices, samples);
    ONS_CHECK(*count > 0, ONS_INVALID_ARGUMENT,
              "no number of devices up to %u and of samples up to %lld divides a batch of %lld; take another --batch",
              s->most_devices, (long long)s->most_samples, (long long)s->batch);
    return NULL;
}

/* --------------------------------------------------------------------------------------------------- schedule types */

static uint32_t orders(const ons_flexpipe_space *s, ons_placement placement) {
    return s->intervals || placement == ONS_PLACEMENT_CIRCULAR ? 4 : 2;
}

static uint32_t types(const ons_flexpipe_space *s) { return s->forward_first ? 3 : 2; }

static uint32_t limits(const ons_flexpipe_space *s) { return s->limits ? ONS_FLEXPIPE_LIMITS : 1; }

uint32_t ons_flexpipe_types(const ons_flexpipe_space *s, ons_placement placement) {
    return orders(s, placement) * orders(s, placement) * types(s) * limits(s);
}

static ons_stage_priority order_at(uint32_t index, uint32_t devices) {
    return (ons_stage_priority){.depth_first = index % 2 == 1, .interval = index / 2 == 1 ? devices : 0};
}

/* Takes the last digit off a number in mixed radix: a point of the grid is such a number, with a digit for each
 * dimension. */
static uint32_t take(uint32_t *index, uint32_t radix) {
    uint32_t digit = *index % radix;
    *index /= radix;
    return digit;
}

ons_flexpipe_type ons_flexpipe_type_at(const ons_flexpipe_space *s, ons_placement placement, uint32_t devices,
                                       uint32_t index) {
    static const ons_type_priority kinds[] = {ONS_BACKWARD_FIRST, ONS_INTERLEAVED, ONS_FORWARD_FIRST};
    ons_flexpipe_type t = {.options = {.placement = placement, .forward_unit = 1, .backward_unit = 1}};
    t.options.forward = order_at(take(&index, orders(s, placement)), devices);
    t.options.backward = order_at(take(&index, orders(s, placement)), devices);
    t.options.type = kinds[take(&index, types(s))];
    t.limit = (ons_flexpipe_limit)take(&index, limits(s));
    return t;
}

uint32_t ons_flexpipe_stages(const ons_flexpipe_space *s, ons_placement placement, uint32_t devices) {
    return placement == ONS_PLACEMENT_ONE_TO_ONE ? devices : devices * s->chunks;
}

/* ------------------------------------------------------------------------------------------------------------- name */

static const char *order_name(const ons_stage_priority *p, ons_arena *arena) {
    const char *name = p->depth_first ? "depth first" : "breadth first";
    return p->interval == 0 ? name : ons_arena_format(arena, "%s by %u", name, p->interval);
}

const char *ons_flexpipe_name(const ons_flexpipe_type *t, ons_arena *arena) {
    static const char *const placements[] = {
        [ONS_PLACEMENT_ONE_TO_ONE] = "one to one", [ONS_PLACEMENT_CIRCULAR] = "circular", [ONS_PLACEMENT_V] = "V"};
    static const char *const kinds[] = {[ONS_BACKWARD_FIRST] = "backward first",
                                        [ONS_FORWARD_FIRST] = "forward first",
                                        [ONS_INTERLEAVED] = "interleaved"};
    static const char *const limit[] = {[ONS_LIMIT_NONE] = "",
                                        [ONS_LIMIT_STRAIGHT] = ", in flight as 1f1b",
                                        [ONS_LIMIT_HALF] = ", in flight half of 1f1b"};
    return ons_arena_format(arena, "%s, %s, forward %s, back %s%s", placements[t->options.placement],
                            kinds[t->options.type], order_name(&t->options.forward, arena),
                            order_name(&t->options.backward, arena), limit[t->limit]);
}
