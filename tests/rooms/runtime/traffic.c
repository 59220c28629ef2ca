#include "tests/rooms/runtime/traffic.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/philox.h"

enum { CHANNELS = 12, MESSAGES = 40, GATHERS = 25, LARGEST = 300000, PARTS = 20 };

typedef struct line {
    ons_transport *transport;
    ons_channel *channel;
    uint64_t seed;
    uint32_t number, from, to;
    pthread_t thread;
    uint64_t digest; /* of what arrived */
    bool started;
} line;

static uint32_t draw(uint64_t seed, uint32_t line_number, uint32_t message, uint32_t what) {
    return ons_philox_draw(seed, line_number, (uint64_t)message << 8 | what).words[0];
}

/* Many small messages, few large ones, and empty ones. */
static size_t size_of(const line *l, uint32_t message) {
    uint32_t kind = draw(l->seed, l->number, message, 0) % 8, size = draw(l->seed, l->number, message, 1);
    return kind == 0 ? 0 : kind < 5 ? size % 64 : kind < 7 ? size % 9000 : size % LARGEST;
}

static uint64_t mix(uint64_t digest, uint64_t word) { return (digest ^ word) * 0x9E3779B97F4A7C15u + 1; }

static void fill(const line *l, uint32_t message, uint8_t *data, size_t bytes) {
    uint64_t word = (uint64_t)draw(l->seed, l->number, message, 2) << 32 | 1;
    for (size_t i = 0; i < bytes; ++i) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        data[i] = (uint8_t)(word >> 56);
    }
}

static void fail(const line *l, const char *what, uint32_t message) {
    ons_status *why =
        ons_status_new(ONS_DEFECT, "rank %u: %s, channel %u, message %u", l->transport->rank, what, l->number, message);
    l->transport->fail(l->transport, why);
    ons_status_free(why);
}

static void pause_a_little(const line *l, uint32_t message) {
    if (draw(l->seed, l->number, message, 3 + (l->transport->rank == l->to)) % 8 == 0) usleep(500);
}

/* Some messages are in parts, of which some are empty and all lie apart at both ends. */
static size_t parts_of(const line *l, uint32_t message, uint8_t *data, size_t bytes, ons_message_part *parts) {
    size_t count = draw(l->seed, l->number, message, 5) % PARTS, taken = 0;
    for (size_t i = 0; i < count; ++i) {
        size_t left = bytes - taken,
               part = i + 1 == count ? left : left * (draw(l->seed, l->number, message, 6) % 3) / 4;
        parts[i] = (ons_message_part){data + taken, part};
        taken += part;
    }
    return count;
}

/* Parts are as they lie in the message, but in the opposite order, so that they are not one stretch of memory. */
static bool transfer(const line *l, uint32_t message, uint8_t *data, size_t bytes) {
    ons_transport *t = l->transport;
    ons_message_part parts[PARTS], turned[PARTS];
    bool sends = t->rank == l->from;
    size_t count = parts_of(l, message, data, bytes, parts);
    for (size_t i = 0; i < count; ++i) turned[i] = parts[count - 1 - i];
    if (count == 0) return sends ? t->send(l->channel, data, bytes) : t->receive(l->channel, data, bytes);
    return sends ? t->send_parts(l->channel, turned, count) : t->receive_parts(l->channel, turned, count);
}

static void *serve(void *argument) {
    line *l = argument;
    uint8_t *data = malloc(LARGEST), *expected = malloc(LARGEST);
    if (data == NULL || expected == NULL) fail(l, "no memory", 0);
    for (uint32_t message = 0; data != NULL && expected != NULL && message < MESSAGES; ++message) {
        size_t bytes = size_of(l, message);
        pause_a_little(l, message);
        fill(l, message, expected, bytes);
        if (l->transport->rank == l->from) {
            memcpy(data, expected, bytes);
            if (!transfer(l, message, data, bytes)) break;
            memset(data, 0xA5, bytes); /* what was sent may be overwritten now */
            continue;
        }
        if (!transfer(l, message, data, bytes)) break;
        if (memcmp(data, expected, bytes) != 0) {
            fail(l, "something else than what was sent arrived", message);
            break;
        }
        for (size_t i = 0; i < bytes; ++i) l->digest = mix(l->digest, data[i]);
    }
    free(data);
    free(expected);
    return NULL;
}

/* Each rank brings its number of the round; all compare all. */
static bool gather_all_rounds(ons_transport *transport, uint64_t seed, uint64_t *all) {
    for (uint32_t round = 0; round < GATHERS; ++round) {
        uint64_t mine = draw(seed, 1000 + round, transport->rank, 9);
        if (!transport->gather(transport, &mine, all, sizeof mine)) return false;
        for (uint32_t rank = 0; rank < transport->ranks; ++rank)
            if (all[rank] != draw(seed, 1000 + round, rank, 9)) {
                fail(&(line){.transport = transport, .number = round}, "a gather brought something else", round);
                return false;
            }
    }
    return true;
}

static ons_status *open_lines(ons_transport *transport, uint64_t seed, line *lines) {
    for (uint32_t i = 0; i < CHANNELS && transport->ranks > 1; ++i) {
        uint32_t from = draw(seed, i, 0, 7) % transport->ranks;
        uint32_t to = (from + 1 + draw(seed, i, 0, 8) % (transport->ranks - 1)) % transport->ranks;
        lines[i] = (line){.transport = transport, .seed = seed, .number = i, .from = from, .to = to};
        if (from == transport->rank || to == transport->rank)
            ONS_TRY(transport->open(transport, from, to, i, &lines[i].channel));
    }
    return NULL;
}

ons_status *ons_traffic_run(ons_transport *transport, uint64_t seed, uint64_t *digest) {
    line lines[CHANNELS] = {0};
    ONS_TRY(open_lines(transport, seed, lines));
    uint64_t *all = calloc(transport->ranks, sizeof *all);
    if (all == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < CHANNELS; ++i) {
        if (lines[i].channel == NULL) continue;
        lines[i].started = pthread_create(&lines[i].thread, NULL, serve, &lines[i]) == 0;
        if (!lines[i].started) fail(&lines[i], "no thread", 0);
    }
    bool good = gather_all_rounds(transport, seed, all);
    uint64_t mine = 0;
    for (uint32_t i = 0; i < CHANNELS; ++i) {
        if (lines[i].started) pthread_join(lines[i].thread, NULL);
        mine = mix(mine, lines[i].digest);
    }
    good = good && transport->gather(transport, &mine, all, sizeof mine);
    *digest = seed;
    for (uint32_t rank = 0; good && rank < transport->ranks; ++rank) *digest = mix(*digest, all[rank]);
    free(all);
    return good ? NULL : transport->failure(transport);
}
