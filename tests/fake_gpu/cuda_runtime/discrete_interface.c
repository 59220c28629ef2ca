/* The controls of tests/fake_gpu/discrete_memory, so that its tests run on device/cuda.c, too. */
#include "tests/fake_gpu/discrete_memory/discrete_device.h"

#include "tests/fake_gpu/cuda_runtime/fake_state.h"

discrete_counts discrete_get_counts(void) {
    fake_cuda_counts c = fake_cuda_get_counts();
    return (discrete_counts){.kernels = c.kernels,
                             .copies = c.copies,
                             .recordings = c.graphs,
                             .repetitions = c.repetitions,
                             .allocations = c.allocations,
                             .waits = c.waits};
}

void discrete_seed(uint64_t seed) { gpu_seed(seed); }

void discrete_reserve(int64_t bytes) { fake.reserve = bytes; }

void discrete_recording_takes(int64_t bytes) { fake.bytes_a_graph = bytes; }

/* Small ones keep measurements short, which need more in all. */
void discrete_total(int64_t bytes) { fake.told_total = bytes; }

void discrete_break(int64_t after) { fake_cuda_fail(FAKE_CUDA_BREAK_KERNEL, after); }

void discrete_refuse_recordings(bool refuse) { fake_cuda_fail(FAKE_CUDA_REFUSE_CAPTURE, refuse ? -1 : 0); }

void discrete_gpus(int count) { fake.gpus = count; }

int discrete_current_gpu(void) { return fake_gpu; }

void discrete_wake(void) { gpu_wake(); }

void discrete_put_when(uintptr_t stream, bool (*ready)(void *argument), void (*run)(void *argument), void *argument) {
    fake_put_when(stream, ready, run, argument);
}
