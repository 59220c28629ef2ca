#include "runtime/measure/link_speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/measure/median.h"

enum {
    HOST_BYTES = 64,
    PAIRS_MOST = 16, /* of a kind */
    ROUNDS = 9,
    SIZES = 3,
    SMALL_BYTES = 64,
    PILOT_BYTES = 1 << 20,
    LARGE_LEAST = 1 << 20,
    LARGE_MOST = 1 << 25,
    EAGER_LEAST = 1 << 10, /* between which the step is looked for */
    EAGER_MOST = 1 << 18,
    EAGER_GRAIN = 32,
};

#define LARGE_SECONDS 0.15 /* that the largest message takes, about */

typedef struct pair {
    uint32_t ranks[2]; /* rising */
    bool between_hosts;
    ons_channel *there, *back; /* NULL: of others */
    int64_t large;             /* bytes of the largest message */
    double seconds[SIZES][ROUNDS];
} pair;

typedef struct measuring {
    ons_transport *transport;
    pair pairs[2 * PAIRS_MOST];
    uint32_t count;
    char *data;
    double *heard; /* a number from each rank */
} measuring;

/* ------------------------------------------------------------------------------------------------------------ pairs */

/* Of the pairs on one host, or of those that are not, as many as are measured, evenly taken. */
static void choose_pairs(measuring *m, const char (*hosts)[HOST_BYTES], bool between) {
    uint64_t all = 0, at = 0;
    uint32_t ranks = m->transport->ranks, first = m->count;
    for (uint32_t a = 0; a < ranks; ++a)
        for (uint32_t b = a + 1; b < ranks; ++b) all += (strcmp(hosts[a], hosts[b]) != 0) == between;
    uint64_t wanted = all < PAIRS_MOST ? all : PAIRS_MOST;
    for (uint32_t a = 0; a < ranks; ++a)
        for (uint32_t b = a + 1; b < ranks; ++b) {
            if ((strcmp(hosts[a], hosts[b]) != 0) != between) continue;
            uint64_t taken = m->count - first;
            if (taken < wanted && at++ * wanted >= taken * all)
                m->pairs[m->count++] = (pair){.ranks = {a, b}, .between_hosts = between};
        }
}

