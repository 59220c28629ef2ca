/* Stands where libcudnn would be loaded, so that cudnn_plan.c is tested without a GPU. */
#include "tests/rooms/kernels/emulation/fake_cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_library.h"

fake_counts fake_counted;

enum { ENGINES = 8 };
static struct {
    int count;
    uint32_t notes[ENGINES];
    int64_t workspaces[ENGINES];
} offered = {1, {0}, {FAKE_WORKSPACE}};

static int handle;

void fake_offer(int engines, const uint32_t *notes, const int64_t *workspaces) {
    offered.count = engines;
    memcpy(offered.notes, notes, (size_t)engines * sizeof *notes);
    memcpy(offered.workspaces, workspaces, (size_t)engines * sizeof *workspaces);
}

void fake_require(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "cuDNN is used wrongly: %s\n", what);
    abort();
}

const fake_attribute *fake_find(const fake_descriptor *d, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type) {
    for (int i = 0; i < d->count; ++i)
        if (d->attributes[i].name == name) {
            fake_require(d->attributes[i].type == type, "an attribute's type");
            return &d->attributes[i];
        }
    return NULL;
}

const fake_attribute *fake_get(const fake_descriptor *d, cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type) {
    const fake_attribute *a = fake_find(d, name, type);
    fake_require(a != NULL, "an attribute that must be set is not");
    return a;
}

static size_t size_of(cudnnBackendAttributeType_t type) {
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE: return 8;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
    default: return 4;
    }
}

static cudnnStatus_t create_handle(cudnnHandle_t *result) {
    *result = (cudnnHandle_t)(void *)&handle;
    return CUDNN_STATUS_SUCCESS;
}

static size_t get_version(void) { return CUDNN_VERSION; }

static cudnnStatus_t set_stream(cudnnHandle_t used, cudaStream_t stream) {
    (void)stream;
    return used == (cudnnHandle_t)(void *)&handle ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static const char *error_string(cudnnStatus_t status) { return status == CUDNN_STATUS_SUCCESS ? "none" : "some"; }

static void last_error(char *text, size_t size) { snprintf(text, size, "of the fake"); }

static cudnnStatus_t create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *result) {
    fake_descriptor *d = calloc(1, sizeof *d);
    if (d == NULL) return CUDNN_STATUS_INTERNAL_ERROR;
    d->type = type;
    ++fake_counted.alive;
    *result = d;
    return CUDNN_STATUS_SUCCESS;
}

static void hold(fake_descriptor *d, int readers) {
    for (int i = 0; i < d->count; ++i)
        if (d->attributes[i].type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
            for (int64_t k = 0; k < d->attributes[i].count; ++k) d->attributes[i].descriptors[k]->readers += readers;
}

static cudnnStatus_t destroy(cudnnBackendDescriptor_t descriptor) {
    fake_descriptor *d = descriptor;
    fake_require(d->readers == 0, "a descriptor is destroyed before those that were made from it");
    if (d->finalized) hold(d, -1);
    --fake_counted.alive;
    free(d);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    fake_descriptor *d = descriptor;
    fake_require(!d->finalized, "a finalised descriptor is changed");
    fake_require(d->count < FAKE_ATTRIBUTES && count >= 1, "an attribute's count");
    fake_require(fake_find(d, name, type) == NULL, "an attribute is set twice");
    fake_attribute *a = &d->attributes[d->count++];
    *a = (fake_attribute){.name = name, .type = type, .count = count};
    if (type == CUDNN_TYPE_CHAR) return CUDNN_STATUS_SUCCESS;
    fake_require(count <= FAKE_LIST, "an attribute's count");
    memcpy(a->numbers, values, (size_t)count * size_of(type));
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; ++i)
        fake_require(a->descriptors[i] != NULL && a->descriptors[i]->finalized, "a descriptor is used before its end");
    return CUDNN_STATUS_SUCCESS;
}

/* Every tensor has an id of its own. */
static void check_operations(const fake_descriptor *d) {
    const fake_attribute *list = fake_get(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    const fake_descriptor *by_id[FAKE_LIST] = {NULL};
    for (int64_t i = 0; i < list->count; ++i)
        for (int k = 0; k < list->descriptors[i]->count; ++k) {
            const fake_attribute *a = &list->descriptors[i]->attributes[k];
            if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR || a->descriptors[0]->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
                continue;
            int64_t id = fake_get(a->descriptors[0], CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64)->numbers[0];
            fake_require(id > 0 && id < FAKE_LIST, "a tensor's id");
            fake_require(by_id[id] == NULL || by_id[id] == a->descriptors[0], "two tensors have one id");
            by_id[id] = a->descriptors[0];
        }
}

static cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
    fake_descriptor *d = descriptor;
    fake_require(!d->finalized, "a descriptor is finalised twice");
    if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) check_operations(d);
    if (d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
        int64_t rank = fake_get(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64)->count;
        fake_require(rank == fake_get(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64)->count, "a tensor's rank");
    }
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
        (void)fake_get(d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE);
        ++fake_counted.plans;
    }
    hold(d, 1);
    d->finalized = true;
    return CUDNN_STATUS_SUCCESS;
}

/* The number of an engine's configuration or of the engine goes along in place of attribute 0. */
static void number(fake_descriptor *d, int64_t value) {
    d->count = 1;
    d->attributes[0] = (fake_attribute){.name = CUDNN_ATTR_ENGINE_GLOBAL_INDEX, .type = CUDNN_TYPE_INT64, .count = 1};
    d->attributes[0].numbers[0] = value;
    d->finalized = true;
}

