/* All that the rooms above know of kernels: the operators, and the backends that compute them. Other headers here are
 * for operators' own files and for tests; //kernels does not hand them out.
 *
 * A backend computes the operators on one kind of device. For each operator it has an ordered list of kernels, best
 * first, or the reason why there is none (backend.h); the first kernel that does not decline computes a node. Where a
 * device's memory lies is a fact of the device (device/device.h), which names its backend.
 */
#ifndef ONSTAGE_KERNELS_KERNELS_H
#define ONSTAGE_KERNELS_KERNELS_H

#include "graph/operator.h"
#include "graph/registry.h"

/* The table of all operators, made from operators.inc. */
const ons_registry *ons_kernels_registry(void);

/* What graph/passes/fuse_gemm.h and fuse_elementwise.h have to know of kernels. */
const struct ons_gemm_fusion *ons_gemm_fusion_rules(bool for_gpu);
const struct ons_elementwise_fusion *ons_elementwise_fusion_rules(void);

/* Attributes of operators whose every element draws a random number, which no file has:
 *
 * - the number that the output's first element has in the tensor that the numbers are drawn for, where the output is a
 *   part of that (runtime/program/halves.h);
 * - how many elements a unit of the step has, where the output is that of several units one behind the other, each of
 *   which draws as a micro-batch of its own does (runtime/program/units.h). */
#define ONS_FIRST_ELEMENT "first_element"
#define ONS_UNIT_ELEMENTS "unit_elements"

/* -------------------------------------------------------------------------------------------------- a node's kernel */

typedef struct ons_backend ons_backend;
typedef struct ons_kernel ons_kernel;
typedef struct ons_kernel_list ons_kernel_list; /* what a backend has for an operator: backend.h */

/* prepare: once, when the plan is made. Books what a node needs, within `scratch_limit`, or declines with a reason. */
typedef struct ons_prepare {
    const ons_operands *operands;
    int threads;
    int64_t scratch_limit;      /* bytes; INT64_MAX: no limit */
    ons_arena *arena;           /* for `state` */
    uint64_t node_key;          /* keys the random numbers of this node */
    bool tf32;                  /* CUDA: products of float32 may round their operands to ten bits after the first */
    const ons_backend *backend; /* whose kernel is prepared: for those that stand before others */
    /* results */
    void *state;                  /* given to every run */
    void (*destroy)(void *state); /* NULL: nothing but arena memory */
    int64_t scratch_bytes;        /* ons_backend_prepare makes it a multiple of 64 */
    const char *implementation;   /* for inspection: "onednn:brgconv:avx512_core" */
} ons_prepare;
typedef ons_status *ons_prepare_function(ons_prepare *p);

/* Replicas that compute the same node of their micro-batch at the same time. */
typedef struct ons_replicas ons_replicas;
struct ons_replicas {
    /* `all` has `count` numbers of each replica, in their order, of which this one has written its own: brings the
     * others', and says how many have such a micro-batch, the first ones; 0: the others do not answer any more. A
     * meeting of all of them. Where the host cannot access the device's memory `all` lies there, and what is on the
     * launch's stream afterwards finds the numbers. */
    uint32_t (*gather)(const ons_replicas *replicas, double *all, size_t count);
    void *context;
    uint32_t own;         /* which of them this one is */
    uint32_t micro_batch; /* which one it computes, of its own of the step */
};

typedef struct ons_launch {
    const void *const *inputs; /* NULL where left out */
    void *const *outputs;      /* NULL where nobody reads it: do not write */
    void *scratch;
    const void *state;
    const ons_step *step;
    ons_fault *fault;
    uint64_t node_key; /* of this node, for a fault that lies in the device's memory */
    uintptr_t stream;  /* CUDA stream; 0 on the CPU */
    /* Where the host cannot access the device's memory: the same step there, so that a launch that was recorded can be
     * repeated. `fault` is there too; updates do nothing once it is set. */
    const ons_step *device_step;
    const ons_replicas *replicas; /* NULL: there are none, or nobody meets */
} ons_launch;
typedef void ons_run_function(const ons_launch *launch);

/* Nodes of one operator that neither read nor overwrite what another of them writes, scratch included, in as few
 * launches as can be. They give the bits that `run` would give them one after another. `device_step`, `fault` and
 * `stream` are the same in all. */
typedef void ons_run_multi_tensor_function(const ons_launch *launches, uint32_t count);

struct ons_kernel {
    ons_prepare_function *prepare;
    ons_run_function *run;
    ons_run_multi_tensor_function *run_multi_tensor; /* NULL: each node is a launch of its own */
};
/* --------------------------------------------------------------------------------------------------------- backends */

/* A sum whose parts have come from replicas to a device's memory: ((part 0 · factor + part 1) · factor + part 2) …,
 * rounded to the type each time. */
typedef struct ons_part_sum {
    ons_dtype dtype;     /* float32, float16 or bfloat16 */
    uint32_t parts, own; /* own: number of the part that lies where the result comes to; `parts` or more: none does */
    void *result;        /* `elements` of them */
    const void *others;  /* the other parts, in their order … */
    int64_t stride;      /* … so many bytes apart */
    int64_t elements;
    uint32_t more;    /* the first factor is that of parts before this one, the second of all others */
    float factors[2]; /* by which what there is is multiplied before a part is added; 1 for sums */
} ons_part_sum;

