/* Memory of the GPUs and pinned memory, copies. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "tests/fake_gpu/cuda_runtime/fake_state.h"

enum { PAGE = 4096, ALIGNMENT = 256 };

bool fake_overlaps(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (const char *)a < (const char *)b + b_bytes && (const char *)b < (const char *)a + a_bytes;
}

fake_block *fake_block_of(const void *address, size_t bytes) {
    for (fake_block *b = fake.blocks; b != NULL; b = b->next)
        if (fake_overlaps(address, bytes > 0 ? bytes : 1, b->address, b->bytes)) return b;
    return NULL;
}

uint64_t fake_sum(const void *memory, size_t bytes) {
    uint64_t sum = ONS_HASH_BASIS, word;
    const char *at = memory;
    for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * ONS_HASH_PRIME;
    }
    return ons_hash_bytes(sum, at, bytes) | 1;
}

/* -------------------------------------------------------------------------------------------------- taking, freeing */

static void add_block(fake_block block) {
    fake_block *b = malloc(sizeof *b);
    if (b == NULL) abort();
    *b = block;
    b->next = fake.blocks;
    fake.blocks = b;
    ++*(b->gpu >= 0 ? &fake.left.device_blocks : &fake.left.host_blocks);
}

/* Ends where its pages end, as nearly as its alignment allows: no more of that than CUDA promises. */
cudaError_t cudaMalloc(void **address, size_t bytes) {
    cudaError_t error = fake_enter("cudaMalloc", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess && bytes == 0) error = fake_complain(cudaErrorInvalidValue, "cudaMalloc of no bytes");
    if (error == cudaSuccess &&
        (fake_fails(FAKE_CUDA_REFUSE_MEMORY) || fake.taken[fake_gpu] + (int64_t)bytes > fake.total - fake.reserve))
        error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess) return fake_leave(error);
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, pages = (whole + PAGE - 1) / PAGE * PAGE;
    char *mapped = mmap(NULL, pages + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) abort();
    add_block((fake_block){
        .address = mapped + pages - whole, .bytes = bytes, .pages = mapped, .page_bytes = pages, .gpu = fake_gpu});
    fake.taken[fake_gpu] += (int64_t)bytes;
    ++fake.counts.allocations;
    *address = mapped + pages - whole;
    fake_open_memory(true);
    memset(*address, 0xA7, bytes); /* as much as one may rely on */
    fake_open_memory(false);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **address, size_t bytes, unsigned flags) {
    cudaError_t error = fake_enter("cudaHostAlloc", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess && (bytes == 0 || flags != cudaHostAllocDefault))
        error = fake_complain(cudaErrorInvalidValue, "cudaHostAlloc of %zu bytes, flags %u", bytes, flags);
    if (error == cudaSuccess && fake_fails(FAKE_CUDA_REFUSE_HOST_MEMORY)) error = cudaErrorMemoryAllocation;
    if (error != cudaSuccess) return fake_leave(error);
    *address = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (*address == NULL) abort();
    memset(*address, 0xA7, bytes);
    add_block((fake_block){.address = *address, .bytes = bytes, .gpu = -1});
    return fake_leave(cudaSuccess);
}

static bool uses(const gpu_operation *o, const void *argument) {
    const fake_block *b = argument;
    if (o->kind == COPY && o->staged == NULL && fake_overlaps(o->from, o->bytes, b->address, b->bytes)) return true;
    if ((o->kind == COPY || o->kind == FILL) && fake_overlaps(o->to, o->bytes, b->address, b->bytes)) return true;
    for (size_t i = 0; i < o->touch_count; ++i)
        if (fake_overlaps(o->touches[i], 1, b->address, b->bytes)) return true;
    return false;
}

static cudaError_t free_block(const char *name, void *address, bool of_host) {
    cudaError_t error = fake_enter(name, NO_CAPTURE);
    if (address == NULL) return fake_leave(error);
    fake_block **at = &fake.blocks;
    while (*at != NULL && ((*at)->address != address || ((*at)->gpu < 0) != of_host)) at = &(*at)->next;
    if (*at == NULL)
        return fake_leave(fake_complain(cudaErrorInvalidValue, "%s of what was not taken, or is free", name));
    fake_block *b = *at;
    if (fake.lost == cudaSuccess && fake_any_pending(uses, b))
        error = fake_complain(cudaErrorInvalidValue, "%s of memory that work on a stream needs", name);
    *at = b->next;
    --*(of_host ? &fake.left.host_blocks : &fake.left.device_blocks);
    if (of_host) {
        free(b->address);
    } else {
        munmap(b->pages, b->page_bytes + PAGE);
        fake.taken[b->gpu] -= (int64_t)b->bytes;
    }
    free(b);
    return fake_leave(error);
}

cudaError_t cudaFree(void *address) { return free_block("cudaFree", address, false); }

cudaError_t cudaFreeHost(void *address) { return free_block("cudaFreeHost", address, true); }

/* ----------------------------------------------------------------------------------------------------------- copies */

