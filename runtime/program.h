/* A graph made ready to run: kernels prepared, buffers laid out, and in the end a flat list of launches with addresses.
 *
 *   ons_program_prepare   graph ──▶ kernels, sequence, lifetimes, layout        (nothing is allocated on the device)
 *   ons_program_place     + an address for every persistent value and one for the transient part
 *   ons_program_run       nothing but work: no allocation, no lock
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_H
#define ONSTAGE_RUNTIME_PROGRAM_H

#include "graph/arena_layout.h"
#include "graph/registry.h"
#include "graph/sequence.h"

typedef struct ons_program ons_program;

typedef struct ons_program_options {
    int threads;
    bool repeats;             /* more than one micro-batch a step */
    const ons_value_id *kept; /* values that the host reads after a micro-batch or step */
    size_t kept_count;
    int64_t scratch_limit; /* bytes a kernel may have; 0: no limit */
} ons_program_options;

typedef enum ons_program_part { ONS_PART_BEGIN, ONS_PART_MICRO_BATCH, ONS_PART_END, ONS_PART_COUNT } ons_program_part;

/* `graph` must outlive the program. Prepares kernels with the thread count of `options`, on a thread of its own kind:
 * what libraries keep per thread belongs to the caller's thread. */
ons_status *ons_program_prepare(const ons_graph *graph, const ons_registry *registry,
                                const ons_program_options *options, ons_program **program);
void ons_program_free(ons_program *program); /* NULL is fine */

const ons_graph *ons_program_graph(const ons_program *program);
const ons_liveness *ons_program_liveness(const ons_program *program);
const ons_arena_layout *ons_program_layout(const ons_program *program);

/* Gives every persistent buffer its address (persistent[buffer], unused for the others) and the transient part its own.
 */
ons_status *ons_program_place(ons_program *program, void *const *persistent, void *transient);

/* Where a value lies, after ons_program_place. */
void *ons_program_address(const ons_program *program, ons_value_id value);
/* What a float32 or float64 scalar holds, between runs. */
double ons_program_scalar(const ons_program *program, ons_value_id value);

/* Called after every node, by the thread that runs; times are CLOCK_MONOTONIC nanoseconds. Must not allocate. */
typedef void ons_node_observer(void *context, ons_node_id node, int64_t start, int64_t end);

/* The first fault of a run, with the node that found it (ONS_NONE: none). */
typedef struct ons_program_fault {
    ons_fault fault;
    ons_node_id node;
} ons_program_fault;

/* Runs one part with the team of the calling thread. Stops at the first fault. */
void ons_program_run(const ons_program *program, ons_program_part part, const ons_step *step,
                     ons_node_observer *observer, void *context, ons_program_fault *fault);

/* Nodes that really run (views do not). */
uint32_t ons_program_launch_count(const ons_program *program);
/* "onednn:…", or NULL where the kernel says nothing. */
const char *ons_program_implementation(const ons_program *program, ons_node_id node);

#endif
