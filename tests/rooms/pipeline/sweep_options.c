#include "tests/rooms/pipeline/sweep_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/rooms/pipeline/sweep_plan.h"

enum { MOST = 32, TEXT_BYTES = 1024 };

/* NAME, VALUE, and the list of its parts. */
typedef struct list {
    const char *name, *text;
    const char *items[MOST];
    uint32_t count;
} list;

static list lists[SWEEP_LISTS] = {
    [SWEEP_MODELS] = {"--models",
                      "mlp,mlp_frozen,lenet,cnn_dynamic,dynamo_cnn,gpt_tied,gpt_decomposed,dynamo_gpt,resnet18",
                      {0},
                      0},
    [SWEEP_MICRO_BATCHES] = {"--micro-batches", "4", {0}, 0},
    [SWEEP_THREADS] = {"--threads", "1", {0}, 0},
    [SWEEP_REPLICAS] = {"--replicas", "1", {0}, 0},
    [SWEEP_PIPELINES] = {"--pipelines", NULL, {0}, 0},
    [SWEEP_DEVICES] = {"--devices", "2,3,4", {0}, 0},
    [SWEEP_CHUNKS] = {"--chunks", "1,2", {0}, 0},
    [SWEEP_CUTS] = {"--cuts", "planned,capped", {0}, 0},
    [SWEEP_ROUNDS] = {"--rounds", "1", {0}, 0},
    [SWEEP_TRANSPORTS] = {"--transports", "local,mpi", {0}, 0},
    [SWEEP_STEPS] = {"--steps", "3", {0}, 0},
    [SWEEP_SEED] = {"--seed", "1", {0}, 0},
    [SWEEP_ONE_IN] = {"--one-in", "1", {0}, 0},
};

static uint64_t seed;

/* Every generator, GraphPipe's stages, and the lists of sweep_plan.h. */
static const char *all_schedules(void) {
    static char text[TEXT_BYTES];
    for (const ons_generator *const *g = ons_generators; *g != NULL; ++g) {
        if ((*g)->group != NULL) continue; /* its bits are others: chimera_test */
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s,", (*g)->name);
    }
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, "graphpipe,flexpipe,separated");
    return text;
}

/* The items live as long as the program. */
static void split(list *l) {
    static char copies[SWEEP_LISTS][TEXT_BYTES];
    char *rest = copies[l - lists], *item;
    snprintf(rest, TEXT_BYTES, "%s", l->text);
    while (l->count < MOST && (item = strsep(&rest, ",")) != NULL) l->items[l->count++] = item;
}

static bool is_eviction(const char *name) {
    for (pipeline_eviction r = PIPELINE_KEEPS; r < PIPELINE_EVICTIONS; ++r)
        if (strcmp(pipeline_eviction_name(r), name) == 0) return true;
    return false;
}

static bool is_cut(const char *name) {
    static const char *const by_chance[] = {"slices", "anywhere"};
    for (int i = 0; i < 2; ++i) {
        size_t length = strlen(by_chance[i]);
        if (strncmp(name, by_chance[i], length) != 0) continue;
        return name[length] == '\0' || (name[length] == '/' && is_eviction(name + length + 1));
    }
    return strcmp(name, "planned") == 0 || strcmp(name, "capped") == 0;
}

static bool is_transport(const char *name) { return strcmp(name, "local") == 0 || strcmp(name, "mpi") == 0; }

static bool all_are(sweep_list l, bool (*known)(const char *name)) {
    for (uint32_t i = 0; i < lists[l].count; ++i)
        if (!known(lists[l].items[i])) return false;
    return true;
}

static bool read_arguments(int argc, char **argv) {
    lists[SWEEP_PIPELINES].text = all_schedules();
    for (int i = 1; i < argc; i += 2) {
        int at = 0;
        while (at < SWEEP_LISTS && strcmp(lists[at].name, argv[i]) != 0) ++at;
        if (at == SWEEP_LISTS || i + 1 == argc) return false;
        lists[at].text = argv[i + 1];
    }
    for (int i = 0; i < SWEEP_LISTS; ++i) split(&lists[i]);
    return all_are(SWEEP_CUTS, is_cut) && all_are(SWEEP_TRANSPORTS, is_transport) &&
           all_are(SWEEP_PIPELINES, sweep_knows_schedule) && sweep_product() > 0;
}

bool sweep_parse(int argc, char **argv) {
    bool good = read_arguments(argc, argv);
    seed = sweep_number(SWEEP_SEED, 0);
    if (seed == 0) seed = (uint64_t)time(NULL);
    if (good) return true;
    fprintf(stderr, "usage: sweep [--NAME A,B,…]…; names and defaults:\n");
    for (int i = 0; i < SWEEP_LISTS; ++i) fprintf(stderr, "    %s %s\n", lists[i].name, lists[i].text);
    fprintf(stderr, "cuts: planned, capped, slices, anywhere; the last two with /swap, /recompute or /both\n");
    return false;
}

const char *sweep_item(sweep_list l, uint32_t index) { return lists[l].items[index]; }

uint64_t sweep_number(sweep_list l, uint32_t index) {
    return lists[l].count == 0 ? 0 : strtoull(lists[l].items[index], NULL, 10);
}

uint32_t sweep_count(sweep_list l) { return l == SWEEP_ROUNDS ? (uint32_t)sweep_number(l, 0) : lists[l].count; }

uint64_t sweep_product(void) {
    uint64_t product = 1;
    for (sweep_list l = SWEEP_MODELS; l < SWEEP_DIMENSIONS; ++l) product *= sweep_count(l);
    return product;
}

void sweep_decode(uint64_t number, uint32_t at[SWEEP_DIMENSIONS]) {
    for (uint32_t l = SWEEP_DIMENSIONS; l-- > 0;) {
        uint32_t count = sweep_count((sweep_list)l);
        if (count == 0) return; /* then there are no cases */
        at[l] = (uint32_t)(number % count);
        number /= count;
    }
}

uint64_t sweep_seed(void) { return seed; }

/* (The mixing of splitmix64.) */
bool sweep_is_drawn(uint64_t number) {
    uint64_t one_in = sweep_number(SWEEP_ONE_IN, 0), x = seed + (number + 1) * 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    x ^= x >> 31;
    return one_in <= 1 || x % one_in == 0;
}
