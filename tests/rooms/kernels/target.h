/* Where the harness runs kernels: a backend, and the memory that its kernels see. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_TARGET_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_TARGET_H

#include "graph/registry.h"
#include "graph/sharing.h"
#include "kernels/backend.h"

typedef struct ons_target {
    const char *name;
    /* A case in which no operand that comes with the data is float32, or whose result is of a type other than float32,
     * bool and the integers of 32 and 64 bits; and nothing is laid out otherwise than in ONNX's order. */
    bool may_refuse;
    bool plain; /* takes operands in ONNX's order alone */
    const ons_backend *(*backend)(void);
    void *(*allocate)(size_t bytes); /* aligned to 64; NULL when memory is short */
    void (*release)(void *memory);
    void (*copy_in)(void *to, const void *from, size_t bytes);
    void (*copy_out)(void *to, const void *from, size_t bytes);
    /* Runs the kernel with whatever the launch has of the device's own: stream, step, fault. */
    void (*launch)(ons_run_function *run, ons_launch *launch);
    /* Runs the kernel in another way that must give equal bits, for the second run of a case; NULL: there is none. */
    void (*launch_again)(ons_run_function *run, ons_launch *launch);
    ons_status *(*finish)(void); /* waits for all that was launched */
} ons_target;

extern const ons_target ons_target_cpu;

bool ons_target_runs(const ons_target *target, const ons_operator *op);

/* Memory with guard bytes on both sides. */
typedef struct ons_buffer {
    const ons_target *target;
    char *memory;
    char *data;
    size_t bytes;
} ons_buffer;

ons_status *ons_buffer_init(ons_buffer *buffer, const ons_target *target, size_t bytes);
void ons_buffer_free(ons_buffer *buffer); /* zeroed is fine */
void ons_buffer_fill(ons_buffer *buffer, unsigned char byte);
void ons_buffer_write(ons_buffer *buffer, const void *from);
void ons_buffer_read(const ons_buffer *buffer, void *to);
/* Fails where a byte outside of the buffer has changed; `what` names the buffer. */
ons_status *ons_buffer_check(const ons_buffer *buffer, const char *what, uint32_t index);

/* Bytes of a value in its layout. */
size_t ons_bytes_of(const ons_registry *registry, const ons_type *type);

/* Prepares and runs one node once on dense host data, without checks. Views are copied. `inputs` and `outputs` are
 * bytes of the operands' types in their layouts; outputs NULL where nobody reads them. */
ons_status *ons_run_once(const ons_registry *registry, const ons_target *target, const ons_operands *operands,
                         const ons_step *step, int threads, const void *const *inputs, void *const *outputs);

#endif
