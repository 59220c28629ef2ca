/* Exchanges between ranks with a thread each, on devices with discrete memory: many rounds of many messages, more than
 * NCCL takes together, over NCCL and on one GPU. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device_kind.h"
#include "runtime/transport/circle.h"
#include "tests/fake_gpu/discrete_memory/discrete_device.h"
#include "tests/fake_gpu/nccl/discrete_nccl.h"

enum { RANKS = 4, ROUNDS = 5, PLACE = 24, NUMBER = 7 };
/* A place of the memory for each message to each other rank, then for each from it. */
enum { MESSAGES = ROUNDS * ONS_CIRCLE_ROUND, BYTES = 2 * RANKS * MESSAGES * PLACE };

typedef struct member {
    ons_transport *world;
    ons_links *links;
    const uint32_t *ranks;
    bool nccl;
    atomic_bool *served; /* by rank: it has done something for others while it waited; NULL: nobody counts on that */
    char *memory;
    int wrong;
} member;

static void must(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

/* Of a message, known to both ends. In the last round there are fewer; some have no byte more than others. */
static uint32_t count_in(uint32_t round) { return round + 1 < ROUNDS ? ONS_CIRCLE_ROUND : 17; }
static size_t size_of(uint32_t from, uint32_t to, uint32_t i) { return 1 + (from * 5 + to * 3 + i) % PLACE; }
static unsigned char content(uint32_t from, uint32_t to, uint32_t i, size_t at) {
    return (unsigned char)(from * 101 + to * 37 + i * 13 + at);
}

static size_t place_of(uint32_t other, uint32_t i, bool received) {
    return (((size_t)(received ? RANKS : 0) + other) * MESSAGES + i) * PLACE;
}

static void put_turn(void *context, ons_circle *circle, uint32_t round, uint32_t to, uint32_t from) {
    const member *m = context;
    uint32_t own = m->world->rank, first = round * ONS_CIRCLE_ROUND;
    for (uint32_t i = first; i < first + count_in(round); ++i)
        ons_circle_send(circle, to, m->memory + place_of(to, i, false), size_of(own, to, i));
    for (uint32_t i = first; i < first + count_in(round); ++i)
        ons_circle_receive(circle, from, m->memory + place_of(from, i, true), size_of(from, own, i));
}

/* What is sent, or what must have come. */
static void fill(const member *m, unsigned char *host, bool received) {
    uint32_t own = m->world->rank;
    for (uint32_t other = 0; other < RANKS; ++other)
        for (uint32_t i = 0; other != own && i < MESSAGES - ONS_CIRCLE_ROUND + count_in(ROUNDS - 1); ++i) {
            uint32_t from = received ? other : own, to = received ? own : other;
            for (size_t at = 0; at < size_of(from, to, i); ++at)
                host[place_of(other, i, received) + at] = content(from, to, i, at);
        }
}

static ons_status *serve(void *context) {
    const member *m = context;
    atomic_store(&m->served[m->world->rank], true);
    return NULL;
}

/* Odd ranks come only when the rank before them has done something for them, while it waits for all. */
static void count_on_others(member *m, ons_circle *circle) {
    uint32_t own = m->world->rank;
    ons_circle_set_meanwhile(circle, &(ons_meanwhile){serve, m});
    while (own % 2 == 1 && !atomic_load(&m->served[own - 1])) usleep(1000);
}

static void *drive(void *argument) {
    member *m = argument;
    const ons_device_kind *kind;
    ons_device *device;
    ons_stream *stream, *compute;
    ons_event *done;
    ons_nccl *nccl = NULL;
    ons_circle *circle;
    void *memory;
    unsigned char *host = calloc(2, BYTES);
    must(ons_device_kind_find("cuda", &kind));
    must(kind->device_new(m->nccl ? (int)m->world->rank : 0, 0, false, &device));
    must(device->allocate(device, BYTES + 128, &memory));
    must(device->stream_new(device, "exchange", 1, &stream));
    must(device->stream_new(device, "compute", 1, &compute));
    must(device->event_new(device, &done));
    m->memory = (char *)memory + 128;
    if (m->nccl) must(ons_nccl_new(m->world, device, 1, &nccl));
    const ons_circle_options options = {.world = m->world,
                                        .device = device,
                                        .nccl = nccl,
                                        .links = m->links,
                                        .ranks = m->ranks,
                                        .count = RANKS,
                                        .own = m->world->rank,
                                        .number = NUMBER,
                                        .stream = stream};
    must(ons_circle_new(&options, &circle));
    cr_expect_eq(ons_circle_meets(circle), !m->nccl);
    if (m->nccl) must(ons_nccl_connect(nccl, compute, (ons_fault *)(void *)((char *)memory + 64), memory));
    fill(m, host, false);
    device->copy(stream, m->memory, host, BYTES);
    if (m->served != NULL) count_on_others(m, circle);
    must(ons_circle_exchange(circle, ROUNDS, put_turn, m));
    /* What has been sent may be changed at once. */
    device->copy(stream, m->memory, host + BYTES, BYTES / 2);
    device->copy(stream, host + BYTES, m->memory, BYTES);
    device->event_record(stream, done);
    device->event_synchronize(done);
    fill(m, host, true);
    m->wrong = memcmp(host + BYTES / 2, host + BYTES + BYTES / 2, BYTES / 2);
    must(device->failure(device));
    must(m->world->failure(m->world));
    char met = 0, all[RANKS];
    cr_expect(m->world->gather(m->world, &met, all, sizeof met)); /* others may still copy from here */
    device->stream_free(stream);
    device->stream_free(compute);
    ons_circle_free(circle);
    ons_nccl_free(nccl);
    device->event_free(done);
    device->release(device, memory, BYTES + 128);
    device->free(device);
    free(host);
    return NULL;
}

static void run(bool nccl, uint64_t seed, bool serves) {
    static const uint32_t ranks[RANKS] = {0, 1, 2, 3};
    ons_transport *transports[RANKS];
    member members[RANKS];
    pthread_t threads[RANKS];
    ons_links *links = NULL;
    atomic_bool served[RANKS] = {false};
    discrete_seed(seed);
    must(ons_local_transports_new(RANKS, transports));
    if (!nccl) must(ons_links_new(&links));
    for (int i = 0; i < RANKS; ++i) {
        members[i] = (member){
            .world = transports[i], .links = links, .ranks = ranks, .nccl = nccl, .served = serves ? served : NULL};
        cr_assert_eq(pthread_create(&threads[i], NULL, drive, &members[i]), 0);
    }
    for (int i = 0; i < RANKS; ++i) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(members[i].wrong, 0, "seed %llu, rank %d%s", (unsigned long long)seed, i, nccl ? ", NCCL" : "");
        transports[i]->free(transports[i]);
    }
    ons_links_free(links);
}

Test(circle, over_nccl, .timeout = 120) {
    discrete_nccl_use(RANKS);
    for (uint64_t seed = 1; seed <= 3; ++seed) run(true, seed, false);
    cr_expect_null(discrete_nccl_complaint(), "%s", discrete_nccl_complaint());
}

Test(circle, on_one_gpu, .timeout = 120) {
    for (uint64_t seed = 1; seed <= 3; ++seed) run(false, seed, false);
}

Test(circle, whoever_waits_for_others_does_what_they_wait_for, .timeout = 60) { run(false, 1, true); }
