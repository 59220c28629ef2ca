/* ReverseSequence on the CPU. */
#include "kernels/reverse_sequence/reverse_sequence_node.h"

#include "kernels/common/operator/kernel.h"

ons_status *ons_reverse_sequence_prepare(ons_prepare *p) {
    ons_reverse_sequence *state;
    ONS_NEW_STATE(state, p);
    *state = make_state(p->operands, (int64_t)ons_dtype_size(p->operands->inputs[DATA].dtype));
    return NULL;
}

static void reverse_sequence_run(const ons_launch *launch) {
    const ons_reverse_sequence *s = launch->state;
    const int64_t *lengths = launch->inputs[LENGTHS];
    bool valid = s->slice > 0; /* else the lengths are looked at all the same */
#pragma omp parallel for schedule(static) reduction(&& : valid) if (s->slices * s->slice > 4 * ONS_PARALLEL_GRAIN)
    for (int64_t i = 0; i < s->slices; ++i)
        valid = ons_reverse_sequence_copy_slice(s, i, lengths, launch->inputs[DATA], launch->outputs[0]) && valid;
    for (int64_t i = 0, n = s->batch_first ? s->rows : s->columns; !valid && i < n; ++i)
        if (launch->fault->problem == NULL && (lengths[i] < 0 || lengths[i] > (s->batch_first ? s->columns : s->rows)))
            *launch->fault = (ons_fault){.problem = ONS_REVERSE_SEQUENCE_PROBLEM, .index = i, .value = lengths[i]};
}

ONS_KERNELS(cpu, reverse_sequence, ONS_KERNEL(ons_reverse_sequence_prepare, reverse_sequence_run))
