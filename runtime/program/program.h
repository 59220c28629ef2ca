/* A graph made ready to run: kernels prepared, buffers laid out, and in the end a flat list of launches with addresses.
 *
 *   ons_program_prepare   graph ──▶ kernels, order, lifetimes, layout        (nothing is allocated on the device)
 *   ons_program_place     + an address for every persistent value and one for the transient part
 *   ons_program_run       nothing but work: no allocation, no lock
 */
#ifndef ONSTAGE_RUNTIME_PROGRAM_PROGRAM_H
#define ONSTAGE_RUNTIME_PROGRAM_PROGRAM_H

#include "graph/arena_layout.h"
#include "graph/execution_order.h"
#include "graph/registry.h"
#include "kernels/kernels.h"
#include "runtime/program/halves.h"
#include "runtime/program/update_shard.h"

typedef struct ons_program ons_program;

typedef struct ons_program_options {
    int threads;
    const ons_backend *backend; /* whose kernels run */
    bool discrete_memory; /* the host cannot access the device's memory: kernels read the step there, and write faults
                             there */
    bool tf32;            /* see ons_prepare */
    bool repeats;         /* more than one micro-batch a step */
    const ons_value_id *kept; /* values that the host reads after a micro-batch or step */
    size_t kept_count;
    const ons_value_id *idle; /* have their place, but the nodes that make them do not run; ONS_NONE is skipped */
    size_t idle_count;
    int64_t scratch_limit; /* bytes a kernel may have; 0: no limit */
    /* Of a pipeline's stage; all zero elsewhere. */
    const uint32_t *end; /* where the parts of the graph end, of so many chunks: ons_execution_order_make */
    uint32_t chunks;     /* 0: 1 */
    bool unordered; /* a micro-batch may come to a part before those with smaller numbers: see ons_liveness_options */
    const uint32_t *places;  /* micro-batches between two parts: see ons_layout_options; NULL: as `slots` says */
    uint32_t slots;          /* micro-batches between their forward and their backward part, at most; 0: 1 */
    uint32_t micro_batches;  /* of a step, at most; 0: 1 */
    uint32_t versions;       /* places of each trained weight; 0: 1 */
    const uint32_t *arrives; /* see ons_liveness_options, both */
    const uint32_t *stays;
    const uint32_t *rings;  /* of each value: see ons_layout_options */
    bool joined;            /* it is going to be joined with another one */
    ons_update_shard shard; /* of its updates */
    /* Of a program whose forward parts are computed in halves as well, by others; NULL, both: none are. */
    const int64_t *part_bytes;     /* of each part: scratch memory for the halves */
    const uint32_t *scratch_stays; /* see ons_liveness_options */
    /* The program computes one half of the whole micro-batch's forward parts, and nothing else; NULL: all of it. */
    const ons_halves *halves;
    uint32_t half; /* 0 or 1 */
} ons_program_options;

/* Which places a part uses, in a pipeline. */
typedef struct ons_part_place {
    uint32_t micro_batch;   /* from 0: chooses the slot, and the place in a ring */
    uint32_t version;       /* of the weights that are read */
    uint32_t fresh_version; /* of those that an update writes */
} ons_part_place;

/* `graph` must outlive the program. Prepares kernels with the thread count of `options`, on a thread of its own kind:
 * what libraries keep per thread belongs to the caller's thread. */
ons_status *ons_program_prepare(const ons_graph *graph, const ons_registry *registry,
                                const ons_program_options *options, ons_program **program);
void ons_program_free(ons_program *program); /* NULL is fine */

const ons_graph *ons_program_graph(const ons_program *program);
const ons_execution_order *ons_program_execution_order(const ons_program *program);
const ons_liveness *ons_program_liveness(const ons_program *program);
const ons_arena_layout *ons_program_layout(const ons_program *program);
/* Lays two programs out beside each other, so that parts of them can run in turn. Both were prepared with `joined` and
 * for as many slots, and are not placed yet. */
ons_status *ons_program_join(ons_program *const programs[2]);
/* Lets a half lie in the program of its whole micro-batch, which is placed before it. */
void ons_program_set_whole(ons_program *half, const ons_program *whole);
/* NULL: it is no half. */
const ons_program *ons_program_whole(const ons_program *program);
/* Tests whether a value has a place for each version: a weight that the program updates, where there are several. */
bool ons_program_is_versioned(const ons_program *program, ons_value_id value);

/* Gives how many elements of a persistent value have a place here; -1: all. */
int64_t ons_program_held_elements(const ons_program *program, ons_value_id value);

