/* The plans of cudnn_graph.h by cuDNN's backend API; the library is loaded when the first is asked for.
 *
 * Engines are tried in the order of the library's heuristics, which depends on nothing but the graph, the GPU and the
 * library. Those that may give other bits another time are left out, and those that round products further than the
 * graph says. A graph is planned once; so is, in vain, one that has no plan.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "device/cuda.h"
#include "device/cuda_library.h"
#include "kernels/common/cudnn/cudnn_descriptors.h"

/* As many candidates as the library is asked for at once. */
enum { CANDIDATES = 64, DEVICES = 64, NAME = 48, VERSION_NEEDED = 90800 };

/* More is not worth its place in the arena. */
static const int64_t workspace_most = (int64_t)1 << 30;

/* A graph that has been planned. */
typedef struct entry {
    struct entry *next;
    ons_cudnn_graph graph;
    int device; /* its kernels are there */
    int64_t limit, workspace;
    char *why_not; /* NULL: it has a plan */
    char name[NAME];
    ons_cudnn_descriptors descriptors;
    cudnnBackendDescriptor_t plan;
} entry;

static struct {
    pthread_mutex_t lock;
    bool loaded;
    ons_cudnn_library functions;
    cudnnHandle_t handles[DEVICES];  /* by GPU */
    ons_cudnn_descriptors described; /* a GPU that need not be there */
    cudnnBackendDescriptor_t properties;
    entry *entries;
} dnn = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct ons_cudnn_plan {
    const entry *entry;
    ons_cudnn_descriptors packs; /* none, or one */
    void *addresses[ONS_CUDNN_TENSORS];
    void *scratch;
};

/* ---------------------------------------------------------------------------------------------------------- library */

static ons_status *load(void) {
    ONS_CHECK(!ons_environment_is_off(ONS_ENV_ONSTAGE_CUDNN), ONS_UNSUPPORTED, "ONSTAGE_CUDNN=off");
    if (dnn.loaded) return NULL;
#define SYMBOL(NAME) {#NAME, (void **)&dnn.functions.NAME},
    const ons_cuda_symbol symbols[] = {ONS_CUDNN_FUNCTIONS(SYMBOL){NULL, NULL}};
    ONS_TRY(ons_cuda_library_load("libcudnn.so.9", "convolutions and attention", symbols));
    ONS_CHECK(dnn.functions.cudnnGetVersion() >= VERSION_NEEDED, ONS_UNSUPPORTED, "cuDNN %zu is too old, %d is needed",
              dnn.functions.cudnnGetVersion(), VERSION_NEEDED);
    dnn.loaded = true;
    return NULL;
}

/* The handle of the GPU that this thread's calls go to. */
static ons_status *find_handle(cudnnHandle_t *handle) {
    int device = ons_cuda_current();
    ONS_CHECK(device >= 0 && device < DEVICES, ONS_UNSUPPORTED, "cuDNN: GPU %d", device);
    if (dnn.handles[device] == NULL) {
        cudnnStatus_t status = dnn.functions.cudnnCreate(&dnn.handles[device]);
        if (status != CUDNN_STATUS_SUCCESS) dnn.handles[device] = NULL;
        ONS_CHECK(status == CUDNN_STATUS_SUCCESS, ONS_UNSUPPORTED, "cuDNN: a handle: %s",
                  dnn.functions.cudnnGetErrorString(status));
    }
    *handle = dnn.handles[device];
    return NULL;
}

static ons_status *find_target(ons_cudnn_target *target) {
    ONS_TRY(load());
    *target = (ons_cudnn_target){NULL, dnn.properties};
    return dnn.properties != NULL ? NULL : find_handle(&target->handle);
}

/* --------------------------------------------------------------------------------------------------------- planning */

/* The engine's number, and whether it does what the graph asks for. */
static bool is_usable(entry *e, cudnnBackendDescriptor_t configuration, int64_t *number) {
    ons_cudnn_descriptors *list = &e->descriptors;
    const ons_cudnn_library *f = list->library;
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t count = 0, got = 0;
    int before = list->count;
    cudnnBackendDescriptor_t engine = ons_cudnn_make(list, CUDNN_BACKEND_ENGINE_DESCRIPTOR, "an engine");
    bool good = engine != NULL &&
                f->cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                            1, &got, &engine) == CUDNN_STATUS_SUCCESS &&
                f->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) == CUDNN_STATUS_SUCCESS &&
                f->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &got,
                                            number) == CUDNN_STATUS_SUCCESS;
    for (int64_t i = 0; good && i < count; ++i) {
        switch (notes[i]) {
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION: good = false; break;
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: good = e->graph.exact == 0; break;
        default: break;
        }
    }
    ons_cudnn_destroy(list, before);
    return good;
}

