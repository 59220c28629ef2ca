#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cuda_runtime.h>

extern "C" {
#include "tests/rooms/kernels/emulation/emulation.h"
}

ons_emulation_put_function *ons_emulation_put;
const ons_emulation_runtime *ons_emulation_kernels;

dim3 gridDim, blockDim, blockIdx, threadIdx;

namespace emulation {

uint64_t exchanged[1024];

namespace {

enum { THREADS_MAX = 1024, STACK_BYTES = 64 * 1024, WARP = 32 };

struct barrier {
    unsigned size, waiting, generation;
};

#ifdef __x86_64__
/* swapcontext asks the kernel for the signal mask at every change, which takes most of a test's time. Here: what a
 * function must keep goes on the stack, and the stacks change. */
typedef void *context;
extern "C" void ons_emulation_change(context *from, const context *to);
asm(".text\n"
    ".globl ons_emulation_change\n"
    "ons_emulation_change:\n"
    "    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq (%rsi), %rsp\n"
    "    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp\n"
    "    ret\n");
void change(context *from, const context *to) { ons_emulation_change(from, to); }
#else
typedef ucontext_t context;
void change(context *from, const context *to) { swapcontext(from, to); }
#endif

struct fiber {
    context state;
    char *stack;
    bool done;
};

fiber fibers[THREADS_MAX];
context scheduler;
unsigned current;
barrier of_block, of_warp[THREADS_MAX / WARP];
const std::function<void()> *body;
unsigned long progress; /* barriers passed and threads ended: standing still means a deadlock */
unsigned long blocks_run;

void start() {
    (*body)();
    fibers[current].done = true;
    ++progress;
    change(&fibers[current].state, &scheduler); /* and never comes back */
}

void yield() { change(&fibers[current].state, &scheduler); }

void wait_at(barrier *b) {
    unsigned generation = b->generation;
    if (++b->waiting == b->size) {
        b->waiting = 0;
        ++b->generation;
        ++progress;
        return;
    }
    while (b->generation == generation) yield();
}

void make_fiber(fiber *f) {
    if (f->stack == NULL) f->stack = (char *)malloc(STACK_BYTES);
    if (f->stack == NULL) abort();
    f->done = false;
#ifdef __x86_64__
    /* As if `start` had been called: its address is returned to, where nobody returns to lies above. */
    uintptr_t *top = (uintptr_t *)(f->stack + STACK_BYTES) - 2;
    top[0] = (uintptr_t)start;
    top[1] = 0;
    f->state = top - 6;
#else
    getcontext(&f->state);
    f->state.uc_stack.ss_sp = f->stack;
    f->state.uc_stack.ss_size = STACK_BYTES;
    f->state.uc_link = &scheduler;
    makecontext(&f->state, start, 0);
#endif
}

void run_block(unsigned threads) {
    of_block = {threads, 0, 0};
    for (unsigned w = 0; w < threads / WARP; ++w) of_warp[w] = {WARP, 0, 0};
    for (unsigned t = 0; t < threads; ++t) make_fiber(&fibers[t]);
    bool backwards = ++blocks_run % 2 == 0;
    for (unsigned left = threads; left > 0;) {
        unsigned long before = progress;
        left = 0;
        for (unsigned i = 0; i < threads; ++i) {
            current = backwards ? threads - 1 - i : i;
            if (fibers[current].done) continue;
            threadIdx.x = current;
            change(&scheduler, &fibers[current].state);
            left += !fibers[current].done;
        }
        if (left > 0 && progress == before) {
            fprintf(stderr, "emulated GPU: %u of %u threads wait at a barrier that the others do not reach\n", left,
                    threads);
            abort();
        }
    }
}

} // namespace

namespace {

void run_kept(void *argument) { (*(std::function<void()> *)argument)(); }

void drop_kept(void *argument) { delete (std::function<void()> *)argument; }

void put(cudaStream_t stream, std::function<void()> work) {
    if (ons_emulation_put == NULL) {
        work();
        return;
    }
    ons_emulation_put((uintptr_t)stream, run_kept, drop_kept, new std::function<void()>(std::move(work)));
}

} // namespace

cudaError_t launch(const cudaLaunchConfig_t *config, const void *const *arguments, const size_t *sizes, int count,
                   std::function<void()> work) {
    if (ons_emulation_kernels == NULL) {
        put(config->stream, std::move(work));
        return 0;
    }
    const dim3 &g = config->gridDim, &b = config->blockDim;
    ons_emulation_kernel kernel = {{g.x, g.y, g.z}, {b.x, b.y, b.z}, config->dynamicSmemBytes, 0, arguments, sizes, count};
    for (int i = 0; i < count; ++i) kernel.argument_bytes += (sizes[i] + 7) / 8 * 8;
    return ons_emulation_kernels->launch((uintptr_t)config->stream, &kernel, run_kept, drop_kept,
                                         new std::function<void()>(std::move(work)));
}

cudaError_t fill(void *memory, int value, size_t bytes, cudaStream_t stream) {
    if (ons_emulation_kernels != NULL) return ons_emulation_kernels->fill(memory, value, bytes, (uintptr_t)stream);
    put(stream, [=] { memset(memory, value, bytes); });
    return 0;
}

cudaError_t copy(void *to, const void *from, size_t bytes, cudaStream_t stream) {
    if (ons_emulation_kernels != NULL) return ons_emulation_kernels->copy(to, from, bytes, (uintptr_t)stream);
    put(stream, [=] { memmove(to, from, bytes); });
    return 0;
}

void block_barrier() { wait_at(&of_block); }
/* Whether it holds for any thread of the block. */
int block_any(int condition) {
    static int any;
    block_barrier(); /* whoever read the last result has it */
    if (current == 0) any = 0;
    block_barrier();
    if (condition) any = 1;
    block_barrier();
    return any;
}

void warp_barrier() { wait_at(&of_warp[current / WARP]); }

void run(dim3 grid, dim3 block, const std::function<void()> &thread) {
    if (grid.x == 0 || block.x == 0 || block.x > THREADS_MAX || block.x % WARP != 0) {
        fprintf(stderr, "emulated GPU: %u blocks of %u threads\n", grid.x, block.x);
        abort();
    }
    gridDim = grid;
    blockDim = block;
    body = &thread;
    for (unsigned b = 0; b < grid.x; ++b) {
        blockIdx.x = b;
        run_block(block.x);
    }
}

} // namespace emulation
