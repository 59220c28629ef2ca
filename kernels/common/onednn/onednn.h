/* oneDNN behind one small surface: a prepared primitive with its memories, made once and run many times.
 *
 * Everything a run needs is made by prepare: the primitive, one memory object for each argument (without data), a
 * stream, and scratch that the plan grants. A run sets the data pointers that changed since the last one and executes;
 * our code allocates nothing. A prepared primitive serves one thread at a time, as the node that it belongs to does.
 */
#ifndef ONSTAGE_KERNELS_COMMON_ONEDNN_ONEDNN_H
#define ONSTAGE_KERNELS_COMMON_ONEDNN_ONEDNN_H

#include "graph/operator.h"
#include "kernels/common/layout/layouts.h"
#include "kernels/common/layout/window.h"
#include "kernels/common/onednn/onednn_versions.h"

enum { ONS_ONEDNN_ARGUMENTS = 8 };

typedef struct ons_onednn {
    dnnl_primitive_t primitive; /* NULL: nothing prepared */
    dnnl_stream_t stream;
    dnnl_exec_arg_t arguments[ONS_ONEDNN_ARGUMENTS]; /* scratch, where there is any, comes last */
    const void *pointers[ONS_ONEDNN_ARGUMENTS];      /* as they are set in the memories now */
    int argument_count;
    int threads; /* oneDNN divides the work anew in each run: by as many as when it was prepared */
    bool has_scratch;
} ons_onednn;

/* The one CPU engine of the program. */
ons_status *ons_onednn_engine(dnnl_engine_t *engine);

/* Whether oneDNN may use all of these instructions here. False where it says nothing of the processor's. */
bool ons_onednn_uses(dnnl_cpu_isa_t instructions);

/* Attributes of every primitive here: scratch comes from the caller. The caller destroys them. */
ons_status *ons_onednn_attributes(const ons_operands *o, dnnl_primitive_attr_t *attributes);

/* NULL for success, otherwise a failure that names the node and what oneDNN was asked for. */
ons_status *ons_onednn_check(const ons_operands *o, dnnl_status_t status, const char *what);

/* oneDNN's description of a type in its layout. `groups` > 0 splits a weight's first dim (a weight in a format of
 * oneDNN's knows its groups already). False where there is none: rank 0, a dtype unknown to oneDNN, a format of another
 * rank. */
bool ons_onednn_describe(const ons_type *type, int64_t groups, ons_onednn_memory *description);

/* The layout number of the format that a primitive has chosen for its weight (dnnl_query_weights_md or
 * dnnl_query_diff_weights_md); false where no tag says it. */
bool ons_onednn_layout(const_dnnl_primitive_desc_t description, dnnl_query_t weight, int64_t groups,
                       ons_layout *layout);

void ons_onednn_describe_window(const ons_window *window, ons_onednn_window *result);

/* Sets the calling thread's OpenMP thread count, which oneDNN goes by in prepare and in run; returns the old one. */
int ons_onednn_enter(int threads);
void ons_onednn_leave(int before);

/* Makes primitive and memories for the arguments (DNNL_ARG_…) from a primitive's description, which stays the caller's;
 * adds to p->scratch_bytes, sets p->implementation and refuses what does not fit into p->scratch_limit. On failure
 * nothing is left. */
ons_status *ons_onednn_make(ons_prepare *p, const_dnnl_primitive_desc_t description, const int *arguments, int count,
                            ons_onednn *d);

/* For ons_prepare.destroy of states that begin with an ons_onednn. */
void ons_onednn_destroy(void *d);

/* Runs with one pointer for each argument given to ons_onednn_make, in that order. */
void ons_onednn_run(const ons_onednn *d, const void *const *pointers, void *scratch, ons_fault *fault);

#endif