/* Whether the configuration makes a plan within the limit; the plan's descriptor then stays. */
static bool make_plan(entry *e, const ons_cudnn_target *target, cudnnBackendDescriptor_t configuration) {
    ons_cudnn_descriptors *list = &e->descriptors;
    int64_t got = 0;
    int before = list->count;
    cudnnBackendDescriptor_t plan = ons_cudnn_make(list, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "a plan");
    ons_cudnn_set(list, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                  &configuration);
    if (target->handle != NULL)
        ons_cudnn_set(list, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target->handle);
    else
        ons_cudnn_set(list, plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                      &target->properties);
    ons_cudnn_finalize(list, plan);
    if (list->status == CUDNN_STATUS_SUCCESS)
        list->status = list->library->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                               CUDNN_TYPE_INT64, 1, &got, &e->workspace);
    bool good = list->status == CUDNN_STATUS_SUCCESS && e->workspace <= e->limit;
    list->status = CUDNN_STATUS_SUCCESS;
    if (good)
        e->plan = plan;
    else
        ons_cudnn_destroy(list, before);
    return good;
}

/* The first of the heuristics' configurations that will do; the others are destroyed. */
static bool choose(entry *e, const ons_cudnn_target *target, cudnnBackendDescriptor_t operations,
                   cudnnBackendHeurMode_t mode) {
    ons_cudnn_descriptors *list = &e->descriptors, found = {.library = list->library};
    cudnnBackendDescriptor_t heuristics =
        ons_cudnn_make(&found, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "asking for engines");
    ons_cudnn_set(&found, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                  &operations);
    ons_cudnn_set(&found, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (target->handle == NULL)
        ons_cudnn_set(&found, heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                      &target->properties);
    ons_cudnn_finalize(&found, heuristics);
    int first = found.count;
    for (int i = 0; i < CANDIDATES; ++i)
        (void)ons_cudnn_make(&found, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "an engine's configuration");
    int64_t count = 0;
    if (found.status == CUDNN_STATUS_SUCCESS)
        found.status = list->library->cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                               CUDNN_TYPE_BACKEND_DESCRIPTOR, CANDIDATES, &count,
                                                               &found.items[first]);
    bool good = false;
    for (int i = first; !good && found.status == CUDNN_STATUS_SUCCESS && i < first + count; ++i) {
        int64_t number = 0;
        cudnnBackendDescriptor_t configuration = found.items[i];
        if (!is_usable(e, configuration, &number) || !make_plan(e, target, configuration)) continue;
        good = true;
        snprintf(e->name, sizeof e->name, "cuDNN: engine %lld", (long long)number);
        found.items[i] = found.items[--found.count]; /* stays, and goes after the plan that was made from it */
        list->items[list->count - 1] = configuration;
        list->items[list->count++] = e->plan;
    }
    ons_cudnn_destroy(&found, 0);
    return good;
}

static ons_status *plan_graph(entry *e) {
    ons_cudnn_target target;
    ONS_TRY(find_target(&target));
    e->descriptors.library = &dnn.functions;
    cudnnBackendDescriptor_t operations = ons_cudnn_describe(&e->descriptors, &e->graph, &target);
    ONS_TRY(ons_cudnn_failure(&e->descriptors));
    if (choose(e, &target, operations, CUDNN_HEUR_MODE_A) || choose(e, &target, operations, CUDNN_HEUR_MODE_FALLBACK))
        return NULL;
    return ons_status_new(ONS_UNSUPPORTED,
                          "cuDNN has no engine for it that gives the same bits every time within %lld bytes",
                          (long long)e->limit);
}

static void forget(entry *e) {
    if (e->descriptors.library != NULL) ons_cudnn_destroy(&e->descriptors, 0);
    free(e->why_not);
    free(e);
}

/* Two graphs: bytes, since there are no gaps between their fields. */
static bool is_same(const void *a, const void *b) { return memcmp(a, b, sizeof(ons_cudnn_graph)) == 0; }

static ons_status *find_entry(const ons_cudnn_graph *graph, int64_t limit, const entry **result) {
    limit = limit < workspace_most ? limit : workspace_most;
    int device = ons_cuda_current();
    entry *e = dnn.entries;
    while (e != NULL && (e->device != device || e->limit != limit || !is_same(&e->graph, graph))) e = e->next;
    if (e == NULL) {
        e = calloc(1, sizeof *e);
        if (e == NULL) return ons_status_out_of_memory();
        memcpy(&e->graph, graph, sizeof *graph);
        e->device = device;
        e->limit = limit;
        ons_status *status = plan_graph(e);
        if (status != NULL) {
            e->why_not = strdup(ons_status_get_message(status));
            ons_status_free(status);
            if (e->descriptors.library != NULL) ons_cudnn_destroy(&e->descriptors, 0);
        }
        e->next = dnn.entries;
        dnn.entries = e;
    }
    ONS_CHECK(e->why_not == NULL, ONS_UNSUPPORTED, "%s", e->why_not);
    *result = e;
    return NULL;
}

/* ------------------------------------------------------------------------------------------------- of cudnn_graph.h */

bool ons_cudnn_is_there(void) { return true; }

