#include "device/cuda_memory.h"

#include <pthread.h>

#include "device/cuda_library.h"

enum { GPUS_MOST = 64 };

static struct {
    pthread_mutex_t lock;
    bool noted[GPUS_MOST];
    int64_t before[GPUS_MOST]; /* free then; 0: not known */
    int64_t ours[GPUS_MOST];
} accounts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* nvmlMemory_t of the library. */
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;

typedef struct nvml {
    int (*init)(void);
    int (*find)(const char *place, void **gpu);
    int (*memory)(void *gpu, nvml_memory *memory);
    int (*shutdown)(void);
} nvml;

static int64_t free_by_nvml(const char *place) {
    nvml n;
    void *gpu;
    nvml_memory memory;
    const ons_cuda_symbol symbols[] = {
        {"nvmlInit_v2", (void **)&n.init},
        {"nvmlDeviceGetHandleByPciBusId_v2", (void **)&n.find},
        {"nvmlDeviceGetMemoryInfo", (void **)&n.memory},
        {"nvmlShutdown", (void **)&n.shutdown},
        {NULL, NULL},
    };
    ons_status *status = ons_cuda_library_load("libnvidia-ml.so.1", "measurements of memory", symbols);
    if (status != NULL) {
        ons_status_free(status);
        return 0;
    }
    if (n.init() != 0) return 0;
    bool known = n.find(place, &gpu) == 0 && n.memory(gpu, &memory) == 0;
    n.shutdown();
    return known ? (int64_t)memory.free : 0;
}

void ons_cuda_memory_note(int index, const char *place) {
    if (index < 0 || index >= GPUS_MOST) return;
    pthread_mutex_lock(&accounts.lock);
    if (!accounts.noted[index]) accounts.before[index] = free_by_nvml(place);
    accounts.noted[index] = true;
    pthread_mutex_unlock(&accounts.lock);
}

void ons_cuda_memory_count(int index, int64_t bytes) {
    if (index < 0 || index >= GPUS_MOST) return;
    pthread_mutex_lock(&accounts.lock);
    accounts.ours[index] += bytes;
    pthread_mutex_unlock(&accounts.lock);
}

int64_t ons_cuda_reserve(int index, const ons_cuda_memory *now) {
    if (index < 0 || index >= GPUS_MOST) return 0;
    pthread_mutex_lock(&accounts.lock);
    int64_t before = accounts.before[index] > 0 ? accounts.before[index] : now->total_bytes;
    int64_t reserve = before - now->free_bytes - accounts.ours[index];
    pthread_mutex_unlock(&accounts.lock);
    return reserve > 0 ? reserve : 0;
}
