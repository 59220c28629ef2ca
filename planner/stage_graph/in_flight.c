#include "planner/stage_graph/in_flight.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* One stage's turn is shorter than a single micro-batch of the other. */
static int64_t of_unlike(int64_t own_turn, ons_stage_pace own, ons_stage_pace next, int64_t next_turn, int64_t i) {
    return own_turn < next.samples ? i + next.samples : i + own_turn - next_turn + own.samples;
}

/* `most`: the larger of both micro-batches, which no turn is shorter than. */
static int64_t of_alike(int64_t own_turn, int64_t next_turn, int64_t most, int64_t i) {
    if (own_turn < next_turn) return i + (most == own_turn ? most : 2 * most);
    if (own_turn == next_turn) return i + (most == own_turn ? next_turn : 2 * most);
    return most == next_turn ? i + own_turn : i + own_turn - next_turn + 2 * most;
}

int64_t ons_in_flight_before(ons_stage_pace own, ons_stage_pace next, int64_t next_in_flight) {
    int64_t own_turn = ons_in_flight_last(own), next_turn = ons_in_flight_last(next);
    if (own_turn < next.samples || next_turn < own.samples)
        return of_unlike(own_turn, own, next, next_turn, next_in_flight);
    return of_alike(own_turn, next_turn, larger(own.samples, next.samples), next_in_flight);
}
