/* In the steady state, training allocates nothing: not by our code, and inside of libraries not more and more.
 *
 * This program's own malloc and its kin stand in front of the C library's, for the shared libraries, too. Who called is
 * told from the return address: our code is linked into this program, the libraries are not. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/rooms/training/fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0 /* the sanitizer's stands there already */
#else
#define HAS_OWN_MALLOC 1
#endif

typedef enum caller { OURS, C_LIBRARY, LIBRARIES, CALLERS } caller;

static _Atomic bool counting;
static _Atomic long calls[CALLERS];
static _Atomic long live_bytes; /* of the heap, since counting began */
static _Atomic(void *) culprit; /* where our own code allocated last */

typedef struct range {
    uintptr_t begin, end;
} range;
static range program, c_library;

#if HAS_OWN_MALLOC

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static bool lies_in(const range *r, const void *address) {
    return (uintptr_t)address >= r->begin && (uintptr_t)address < r->end;
}

static void count(void *return_address) {
    if (!atomic_load_explicit(&counting, memory_order_relaxed)) return;
    caller who = lies_in(&program, return_address) ? OURS : lies_in(&c_library, return_address) ? C_LIBRARY : LIBRARIES;
    atomic_fetch_add(&calls[who], 1);
    if (who == OURS) atomic_store(&culprit, return_address);
}

/* Passes the block through. */
static void *add_live(void *block) {
    if (atomic_load_explicit(&counting, memory_order_relaxed) && block != NULL)
        atomic_fetch_add(&live_bytes, (long)malloc_usable_size(block));
    return block;
}

static void remove_live(void *block) {
    if (atomic_load_explicit(&counting, memory_order_relaxed) && block != NULL)
        atomic_fetch_sub(&live_bytes, (long)malloc_usable_size(block));
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t size) {
    count(CALLER);
    return add_live(__libc_malloc(size));
}

void *calloc(size_t number, size_t size) {
    count(CALLER);
    return add_live(__libc_calloc(number, size));
}

void *realloc(void *block, size_t size) {
    count(CALLER);
    remove_live(block);
    return add_live(__libc_realloc(block, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(CALLER);
    return add_live(__libc_memalign(alignment, size));
}

void *memalign(size_t alignment, size_t size) {
    count(CALLER);
    return add_live(__libc_memalign(alignment, size));
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count(CALLER);
    void *block = add_live(__libc_memalign(alignment, size));
    if (block == NULL) return ENOMEM;
    *result = block;
    return 0;
}

void free(void *block) {
    remove_live(block);
    __libc_free(block);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    count(CALLER);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

#endif

/* ---------------------------------------------------------------------------------------------------------- callers */

static int note_module(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    const char *name = strrchr(info->dlpi_name, '/');
    bool first = info->dlpi_name[0] == '\0' && program.end == 0;
    bool libc = name != NULL && strncmp(name, "/libc.so", 8) == 0;
    for (int i = 0; (first || libc) && i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
            *(first ? &program : &c_library) = (range){begin, begin + segment->p_memsz};
        }
    }
    return 0;
}

static void start_counting(void) {
    for (int i = 0; i < CALLERS; ++i) atomic_store(&calls[i], 0);
    atomic_store(&live_bytes, 0);
    atomic_store(&counting, true);
}

typedef struct window {
    long calls[CALLERS];
    long live_bytes;
} window;

static window stop_counting(void) {
    atomic_store(&counting, false);
    window w = {.live_bytes = atomic_load(&live_bytes)};
    for (int i = 0; i < CALLERS; ++i) w.calls[i] = atomic_load(&calls[i]);
    return w;
}

/* ------------------------------------------------------------------------------------------------------------ tests */

enum { WARM_UP = 5, WINDOW = 12 };

typedef struct setting {
    char model[32];
    int times; /* micro-batches in a batch */
    char options[8][32];
} setting;

ParameterizedTestParameters(allocation, steady_state) {
    static setting settings[] = {
        {"mlp", 1, {"optimizer", "sgd", "momentum", "0.9"}},
        {"mlp", 4, {"optimizer", "adamw", "clip-norm", "1"}},
        {"lenet", 1, {"optimizer", "adam", "shuffle", "true"}},
        {"resnet18", 1, {"optimizer", "sgd", "momentum", "0.9"}},
        {"gpt_tied", 1, {"optimizer", "adamw", "dropout", "0.1"}},
        {"mlp", 2, {"best", "true", "early-stop", "1000", "val-rows", "0:40", "val-every", "1"}},
        {"dynamo_gpt", 2, {"optimizer", "rmsprop", "shuffle", "true"}},
        {"mlp", 3, {"stages", "3", "slices", "2", "optimizer", "adamw"}},
    };
    return cr_make_param_array(setting, settings, sizeof settings / sizeof settings[0], NULL);
}

static window train(const run *r) {
    ons_step_report report;
    ons_status *failure = NULL;
    start_counting();
    for (int i = 0; failure == NULL && i < WINDOW; ++i) failure = ons_trainer_step(r->trainer, &report);
    window w = stop_counting();
    must(failure);
    return w;
}

ParameterizedTest(setting *param, allocation, steady_state) {
    if (!HAS_OWN_MALLOC) cr_skip_test("the sanitizer has an allocator of its own");
    dl_iterate_phdr(note_module, NULL);
    cr_assert(program.end > program.begin && c_library.end > c_library.begin);
    char log[PATH_BYTES];
    scratch_path(log, "allocation.jsonl");
    run r = run_golden(param->model);
    for (int i = 0; i < 8 && param->options[i][0] != '\0'; i += 2) set(&r, param->options[i], param->options[i + 1]);
    set_number(&r, "micro-batches", param->times);
    set_number(&r, "threads", 2);
    set_number(&r, "steps", WARM_UP + 2 * WINDOW + 1); /* more than two epochs */
    set(&r, "log-json", log);
    set(&r, "log-grad-norms", "true");
    start_counting();
    run_open(&r);
    window opening = stop_counting();
    cr_assert_gt(opening.calls[OURS], 0, "our allocations are not seen");
    for (int i = 0; i < WARM_UP; ++i) run_step(&r);
    window first = train(&r), second = train(&r);
    fprintf(
        stderr,
        "%s: %d steps: ours %ld and %ld, C library %ld and %ld, other libraries %ld and %ld calls, %ld live bytes\n",
        param->model, WINDOW, first.calls[OURS], second.calls[OURS], first.calls[C_LIBRARY], second.calls[C_LIBRARY],
        first.calls[LIBRARIES], second.calls[LIBRARIES], second.live_bytes);
    cr_assert_eq(first.calls[OURS] + second.calls[OURS], 0, "%s: our code allocates, last at %p (program at %p)",
                 param->model, atomic_load(&culprit), (void *)program.begin);
    cr_assert_eq(first.calls[C_LIBRARY] + second.calls[C_LIBRARY], 0, "%s: the C library allocates for us",
                 param->model);
    cr_assert_eq(first.calls[LIBRARIES], second.calls[LIBRARIES], "%s: libraries allocate more and more", param->model);
    cr_assert_eq(first.live_bytes, 0, "%s: %ld bytes more are alive after %d steps", param->model, first.live_bytes,
                 WINDOW);
    cr_assert_eq(second.live_bytes, 0, "%s: %ld bytes more are alive after %d steps", param->model, second.live_bytes,
                 WINDOW);
    run_close(&r);
    unlink(log);
}
