#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/transport/transport.h"
#include "tests/rooms/runtime/traffic.h"

enum { RANKS = 4 };

typedef struct worker {
    ons_transport *transport;
    uint64_t seed;
    uint64_t digest;
    char why[512];
} worker;

static void *make_traffic(void *argument) {
    worker *w = argument;
    ons_status *status = ons_traffic_run(w->transport, w->seed, &w->digest);
    if (status != NULL) snprintf(w->why, sizeof w->why, "%s", ons_status_get_message(status));
    ons_status_free(status);
    w->transport->free(w->transport);
    return NULL;
}

static void expect_success(ons_status *status) { cr_assert_null(status, "%s", ons_status_get_message(status)); }

static void make_world(uint32_t ranks, ons_transport **transports) {
    expect_success(ons_local_transports_new(ranks, transports));
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void expect_failure(ons_transport *transport, ons_status_code code, const char *part) {
    ons_status *status = transport->failure(transport);
    cr_assert_not_null(status);
    cr_assert_eq(ons_status_get_code(status), code, "%s", ons_status_get_message(status));
    cr_assert_not_null(strstr(ons_status_get_message(status), part), "'%s' lacks '%s'", ons_status_get_message(status),
                       part);
    ons_status_free(status);
}

Test(transport_local, random_traffic_arrives) {
    uint64_t first = (uint64_t)time(NULL);
    for (uint64_t seed = first; seed < first + 12; ++seed) {
        printf("seed %llu\n", (unsigned long long)seed);
        uint32_t ranks = 1 + (uint32_t)(seed % 6);
        ons_transport *transports[6];
        worker workers[6] = {0};
        pthread_t threads[6];
        make_world(ranks, transports);
        for (uint32_t i = 0; i < ranks; ++i) {
            workers[i].transport = transports[i];
            workers[i].seed = seed;
            cr_assert_eq(pthread_create(&threads[i], NULL, make_traffic, &workers[i]), 0);
        }
        for (uint32_t i = 0; i < ranks; ++i) pthread_join(threads[i], NULL);
        for (uint32_t i = 0; i < ranks; ++i) {
            cr_assert_str_empty(workers[i].why, "seed %llu, rank %u: %s", (unsigned long long)seed, i, workers[i].why);
            cr_assert_eq(workers[i].digest, workers[0].digest);
        }
    }
}

/* --------------------------------------------------------------------------------------------------------- failures */

typedef struct waiter {
    ons_transport *transport;
    ons_channel *channel; /* NULL: gathers */
    bool sends;
    char data[64], all[64 * RANKS];
    size_t bytes;
    bool result;
    double returned;
} waiter;

static void *wait_for_it(void *argument) {
    waiter *w = argument;
    if (w->channel == NULL)
        w->result = w->transport->gather(w->transport, w->data, w->all, w->bytes);
    else if (w->sends)
        w->result = w->transport->send(w->channel, w->data, w->bytes);
    else
        w->result = w->transport->receive(w->channel, w->data, w->bytes);
    w->returned = seconds();
    return NULL;
}

static ons_channel *open_channel(ons_transport *transport, uint32_t from, uint32_t to, uint32_t number) {
    ons_channel *channel;
    expect_success(transport->open(transport, from, to, number, &channel));
    return channel;
}

Test(transport_local, a_failure_releases_everybody_at_once) {
    ons_transport *transports[RANKS];
    make_world(RANKS, transports);
    waiter waiters[] = {
        {.transport = transports[1], .channel = open_channel(transports[1], 1, 0, 5), .sends = true, .bytes = 8},
        {.transport = transports[2], .channel = open_channel(transports[2], 0, 2, 6), .bytes = 8},
        {.transport = transports[3], .bytes = 8},
    };
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i) cr_assert_eq(pthread_create(&threads[i], NULL, wait_for_it, &waiters[i]), 0);
    usleep(50000);
    for (int i = 1; i < RANKS; ++i) cr_assert_null(transports[i]->failure(transports[i]));

    ons_status *why = ons_status_new(ONS_DIVERGED, "stage 0: the loss is no longer a number");
    double start = seconds();
    transports[0]->fail(transports[0], why);
    ons_status_free(why);
    why = ons_status_new(ONS_IO_ERROR, "stage 1: something that came of it");
    transports[1]->fail(transports[1], why);
    ons_status_free(why);
    for (int i = 0; i < 3; ++i) {
        pthread_join(threads[i], NULL);
        cr_assert_not(waiters[i].result);
        cr_assert_lt(waiters[i].returned - start, 0.25);
    }
    for (int i = 0; i < RANKS; ++i) {
        expect_failure(transports[i], ONS_DIVERGED, "stage 0: the loss is no longer a number");
        cr_assert_eq(transports[i]->tells(transports[i]), i == 0);
    }
    char byte = 0, all[RANKS];
    cr_assert_not(transports[0]->send(open_channel(transports[0], 0, 1, 9), &byte, 1));
    cr_assert_not(transports[0]->receive(open_channel(transports[0], 1, 0, 9), &byte, 1));
    cr_assert_not(transports[0]->gather(transports[0], &byte, all, 1));
    for (int i = 0; i < RANKS; ++i) transports[i]->free(transports[i]);
}