/* *block: NULL where it is the host's, and not pinned. */
static cudaError_t look_up(const void *address, size_t bytes, const char *what, fake_block **block) {
    fake_block *b = *block = fake_block_of(address, bytes);
    if (b == NULL || ((const char *)address >= b->address && (const char *)address + bytes <= b->address + b->bytes))
        return cudaSuccess;
    return fake_complain(cudaErrorInvalidValue, "%s %zu bytes at %p, which begin or end outside of a block", what,
                         bytes, address);
}

static cudaError_t check_kind(enum cudaMemcpyKind kind, const fake_block *to, const fake_block *from) {
    bool from_gpu = from != NULL && from->gpu >= 0, to_gpu = to != NULL && to->gpu >= 0;
    enum cudaMemcpyKind is = from_gpu ? (to_gpu ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost)
                                      : (to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
    if (kind == cudaMemcpyDefault || kind == is) return cudaSuccess;
    return fake_complain(cudaErrorInvalidMemcpyDirection, "a copy of kind %d is said to be one of kind %d", (int)is,
                         (int)kind);
}

static bool writes(const gpu_operation *o, const void *copy) {
    const gpu_operation *c = copy;
    return o->kind == COPY && fake_overlaps(o->to, o->bytes, c->from, c->bytes);
}

/* 0: others may write there until it runs. */
static uint64_t watch(const gpu_operation *o) {
    const fake_block *b = fake_block_of(o->from, o->bytes);
    return b == NULL || b->gpu >= 0 || fake_any_pending(writes, o) ? 0 : fake_sum(o->from, o->bytes);
}

uint64_t *fake_watch(const fake_graph *graph) {
    const gpu_operations *nodes = &graph->recorded.operations;
    size_t count = nodes->count;
    uint64_t *sums = calloc(count + 1, sizeof *sums);
    if (sums == NULL) abort();
    for (size_t i = 0; i < count; ++i) {
        const gpu_operation *o = &nodes->items[i];
        bool written = o->kind != COPY;
        for (size_t k = 0; k < count && !written; ++k) written = writes(&nodes->items[k], o);
        if (!written) sums[i] = watch(o);
    }
    return sums;
}

/* Memory that is not pinned is copied when the stream has come so far, and the caller waits. */
static cudaError_t put_copy(cudaStream_t stream, gpu_operation o, bool stages, bool waits) {
    ++fake.counts.copies;
    fake.counts.pageable_copies += stages;
    if (stages) {
        gpu_run_until(NULL, 0, &stream->scheduled);
        o.staged = malloc(o.bytes + 1);
        if (o.staged == NULL) abort();
        memcpy(o.staged, o.from, o.bytes);
    } else if (fake_capture(stream) == NULL) {
        o.sum = watch(&o);
    }
    fake_put_locked(stream, o);
    if (waits) gpu_run_until(NULL, 0, &stream->scheduled);
    return fake.lost;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaMemcpyAsync", CONTEXT);
    fake_block *of_to = NULL, *of_from = NULL;
    if (error == cudaSuccess) error = fake_check_stream(stream, "cudaMemcpyAsync");
    if (error == cudaSuccess && (bytes == 0 || fake_overlaps(to, bytes, from, bytes)))
        error = fake_complain(cudaErrorInvalidValue, "a copy of %zu bytes from %p to %p", bytes, from, to);
    if (error == cudaSuccess) error = look_up(to, bytes, "a copy writes", &of_to);
    if (error == cudaSuccess) error = look_up(from, bytes, "a copy reads", &of_from);
    if (error == cudaSuccess) error = check_kind(kind, of_to, of_from);
    if (error == cudaSuccess && fake_capture(stream) != NULL && (of_to == NULL || of_from == NULL))
        error =
            fake_complain(cudaErrorStreamCaptureUnsupported, "a copy that is captured has memory that is not pinned");
    if (error == cudaSuccess)
        error = put_copy(stream, (gpu_operation){.kind = COPY, .to = to, .from = from, .bytes = bytes}, of_from == NULL,
                         of_to == NULL);
    return fake_leave(error);
}

static cudaError_t check_fill(const void *to, size_t bytes) {
    fake_block *b;
    cudaError_t error = look_up(to, bytes, "a fill writes", &b);
    if (error != cudaSuccess || (b != NULL && b->gpu >= 0 && bytes > 0)) return error;
    return fake_complain(cudaErrorInvalidValue, "a fill of %zu bytes of what is no memory of a GPU", bytes);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) {
    cudaError_t error = fake_enter("cudaMemsetAsync", CONTEXT);
    if (error == cudaSuccess) error = fake_check_stream(stream, "cudaMemsetAsync");
    if (error == cudaSuccess) error = check_fill(to, bytes);
    if (error == cudaSuccess) {
        ++fake.counts.kernels;
        fake_put_locked(stream, (gpu_operation){.kind = FILL, .to = to, .value = value, .bytes = bytes});
    }
    return fake_leave(error);
}

/* On the default stream, which other streams do not wait for (they are non-blocking), nor does the host. */
cudaError_t cudaMemset(void *to, int value, size_t bytes) {
    cudaError_t error = fake_enter("cudaMemset", CONTEXT | NO_CAPTURE);
    if (error == cudaSuccess) error = check_fill(to, bytes);
    if (error == cudaSuccess) {
        fake_open_memory(true);
        memset(to, value, bytes);
        fake_open_memory(false);
    }
    return fake_leave(error);
}
