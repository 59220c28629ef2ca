/* What the dynamic program (division_search.h) remembers. A state is a subproblem: part of the series-parallel tree,
 * the devices that it may have, and what follows it. For each state that was looked at, the best way that was found. */
#ifndef ONSTAGE_PLANNER_STAGE_GRAPH_DIVISION_SEARCH_STATES_H
#define ONSTAGE_PLANNER_STAGE_GRAPH_DIVISION_SEARCH_STATES_H

#include <stdbool.h>
#include <stdint.h>

enum { ONS_ANY = 0xff, ONS_STATE_DEVICES = 1 << 10 };
#define ONS_NOT_FOUND UINT32_MAX

/* The children [from, to) of a part (of a node: 0, 0) on so many devices; what follows has so many samples in flight
 * and that pace (ONS_ANY: nothing follows); stages at its beginning have that pace (ONS_ANY: each the best for it). */
typedef struct ons_state {
    uint32_t part;     /* < 2^20 */
    uint32_t from, to; /* < 2^16 */
    uint32_t devices;  /* < ONS_STATE_DEVICES */
    uint32_t next_in_flight;
    uint32_t next_pace, own_pace; /* < 2^8 */
} ons_state;

typedef struct ons_found {
    uint32_t in_flight; /* samples, of a stage at the beginning that has most; ONS_NOT_FOUND: nothing fits */
    int64_t bytes;      /* of the fullest device */
} ons_found;

typedef struct ons_states {
    struct ons_states_slot {
        uint64_t key[2];
        ons_found found;
        uint32_t round;
    } * slots;
    uint32_t capacity, count; /* a power of two */
    uint32_t round;           /* slots of others are free */
} ons_states;

bool ons_states_make(ons_states *states); /* false: memory is short, as below */
void ons_states_free(ons_states *states);
void ons_states_forget(ons_states *states);
bool ons_states_get(const ons_states *states, const ons_state *state, ons_found *found);
bool ons_states_put(ons_states *states, const ons_state *state, ons_found found);

#endif