static void expect_sizes_disagree(size_t sent, size_t expected, bool sender_first) {
    ons_transport *transports[2];
    make_world(2, transports);
    waiter ends[2] = {
        {.transport = transports[0], .channel = open_channel(transports[0], 0, 1, 17), .sends = true, .bytes = sent},
        {.transport = transports[1], .channel = open_channel(transports[1], 0, 1, 17), .bytes = expected}};
    memset(ends[0].data, 1, sizeof ends[0].data);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        int who = sender_first ? i : 1 - i;
        cr_assert_eq(pthread_create(&threads[who], NULL, wait_for_it, &ends[who]), 0);
        usleep(10000);
    }
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    char part[200];
    snprintf(part, sizeof part, "channel 17: rank 0 sends %zu bytes, but rank 1 expects %zu bytes", sent, expected);
    for (int i = 0; i < 2; ++i) {
        cr_assert_not(ends[i].result);
        expect_failure(transports[i], ONS_DEFECT, part);
        transports[i]->free(transports[i]);
    }
    for (size_t i = 0; i < sizeof ends[1].data; ++i) cr_assert_eq(ends[1].data[i], 0);
}

Test(transport_local, sizes_that_disagree) {
    expect_sizes_disagree(8, 16, true);
    expect_sizes_disagree(16, 8, false);
    expect_sizes_disagree(0, 1, true);
    expect_sizes_disagree(1, 0, false);
}

Test(transport_local, sizes_of_a_gather_that_disagree) {
    ons_transport *transports[2];
    make_world(2, transports);
    waiter first = {.transport = transports[1], .bytes = 12};
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &first), 0);
    usleep(20000);
    char mine[4] = {0}, all[8];
    cr_assert_not(transports[0]->gather(transports[0], mine, all, 4));
    pthread_join(thread, NULL);
    cr_assert_not(first.result);
    for (int i = 0; i < 2; ++i) {
        expect_failure(transports[i], ONS_DEFECT, "rank 1 brings 12 bytes, but rank 0 brings 4 bytes");
        transports[i]->free(transports[i]);
    }
}

/* A rank that leaves early, before or after the others began to wait for it, is a failure and not a deadlock. */
Test(transport_local, a_rank_that_leaves_is_not_waited_for) {
    for (int kind = 0; kind < 3; ++kind)
        for (int before = 0; before < 2; ++before) {
            ons_transport *transports[2];
            make_world(2, transports);
            waiter w = {.transport = transports[0], .sends = kind == 1, .bytes = 8};
            if (before) transports[1]->free(transports[1]);
            if (kind > 0) w.channel = open_channel(transports[0], kind == 2, kind == 1, 3);
            pthread_t thread;
            cr_assert_eq(pthread_create(&thread, NULL, wait_for_it, &w), 0);
            usleep(20000);
            if (!before) transports[1]->free(transports[1]);
            pthread_join(thread, NULL);
            cr_assert_not(w.result);
            expect_failure(transports[0], ONS_DEFECT, "rank 1 has left");
            cr_assert(transports[0]->tells(transports[0]));
            transports[0]->free(transports[0]);
        }
}

Test(transport_local, channels_that_cannot_be) {
    ons_transport *transports[3];
    make_world(3, transports);
    static const uint32_t bad[][3] = {{0, 0, 1}, {1, 2, 1}, {0, 3, 1}, {3, 0, 1}, {0, 1, 1u << 31}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        ons_channel *channel = NULL;
        ons_status *status = transports[0]->open(transports[0], bad[i][0], bad[i][1], bad[i][2], &channel);
        cr_assert_eq(ons_status_get_code(status), ONS_DEFECT, "case %zu", i);
        ons_status_free(status);
    }
    open_channel(transports[0], 0, 1, 4);
    ons_channel *channel;
    ons_status *status = transports[0]->open(transports[0], 0, 1, 4, &channel);
    cr_assert_not_null(strstr(ons_status_get_message(status), "twice"));
    ons_status_free(status);
    for (int i = 0; i < 3; ++i) transports[i]->free(transports[i]);
}