static ons_status *find_pairs(measuring *m) {
    ons_transport *t = m->transport;
    char mine[HOST_BYTES] = "";
    gethostname(mine, sizeof mine - 1);
    char(*hosts)[HOST_BYTES] = calloc(t->ranks, sizeof *hosts);
    if (hosts == NULL) return ons_status_out_of_memory();
    bool went = t->gather(t, mine, hosts, sizeof mine);
    for (int between = 0; went && between < 2; ++between) choose_pairs(m, hosts, between);
    free(hosts);
    if (!went) return t->failure(t);
    for (uint32_t i = 0; i < m->count; ++i) {
        pair *p = &m->pairs[i];
        if (t->rank != p->ranks[0] && t->rank != p->ranks[1]) continue;
        ONS_TRY(t->open(t, p->ranks[0], p->ranks[1], 1, &p->there));
        ONS_TRY(t->open(t, p->ranks[1], p->ranks[0], 2, &p->back));
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ times */

/* The first rank of the pair times a message there and back; nobody else has anything to do. All come to *seconds, half
 * of that. */
static ons_status *exchange(measuring *m, const pair *p, int64_t bytes, double *seconds) {
    ons_transport *t = m->transport;
    size_t size = (size_t)bytes;
    bool good = true;
    double start = ons_clock_seconds();
    if (t->rank == p->ranks[0]) {
        good = t->send(p->there, m->data, size) && t->receive(p->back, m->data, size);
    } else if (t->rank == p->ranks[1]) {
        good = t->receive(p->there, m->data, size) && t->send(p->back, m->data, size);
    }
    double mine = (ons_clock_seconds() - start) / 2;
    good = good && t->gather(t, &mine, m->heard, sizeof mine);
    if (!good) return t->failure(t);
    *seconds = m->heard[p->ranks[0]];
    return NULL;
}

/* Warms the pair up, and finds how large a message may be so that it takes no longer than is wanted. */
static ons_status *size_up(measuring *m, pair *p) {
    double seconds;
    ONS_TRY(exchange(m, p, PILOT_BYTES, &seconds));
    ONS_TRY(exchange(m, p, PILOT_BYTES, &seconds));
    p->large = PILOT_BYTES;
    while (2 * p->large <= LARGE_MOST && seconds * 2 * (double)p->large / PILOT_BYTES <= LARGE_SECONDS) p->large *= 2;
    return NULL;
}

static int64_t size_of(const pair *p, int which) {
    const int64_t sizes[SIZES] = {SMALL_BYTES, p->large / 4, p->large};
    return sizes[which];
}

static ons_status *take_turns(measuring *m) {
    for (uint32_t i = 0; i < m->count; ++i) ONS_TRY(size_up(m, &m->pairs[i]));
    for (int round = 0; round < ROUNDS; ++round)
        for (uint32_t i = 0; i < m->count; ++i)
            for (int size = 0; size < SIZES; ++size)
                ONS_TRY(exchange(m, &m->pairs[i], size_of(&m->pairs[i], size), &m->pairs[i].seconds[size][round]));
    return NULL;
}

/* ------------------------------------------------------------------------------------------------------------ eager */

/* What a message of so many bytes takes beside moving them. */
static ons_status *find_excess(measuring *m, const pair *p, const ons_link_speed *s, int64_t bytes, double *excess) {
    double seconds[ROUNDS];
    for (int round = 0; round < ROUNDS; ++round) ONS_TRY(exchange(m, p, bytes, &seconds[round]));
    *excess = ons_median(seconds, ROUNDS) - (double)bytes / s->bandwidth;
    return NULL;
}

/* A message that asks takes two latencies more than one that does not. The size at which it comes to be more than half
 * of what it is in the end is looked for by halving, and believed where it is a step: sizes a few bytes apart differ by
 * more than moving them, or chance, could explain. */
static ons_status *find_eager(measuring *m, const pair *p, ons_link_speed *s) {
    int64_t leaves = EAGER_LEAST, asks = EAGER_MOST;
    double below, above;
    ONS_TRY(find_excess(m, p, s, leaves, &below));
    ONS_TRY(find_excess(m, p, s, asks, &above));
    double half = (below + above) / 2;
    while (asks - leaves > EAGER_GRAIN && above > below) {
        int64_t middle = leaves + (asks - leaves) / 2;
        double excess;
        ONS_TRY(find_excess(m, p, s, middle, &excess));
        *(excess > half ? &asks : &leaves) = middle;
    }
    ONS_TRY(find_excess(m, p, s, leaves, &below));
    ONS_TRY(find_excess(m, p, s, asks, &above));
    if (asks - leaves <= EAGER_GRAIN && above - below > s->latency / 2) s->eager_bytes = leaves;
    return NULL;
}

/* ---------------------------------------------------------------------------------------------------------- results */

/* The latency is what the small message takes; the bandwidth what a large one takes longer than one of a quarter, so
 * that no latency is in it. */
static double pair_bandwidth(pair *p) {
    double quarter = ons_median(p->seconds[1], ROUNDS), whole = ons_median(p->seconds[2], ROUNDS);
    double difference = whole > quarter ? whole - quarter : whole * 3 / 4;
    int64_t more = p->large - p->large / 4;
    return (double)more / difference;
}

static ons_status *sum_up(measuring *m, bool between, ons_link_speed *s) {
    double bandwidths[PAIRS_MOST], latencies[PAIRS_MOST];
    const pair *first = NULL;
    *s = (ons_link_speed){0};
    for (uint32_t i = 0; i < m->count; ++i) {
        pair *p = &m->pairs[i];
        if (p->between_hosts != between) continue;
        if (first == NULL) first = p;
        bandwidths[s->pairs] = pair_bandwidth(p);
        latencies[s->pairs] = ons_median(p->seconds[0], ROUNDS);
        if (s->pairs == 0 || bandwidths[s->pairs] < s->slowest) {
            s->slowest = bandwidths[s->pairs];
            memcpy(s->slowest_ranks, p->ranks, sizeof p->ranks);
        }
        ++s->pairs;
    }
    if (s->pairs == 0) return NULL;
    s->bandwidth = ons_median(bandwidths, s->pairs);
    s->latency = ons_median(latencies, s->pairs);
    return find_eager(m, first, s);
}

static ons_status *measure(measuring *m, ons_link_speeds *speeds) {
    m->data = calloc(LARGE_MOST, 1);
    m->heard = calloc(m->transport->ranks, sizeof *m->heard);
    if (m->data == NULL || m->heard == NULL) return ons_status_out_of_memory();
    memset(m->data, 1, LARGE_MOST); /* pages of its own, before anything is timed */
    ONS_TRY(find_pairs(m));
    ONS_TRY(take_turns(m));
    ONS_TRY(sum_up(m, false, &speeds->in_host));
    return sum_up(m, true, &speeds->between_hosts);
}

ons_status *ons_link_speeds_measure(ons_transport *transport, ons_link_speeds *speeds) {
    measuring *m = calloc(1, sizeof *m);
    *speeds = (ons_link_speeds){0};
    if (m == NULL) return ons_status_out_of_memory();
    m->transport = transport;
    ons_status *status = measure(m, speeds);
    free(m->data);
    free(m->heard);
    free(m);
    return status;
}