/* Puts sums that do not touch each other on a stream, in as few launches as can be. */
typedef void ons_add_parts_function(const ons_part_sum *sums, uint32_t count, uintptr_t stream);

struct ons_backend {
    const char *name;    /* as devices give it: "cpu" */
    const char *title;   /* in messages: "the CPU" */
    const char *variant; /* which of several builds of its code this is: "v3" */
    /* The operator's list; never NULL. */
    const ons_kernel_list *(*find)(const ons_backend *backend, const ons_operator *op);
    /* Tried behind every list that is not empty; NULL: none. */
    const ons_kernel_list *fallbacks;
    int64_t scratch_alignment; /* bytes, a power of two: scratch memory begins at multiples of it, and at those of
                                  ONS_ARENA_ALIGNMENT (graph/arena_layout.h) */
    ons_add_parts_function *add_parts;   /* NULL: the host can access the memory, and adds */
    const ons_kernel_list *const *table; /* of `find` by ons_backend_in_table: in the order of operators.inc */
};

/* The backends of this build by name; NULL: none. The CPU's is the variant that suits this machine.
 */
const ons_backend *ons_backend_find(const char *name);

/* Whether the backend runs the operator at all; otherwise *why_not says why. */
bool ons_backend_has(const ons_backend *backend, const ons_operator *op, const char **why_not);

/* Prepares the first kernel of the operator's list, then of the fallbacks, that takes the node; `*kernel` is it. Fails
 * with the first one's reason where all decline, with ONS_UNSUPPORTED where the list is empty, and with
 * ONS_OUT_OF_MEMORY at once. */
ons_status *ons_backend_prepare(const ons_backend *backend, ons_prepare *p, const ons_kernel **kernel);

/* ons_backend_prepare by the operator's own list alone, without the fallbacks. */
ons_status *ons_backend_prepare_own(const ons_backend *backend, ons_prepare *p, const ons_kernel **kernel);

/* ------------------------------------------------------------------------------------------ what decides on kernels */

/* The CPU's kernels are compiled several times: for what every processor of the target's ABI has (baseline) and, on
 * x86-64, for AVX2 with FMA (v3) and for AVX-512 (v4). The best that the machine has is chosen when the program starts.
 *
 * ONSTAGE_CPU=baseline|v3|v4 in the environment takes less than there is, never more, and caps oneDNN alike. */

/* The chosen one's name: "v3". */
const char *ons_cpu_variant(void);

/* Chooses, before anything has used oneDNN, which can be capped only then. Fails where ONSTAGE_CPU names no variant;
 * one that the machine does not have gives the best that it has. */
ons_status *ons_cpu_variant_choose(void);

/* What decides, beside shapes and threads, which kernels a CPU gets, how long they take and how much scratch they want:
 * the libraries' versions, the instructions that they and our own code were chosen to use on this machine, and the
 * table of the ways in which nodes are computed (kernels/common/choice/choices.h). */
enum { ONS_KERNEL_VERSIONS = 5, ONS_KERNEL_VERSION_TEXT = 64 };

typedef struct ons_kernel_version {
    const char *name; /* "oneDNN" */
    char text[ONS_KERNEL_VERSION_TEXT];
} ons_kernel_version;

void ons_kernel_versions(ons_kernel_version versions[ONS_AT_LEAST(ONS_KERNEL_VERSIONS)]);

/* ----------------------------------------------------------------------------------------------- a sample's product */

/* A matrix product as a node of a model computes it, with whatever kernel of the backend serves its element type: for
 * whoever measures what products reach on a device. */
typedef struct ons_sample_gemm ons_sample_gemm;

typedef struct ons_sample_gemm_options {
    const ons_backend *backend;
    ons_dtype dtype;
    int64_t edge; /* rows of both matrices, which are square */
    int threads;
    int64_t scratch_limit; /* bytes; INT64_MAX: no limit */
} ons_sample_gemm_options;

/* Fails where no kernel of the backend takes it. */
ons_status *ons_sample_gemm_new(const ons_sample_gemm_options *options, ons_sample_gemm **product);
void ons_sample_gemm_free(ons_sample_gemm *product); /* NULL is fine */

int64_t ons_sample_gemm_scratch_bytes(const ons_sample_gemm *product);
double ons_sample_gemm_flops(const ons_sample_gemm *product);

/* Of a run: all in the device's memory, and aligned as the backend wants scratch memory. Matrices are dense. */
typedef struct ons_sample_gemm_memory {
    const void *a, *b;
    void *c, *scratch;
    const ons_step *device_step; /* NULL where the host can access that memory */
    ons_fault *fault;            /* zero; a kernel that fails says so there */
} ons_sample_gemm_memory;

/* c = a b, by a task on a stream (`native`: see ons_task) whose teams have `threads` threads. */
void ons_sample_gemm_run(const ons_sample_gemm *product, uintptr_t native, const ons_sample_gemm_memory *memory);

#endif
