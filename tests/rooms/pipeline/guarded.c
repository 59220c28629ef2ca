#include "tests/rooms/pipeline/guarded.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/program/poison.h"

enum { GUARD = 4096, DEVICES = 256, GUARD_BYTE = 0xA7, POISON_BYTE = 0xFF };

typedef struct block {
    ons_device *device;
    unsigned char *address; /* behind the first guard */
    int64_t bytes;
    uint32_t allocations;
} block;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block blocks[DEVICES];
static ons_status *(*real_allocate)(ons_device *device, int64_t bytes, void **address);
static void (*real_release)(ons_device *device, void *address, int64_t bytes);
static void (*real_free)(ons_device *device);

ons_status *__real_ons_cpu_device_new(int64_t limit_bytes, bool pin, ons_device **device); /* NOLINT */
ons_status *__wrap_ons_cpu_device_new(int64_t limit_bytes, bool pin, ons_device **device); /* NOLINT */

/* NULL asks for a free one. */
static block *find_block(const ons_device *device) {
    block *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < DEVICES && found == NULL; ++i)
        if (blocks[i].device == device) found = &blocks[i];
    pthread_mutex_unlock(&lock);
    return found;
}

static ons_status *allocate(ons_device *device, int64_t bytes, void **address) {
    block *b = find_block(device);
    int64_t limit = device->limit_bytes;
    if (limit > 0) device->limit_bytes = limit + 2 * GUARD;
    ons_status *status = real_allocate(device, bytes + 2 * GUARD, address);
    device->limit_bytes = limit;
    if (status != NULL) return status;
    device->used_bytes -= 2 * GUARD;
    unsigned char *begin = *address;
    memset(begin, GUARD_BYTE, GUARD);
    memset(begin + GUARD + bytes, GUARD_BYTE, GUARD);
    b->address = begin + GUARD;
    b->bytes = bytes;
    ++b->allocations;
    *address = b->address;
    return NULL;
}

static void release(ons_device *device, void *address, int64_t bytes) {
    if (address == NULL) return;
    device->used_bytes += 2 * GUARD;
    real_release(device, (char *)address - GUARD, bytes + 2 * GUARD);
}

static void free_device(ons_device *device) {
    block *b = find_block(device);
    real_free(device);
    pthread_mutex_lock(&lock);
    *b = (block){.device = NULL};
    pthread_mutex_unlock(&lock);
}

ons_status *__wrap_ons_cpu_device_new(int64_t limit_bytes, bool pin, ons_device **result) { /* NOLINT */
    ONS_TRY(__real_ons_cpu_device_new(limit_bytes, pin, result));
    ons_device *device = *result;
    pthread_mutex_lock(&lock);
    real_allocate = device->allocate;
    real_release = device->release;
    real_free = device->free;
    for (int i = 0; i < DEVICES; ++i)
        if (blocks[i].device == NULL) {
            blocks[i] = (block){.device = device};
            device->allocate = allocate;
            device->release = release;
            device->free = free_device;
            break;
        }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Memory that the host cannot access has no guards here, and what comes from replicas is poisoned, too. */
static bool is_far(const ons_device_context *device_context) {
    return !ons_device_context_device(device_context)->host_can_access;
}

static ons_status *poison_far(ons_device_context *device_context) {
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(device_context, &memory));
    char *begin = (char *)ons_device_context_staging(device_context) - memory.transient;
    size_t bytes = (size_t)(memory.transient + memory.staging);
    void *poison = malloc(bytes + 1);
    if (poison == NULL) return ons_status_out_of_memory();
    memset(poison, POISON_BYTE, bytes);
    ons_status *status = ons_device_context_copy(device_context, begin, poison, bytes);
    free(poison);
    return status;
}

ons_status *guarded_poison(ons_device_context *device_context) {
    ons_device_context_memory memory;
    if (is_far(device_context)) return poison_far(device_context);
    const block *b = find_block(ons_device_context_device(device_context));
    ONS_TRY(ons_device_context_predict(device_context, &memory));
    ons_unpoison(b->address + (memory.total - memory.transient), memory.transient);
    memset(b->address + (memory.total - memory.transient), POISON_BYTE, (size_t)memory.transient);
    ons_device_context_bury_all(device_context);
    return NULL;
}

ons_status *guarded_check(const ons_device_context *device_context) {
    ons_device_context_memory memory;
    ONS_TRY(ons_device_context_predict(device_context, &memory));
    ONS_CHECK(ons_device_context_used(device_context) == memory.total, ONS_DEFECT,
              "%lld bytes were predicted, %lld taken", (long long)memory.total,
              (long long)ons_device_context_used(device_context));
    if (is_far(device_context)) return NULL;
    const block *b = find_block(ons_device_context_device(device_context));
    ONS_CHECK(b->allocations == 1, ONS_DEFECT, "%u blocks were taken on a device", b->allocations);
    ONS_CHECK(b->bytes == memory.total, ONS_DEFECT, "%lld bytes were predicted, %lld taken", (long long)memory.total,
              (long long)b->bytes);
    for (int i = 0; i < GUARD; ++i)
        ONS_CHECK(b->address[-1 - i] == GUARD_BYTE && b->address[b->bytes + i] == GUARD_BYTE, ONS_DEFECT,
                  "something was written %d bytes outside an arena", i);
    return NULL;
}