/* Gives every persistent buffer its address (persistent[buffer], unused for the others; versions lie behind each other,
 * aligned) and the transient part its own. */
ons_status *ons_program_place(ons_program *program, void *const *persistent, void *transient);

/* Tests whether the program poisons memory that holds nothing (runtime/program/poison.h), and makes it leave that
 * alone: all programs in one memory have to do the same. */
bool ons_program_poisons(const ons_program *program);
void ons_program_stop_poisoning(ons_program *program);
/* Poisons all of the program's transient memory, or unpoisons it: before anything is in it, and where nodes were left
 * out whose values others still take. Nothing happens in a program that poisons nothing; so it is with both below. */
void ons_program_bury_all(const ons_program *program);
void ons_program_revive_all(const ons_program *program);
/* Says that the place of a value holds nothing from here on: what it held has gone to others, or was read; or that it
 * holds something which no node has put there. By the thread that knows it. */
void ons_program_bury(const ons_program *program, ons_value_id value, const ons_part_place *part_place);
void ons_program_revive(const ons_program *program, ons_value_id value, const ons_part_place *part_place);

/* Finds where a value lies, after ons_program_place; `part_place` NULL: that of the first micro-batch and version. */
void *ons_program_address(const ons_program *program, ons_value_id value, const ons_part_place *part_place);
/* Finds where a value lies, for whoever is about to put something there. */
void *ons_program_address_to_write(const ons_program *program, ons_value_id value, const ons_part_place *part_place);

/* Reads a float32 or float64 scalar between runs, where the host can access the device's memory (elsewhere:
 * ons_device_context_scalar). */
double ons_program_scalar(const ons_program *program, ons_value_id value, const ons_part_place *part_place);

/* A node that has run, or been put on a stream; times are CLOCK_MONOTONIC nanoseconds. Nodes of one launch are observed
 * one after another: each has its share of the time, by the bytes that it touches. */
typedef struct ons_observed {
    ons_node_id node;
    int64_t start, end; /* of the whole launch */
    uint32_t index;     /* among those: 0 is the first */
    double from, to;    /* its share of the time: 0 to 1 where it ran alone */
} ons_observed;

/* Called after every node, by the thread that runs. Must not allocate. */
typedef void ons_node_observer(void *context, const ons_observed *observed);

/* The first fault of a run, with the node that found it (ONS_NONE: none). */
typedef struct ons_program_fault {
    ons_fault fault;
    ons_node_id node;
} ons_program_fault;

typedef struct ons_run {
    const ons_step *step;             /* with discrete memory: in the device's memory */
    const ons_part_place *part_place; /* NULL: the first */
    ons_node_observer *observer;
    void *context;
    ons_program_fault *fault;
    const ons_replicas *replicas; /* see ons_launch */
    /* With discrete memory alone; `observer` sees the time in which work is put on the stream, and `fault` is not
     * looked at. */
    uintptr_t stream;
    ons_fault *device_fault; /* in the device's memory */
    uint32_t finder;         /* which of the replicas that run this program a fault is found by */
} ons_run;

/* Finds the node of this program that a fault in the device's memory names; ONS_NONE: it is another program's, or
 * another finder's. */
ons_node_id ons_program_find_fault(const ons_program *program, const ons_fault *fault, uint32_t finder);

/* Gives the name of the node that found a fault, for a message. */
const char *ons_program_fault_node(const ons_program *program, const ons_program_fault *fault);

/* Runs one part with the team of the calling thread. Stops at the first fault. */
void ons_program_run(ons_program *program, ons_part part, const ons_run *run);
/* Runs positions [first, end) of the execution order. Several nodes can be one launch (ons_kernel's
 * run_multi_tensor), unless ONSTAGE_CUDA_TOGETHER is off in the environment. */
void ons_program_run_positions(ons_program *program, uint32_t first, uint32_t end, const ons_run *run);

/* Tests whether a step runs it: it is no view, and does not idle. */
bool ons_program_runs(const ons_program *program, ons_node_id node);

/* Names the implementation: "onednn:…", or NULL where the kernel says nothing. */
const char *ons_program_implementation(const ons_program *program, ons_node_id node);

/* Fails with all operators of the graph that `backend` does not run, or whose kernels decline a node: how many nodes of
 * each, the first one's name, and the reason. `option` is how the user chose it: "--device cuda". */
ons_status *ons_program_check(const ons_graph *graph, const ons_backend *backend, const char *option);

#endif