ons_status *ons_cudnn_plan_new(const ons_cudnn_graph *graph, int64_t workspace_limit, ons_cudnn_plan **result) {
    const entry *found = NULL;
    pthread_mutex_lock(&dnn.lock);
    ons_status *status = find_entry(graph, workspace_limit, &found);
    pthread_mutex_unlock(&dnn.lock);
    if (status != NULL) return status;
    ons_cudnn_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return ons_status_out_of_memory();
    plan->entry = found;
    plan->packs.library = &dnn.functions;
    *result = plan;
    return NULL;
}

void ons_cudnn_plan_free(ons_cudnn_plan *plan) {
    if (plan == NULL) return;
    ons_cudnn_destroy(&plan->packs, 0);
    free(plan);
}

static int64_t own_workspace(const entry *e) { return (e->workspace + 255) / 256 * 256; }

int64_t ons_cudnn_plan_scratch(const ons_cudnn_plan *plan) {
    return own_workspace(plan->entry) + plan->entry->graph.scratch_bytes;
}

const char *ons_cudnn_plan_name(const ons_cudnn_plan *plan) { return plan->entry->name; }

/* The library's list of addresses; a node's are mostly the same from run to run. */
static void pack(ons_cudnn_plan *plan, const void *const *arguments, char *scratch) {
    const ons_cudnn_graph *graph = &plan->entry->graph;
    int64_t numbers[ONS_CUDNN_TENSORS], count = 0;
    void *addresses[ONS_CUDNN_TENSORS] = {NULL};
    for (int64_t i = 0; i < graph->tensor_count; ++i) {
        const ons_cudnn_tensor *tensor = &graph->tensors[i];
        if (tensor->place == ONS_CUDNN_WITHIN) continue;
        numbers[count] = ons_cudnn_number_of(i);
        addresses[count++] = tensor->place == ONS_CUDNN_ARGUMENT  ? (void *)arguments[tensor->slot]
                             : tensor->place == ONS_CUDNN_SCRATCH ? scratch + own_workspace(plan->entry) + tensor->slot
                                                                  : (void *)&tensor->number;
    }
    bool same =
        plan->packs.count > 0 && plan->scratch == scratch && memcmp(addresses, plan->addresses, sizeof addresses) == 0;
    if (same) return;
    ons_cudnn_destroy(&plan->packs, 0);
    memcpy(plan->addresses, addresses, sizeof addresses);
    plan->scratch = scratch;
    cudnnBackendDescriptor_t made =
        ons_cudnn_make(&plan->packs, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "a list of addresses");
    ons_cudnn_set(&plan->packs, made, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, numbers);
    ons_cudnn_set(&plan->packs, made, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses);
    ons_cudnn_set(&plan->packs, made, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &scratch);
    ons_cudnn_finalize(&plan->packs, made);
}

static void note_failure(const entry *e, cudnnStatus_t status) {
    char detail[160] = "", reason[256];
    dnn.functions.cudnnGetLastErrorString(detail, sizeof detail);
    snprintf(reason, sizeof reason, "%s by %s: %s", dnn.functions.cudnnGetErrorString(status), e->name, detail);
    ons_cuda_note((int)status, "cuDNN", reason);
}

void ons_cudnn_plan_run(ons_cudnn_plan *plan, uintptr_t stream, const void *const *arguments, void *scratch) {
    pack(plan, arguments, scratch);
    cudnnStatus_t status = plan->packs.status;
    cudnnHandle_t handle = NULL;
    pthread_mutex_lock(&dnn.lock);
    if (status == CUDNN_STATUS_SUCCESS) {
        ons_status *found = find_handle(&handle);
        if (found != NULL) status = CUDNN_STATUS_NOT_INITIALIZED;
        ons_status_free(found);
    }
    if (status == CUDNN_STATUS_SUCCESS) status = dnn.functions.cudnnSetStream(handle, (cudaStream_t)stream);
    if (status == CUDNN_STATUS_SUCCESS)
        status = dnn.functions.cudnnBackendExecute(handle, plan->entry->plan, plan->packs.items[0]);
    if (status != CUDNN_STATUS_SUCCESS) note_failure(plan->entry, status);
    pthread_mutex_unlock(&dnn.lock);
}

void ons_cudnn_plan_for(const char *device_json) {
    pthread_mutex_lock(&dnn.lock);
    while (dnn.entries != NULL) {
        entry *next = dnn.entries->next;
        forget(dnn.entries);
        dnn.entries = next;
    }
    if (dnn.described.library != NULL) ons_cudnn_destroy(&dnn.described, 0);
    dnn.properties = NULL;
    ons_status *status = load();
    if (status == NULL && device_json != NULL) {
        dnn.described = (ons_cudnn_descriptors){.library = &dnn.functions};
        dnn.properties = ons_cudnn_make(&dnn.described, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "a GPU's description");
        ons_cudnn_set(&dnn.described, dnn.properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                      (int64_t)strlen(device_json), device_json);
        ons_cudnn_finalize(&dnn.described, dnn.properties);
        if (dnn.described.status != CUDNN_STATUS_SUCCESS) dnn.properties = NULL;
    }
    ons_status_free(status);
    pthread_mutex_unlock(&dnn.lock);
}
