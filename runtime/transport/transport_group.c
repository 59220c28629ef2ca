#include "runtime/transport/transport_group.h"

#include <stdlib.h>

typedef struct group {
    ons_transport transport; /* first: what the caller holds */
    ons_transport *world;
    uint32_t first;
} group;

static ons_status *open_channel(ons_transport *transport, uint32_t from, uint32_t to, uint32_t number,
                                ons_channel **channel) {
    const group *g = (const group *)transport;
    return g->world->open(g->world, g->first + from, g->first + to, number, channel);
}

static void fail(ons_transport *transport, const ons_status *why) {
    const group *g = (const group *)transport;
    g->world->fail(g->world, why);
}

static ons_status *failure(ons_transport *transport) {
    const group *g = (const group *)transport;
    return g->world->failure(g->world);
}

static bool tells(ons_transport *transport) {
    const group *g = (const group *)transport;
    return g->world->tells(g->world);
}

static void free_group(ons_transport *transport) { free(transport); }

ons_status *ons_transport_group_new(ons_transport *world, uint32_t first, uint32_t count, ons_transport **result) {
    ONS_CHECK(world->rank >= first && world->rank - first < count, ONS_DEFECT, "rank %u is none of ranks %u to %u",
              world->rank, first, first + count - 1);
    group *g = calloc(1, sizeof *g);
    if (g == NULL) return ons_status_out_of_memory();
    *g = (group){
        .transport = {.name = world->name,
                      .rank = world->rank - first,
                      .ranks = count,
                      .host_ranks = world->host_ranks,
                      .shares_memory = world->shares_memory,
                      .open = open_channel,
                      .run_ahead = world->run_ahead,
                      .send = world->send,
                      .receive = world->receive,
                      .send_parts = world->send_parts,
                      .receive_parts = world->receive_parts,
                      .fail = fail,
                      .failure = failure,
                      .tells = tells,
                      .free = free_group},
        .world = world,
        .first = first,
    };
    *result = &g->transport;
    return NULL;
}
