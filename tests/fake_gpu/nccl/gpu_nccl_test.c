/* NCCL as it is: messages of one rank to itself, and between GPUs where there are several. Says what it did not run. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device_kind.h"
#include "runtime/transport/nccl_api.h"
#include "runtime/transport/transport_nccl.h"

enum { BYTES = 3 << 20, ROUNDS = 20, GPUS_MOST = 16, NUMBERS = BYTES / 8 };

static void must(ons_status *status) {
    cr_assert(status == NULL, "%s", status == NULL ? "" : ons_status_get_message(status));
}

/* Counts GPUs: none in a build that knows none. */
static int count_gpus(void) {
    const ons_device_kind *kind;
    ons_status *status = ons_device_kind_find("cuda", &kind);
    int count = status == NULL ? kind->count() : 0;
    ons_status_free(status);
    return count;
}

static ons_device *open_gpu(int index) {
    const ons_device_kind *kind;
    ons_device *device;
    must(ons_device_kind_find("cuda", &kind));
    must(kind->device_new(index, 0, false, &device));
    return device;
}

static bool has_gpus(int needed) {
    int count = count_gpus();
    if (count >= needed) return true;
    printf("onstage: not run: %d GPUs are needed, there are %d\n", needed, count);
    return false;
}

static void wait_for(ons_device *device, ons_stream *stream) {
    ons_event *event;
    must(device->event_new(device, &event));
    device->event_record(stream, event);
    device->event_synchronize(event);
    device->event_free(event);
    must(device->failure(device));
}

/* --------------------------------------------------------------------------------------------------------- one rank */

typedef struct own {
    const ons_nccl_api *api;
    void *comm;
    char *from, *to;
} own;

static void good(const own *o, int result, const char *what) {
    cr_assert(result == ONS_NCCL_SUCCESS, "%s: %s (%s)", what, o->api->get_error_string(result),
              o->api->get_last_error(o->comm));
}

static void connect_own(void *argument, uintptr_t native) {
    (void)native;
    own *o = argument;
    ons_nccl_id id;
    ons_nccl_config config = {
        .size = sizeof config,
        .magic = ONS_NCCL_MAGIC,
        .version = ONS_NCCL_LEAST_VERSION,
        .blocking = 1,
        .group_size = ONS_NCCL_UNDEFINED,
        .least_blocks = ONS_NCCL_UNDEFINED,
        .most_blocks = 4,
        .split_share = ONS_NCCL_UNDEFINED,
    };
    good(o, o->api->get_unique_id(&id), "ncclGetUniqueId");
    good(o, o->api->comm_init_rank_config(&o->comm, 1, id, 0, &config), "ncclCommInitRankConfig");
}

/* A rank's message to itself needs both ends in one group. */
static void send_to_itself(void *argument, uintptr_t native) {
    const own *o = argument;
    good(o, o->api->group_start(), "ncclGroupStart");
    good(o, o->api->send(o->from, BYTES, ONS_NCCL_UINT8, 0, o->comm, (void *)native), "ncclSend");
    good(o, o->api->recv(o->to, BYTES, ONS_NCCL_UINT8, 0, o->comm, (void *)native), "ncclRecv");
    good(o, o->api->group_end(), "ncclGroupEnd");
    good(o, o->api->all_reduce(o->to, o->to, 1, ONS_NCCL_UINT64, ONS_NCCL_MAX, o->comm, (void *)native),
         "ncclAllReduce");
}

Test(one_gpu, sends_to_itself, .timeout = 120) {
    ons_stream *stream;
    void *memory, *host;
    if (!has_gpus(1)) return;
    own o = {0};
    must(ons_nccl_load(&o.api));
    ons_device *device = open_gpu(0);
    must(device->allocate(device, 2 * BYTES, &memory));
    must(device->allocate_host(device, 2 * BYTES, &host));
    must(device->stream_new(device, "messages", 1, &stream));
    o.from = memory;
    o.to = o.from + BYTES;
    uint64_t *sent = host, *come = sent + NUMBERS;
    device->launch(stream, connect_own, &o);
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < NUMBERS; ++i) sent[i] = (uint64_t)i * 0x9E3779B97F4A7C15u + (uint64_t)round;
        device->copy(stream, o.from, sent, BYTES);
        device->launch(stream, send_to_itself, &o);
        device->copy(stream, come, o.to, BYTES);
        wait_for(device, stream);
        cr_assert(memcmp(sent, come, BYTES) == 0, "round %d", round);
    }
    /* What was sent before, sent again as a CUDA graph. */
    ons_recording *recording;
    must(device->record_begin(stream));
    device->copy(stream, o.from, sent, BYTES);
    device->launch(stream, send_to_itself, &o);
    device->copy(stream, come, o.to, BYTES);
    must(device->record_end(stream, &recording));
    for (int round = 0; round < ROUNDS; ++round) {
        for (int i = 0; i < NUMBERS; ++i) sent[i] = (uint64_t)i * 0xD1B54A32D192ED03u + (uint64_t)round;
        device->recording_repeat(stream, recording);
        wait_for(device, stream);
        cr_assert(memcmp(sent, come, BYTES) == 0, "repetition %d", round);
    }
    device->recording_free(recording);
    good(&o, o.api->comm_abort(o.comm), "ncclCommAbort");
    device->stream_free(stream);
    device->release_host(device, host, 2 * BYTES);
    device->release(device, memory, 2 * BYTES);
    device->free(device);
}