static int64_t number_of(const fake_descriptor *d) {
    return fake_get(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64)->numbers[0];
}

static cudnnStatus_t offer_engines(int64_t room, int64_t *count, void *values, const fake_descriptor *heuristics) {
    const fake_attribute *mode = fake_get(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE);
    const fake_attribute *graph =
        fake_get(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    fake_descriptor **results = values;
    *count = mode->code == CUDNN_HEUR_MODE_A ? offered.count : 0;
    fake_require(room >= *count, "room for engines");
    for (int64_t i = 0; i < *count; ++i) {
        fake_require(results[i]->type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "a configuration");
        number(results[i], i);
        results[i]->count = 2;
        results[i]->attributes[1] = *graph;
        results[i]->attributes[1].descriptors[0]->readers += 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, int64_t room, int64_t *count, void *values) {
    fake_descriptor *d = descriptor;
    fake_require(d->finalized, "an attribute of a descriptor that is not finalised");
    *count = 1;
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) return offer_engines(room, count, values, d);
    if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
        number(*(fake_descriptor **)values, number_of(d));
    } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64) {
        *(int64_t *)values = number_of(d);
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
        const fake_attribute *configuration =
            fake_get(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR);
        *(int64_t *)values = offered.workspaces[number_of(configuration->descriptors[0])];
    } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
        cudnnBackendNumericalNote_t *notes = values;
        *count = 0;
        for (int i = 0; i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT; ++i)
            if ((offered.notes[number_of(d)] >> i & 1) != 0 && *count < room)
                notes[(*count)++] = (cudnnBackendNumericalNote_t)i;
    } else {
        return CUDNN_STATUS_BAD_PARAM;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* An address for every tensor that is not between two operations, and for no other. */
static void check_addresses(const fake_descriptor *operations, void *const addresses[FAKE_LIST]) {
    const fake_attribute *list = fake_get(operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    for (int64_t i = 0; i < list->count; ++i)
        for (int k = 0; k < list->descriptors[i]->count; ++k) {
            const fake_attribute *a = &list->descriptors[i]->attributes[k];
            if (a->type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
            const fake_descriptor *tensor = a->descriptors[0];
            if (tensor->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
            int64_t id = fake_get(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64)->numbers[0];
            bool within = fake_find(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN) != NULL;
            fake_require(within == (addresses[id] == NULL), "a tensor's address");
        }
}

static cudnnStatus_t execute(cudnnHandle_t used, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    const fake_descriptor *p = plan, *v = pack;
    fake_require(used == (cudnnHandle_t)(void *)&handle && p->finalized && v->finalized, "what is executed");
    const fake_descriptor *configuration =
        fake_get(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    const fake_descriptor *operations =
        fake_get(configuration, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    const fake_attribute *ids = fake_get(v, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64);
    const fake_attribute *given = fake_get(v, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR);
    void *workspace = fake_get(v, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR)->addresses[0];
    void *addresses[FAKE_LIST] = {NULL};
    fake_require(ids->count == given->count, "as many addresses as ids");
    for (int64_t i = 0; i < ids->count; ++i) {
        fake_require(ids->numbers[i] > 0 && ids->numbers[i] < FAKE_LIST && addresses[ids->numbers[i]] == NULL, "an id");
        addresses[ids->numbers[i]] = given->addresses[i];
    }
    check_addresses(operations, addresses);
    /* All of it is written, so that a guard byte behind a scratch that is too small shows it. */
    int64_t bytes = offered.workspaces[number_of(configuration)];
    fake_require(bytes == 0 || workspace != NULL, "the workspace");
    if (bytes > 0) memset(workspace, 0xa5, (size_t)bytes);
    fake_run(operations, addresses);
    if (bytes > 0) memset(workspace, 0x5a, (size_t)bytes);
    ++fake_counted.runs;
    return CUDNN_STATUS_SUCCESS;
}

static const struct {
    const char *name;
    void *address;
} functions[] = {
    {"cudnnCreate", (void *)create_handle},
    {"cudnnGetVersion", (void *)get_version},
    {"cudnnSetStream", (void *)set_stream},
    {"cudnnGetErrorString", (void *)error_string},
    {"cudnnGetLastErrorString", (void *)last_error},
    {"cudnnBackendCreateDescriptor", (void *)create},
    {"cudnnBackendDestroyDescriptor", (void *)destroy},
    {"cudnnBackendSetAttribute", (void *)set},
    {"cudnnBackendGetAttribute", (void *)get},
    {"cudnnBackendFinalize", (void *)finalize},
    {"cudnnBackendExecute", (void *)execute},
};

ons_status *ons_cuda_library_load(const char *file, const char *purpose, const ons_cuda_symbol *symbols) {
    ONS_CHECK(strcmp(file, "libcudnn.so.9") == 0, ONS_DEFECT, "%s is asked for, by %s", file, purpose);
    for (const ons_cuda_symbol *symbol = symbols; symbol->name != NULL; ++symbol) {
        *symbol->address = NULL;
        for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i)
            if (strcmp(functions[i].name, symbol->name) == 0) *symbol->address = functions[i].address;
        ONS_CHECK(*symbol->address != NULL, ONS_DEFECT, "the fake has no %s", symbol->name);
    }
    return NULL;
}