/* ----------------------------------------------------------------------------------------------------- several GPUs */

/* A ring: each rank sends to the next one and receives from the one before, both ways at once. */
typedef struct ring_rank {
    ons_transport *transport;
    uint32_t ranks;
    int wrong;
    ons_nccl_channel *channels[4]; /* to the next, from the one before, and the other way round */
    ons_stream *streams[4];
    char *places[4];
} ring_rank;

typedef struct ring_put {
    ons_nccl_channel *channel;
    char *place;
    bool sends;
} ring_put;

static void put_in_ring(void *argument, uintptr_t native) {
    const ring_put *p = argument;
    if (p->sends)
        ons_nccl_send(p->channel, native, p->place, BYTES);
    else
        ons_nccl_receive(p->channel, native, p->place, BYTES);
}

static void run_round(ring_rank *r, ons_device *device, uint8_t *host, int round) {
    uint32_t rank = r->transport->rank, before = (rank + r->ranks - 1) % r->ranks, next = (rank + 1) % r->ranks;
    const uint32_t senders[] = {rank, before, rank, next};
    for (int i = 0; i < 4; ++i) {
        bool sends = i % 2 == 0;
        memset(host + (size_t)i * BYTES, sends ? (int)(senders[i] * 16 + (uint32_t)(round + i / 2) % 16) : 0xFF, BYTES);
        ring_put put = {r->channels[i], r->places[i], sends};
        if (sends) device->copy(r->streams[i], r->places[i], host + (size_t)i * BYTES, BYTES);
        device->launch(r->streams[i], put_in_ring, &put);
        if (!sends) device->copy(r->streams[i], host + (size_t)i * BYTES, r->places[i], BYTES);
    }
    for (int i = 0; i < 4; ++i) wait_for(device, r->streams[i]);
    for (int i = 1; i < 4; i += 2)
        for (size_t at = 0; at < BYTES; at += 1000)
            r->wrong += host[(size_t)i * BYTES + at] != (uint8_t)(senders[i] * 16 + (uint32_t)(round + i / 2) % 16);
}

static void *drive_ring(void *argument) {
    ring_rank *r = argument;
    ons_stream *compute;
    ons_nccl *nccl;
    void *memory, *host;
    uint32_t rank = r->transport->rank, before = (rank + r->ranks - 1) % r->ranks, next = (rank + 1) % r->ranks;
    const uint32_t from[] = {rank, before, rank, next}, to[] = {next, rank, before, rank};
    ons_device *device = open_gpu((int)rank);
    must(device->allocate(device, 4 * BYTES + 64, &memory));
    must(device->allocate_host(device, 4 * BYTES, &host));
    must(device->stream_new(device, "compute", 1, &compute));
    must(ons_nccl_new(r->transport, device, r->transport->ranks, &nccl));
    for (uint32_t i = 0; i < 4; ++i) {
        r->places[i] = (char *)memory + (size_t)i * BYTES;
        must(device->stream_new(device, "messages", 1, &r->streams[i]));
        must(ons_nccl_open(nccl, from[i], to[i], i / 2, r->streams[i], &r->channels[i]));
    }
    must(ons_nccl_connect(nccl, compute, (ons_fault *)(void *)((char *)memory + 4 * BYTES), memory));
    for (int round = 0; round < ROUNDS; ++round) run_round(r, device, host, round);
    for (int i = 0; i < 4; ++i) device->stream_free(r->streams[i]);
    ons_nccl_free(nccl);
    device->stream_free(compute);
    device->release_host(device, host, 4 * BYTES);
    device->release(device, memory, 4 * BYTES + 64);
    device->free(device);
    return NULL;
}

Test(several_gpus, messages_both_ways_at_once, .timeout = 300) {
    ons_transport *transports[GPUS_MOST];
    ring_rank ranks[GPUS_MOST];
    pthread_t threads[GPUS_MOST];
    if (!has_gpus(2)) return;
    uint32_t count = count_gpus() < GPUS_MOST ? (uint32_t)count_gpus() : GPUS_MOST;
    must(ons_local_transports_new(count, transports));
    for (uint32_t i = 0; i < count; ++i) {
        ranks[i] = (ring_rank){.transport = transports[i], .ranks = count};
        cr_assert_eq(pthread_create(&threads[i], NULL, drive_ring, &ranks[i]), 0);
    }
    for (uint32_t i = 0; i < count; ++i) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(ranks[i].wrong, 0, "rank %u", i);
        transports[i]->free(transports[i]);
    }
    printf("onstage: messages between %u GPUs\n", count);
}
