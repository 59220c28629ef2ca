#include "kernels/common/cuda/cuda_each.cuh"
#include "kernels/common/indexing/cuda_indexing.cuh"
extern "C" {
#include "kernels/reverse_sequence/reverse_sequence.h"
}

namespace {

/* The first length that is no number of steps is noted; such a sample stays as it is. */
__global__ void check_lengths(int64_t samples, int64_t steps, const int64_t *lengths, ons::fault_place fault) {
    int64_t worst = samples;
    for (int64_t i = threadIdx.x; i < samples && worst == samples; i += ons::INDEXING_THREADS)
        if (lengths[i] < 0 || lengths[i] > steps) worst = i;
    worst = ons::block_reduce<ons::INDEXING_THREADS>(worst, samples, ons::smaller());
    if (threadIdx.x == 0 && worst < samples) ons::note_fault(fault, worst, lengths[worst]);
}

template <class Unit> struct reversal {
    ons_reverse_sequence s;
    int64_t width; /* units of a slice */
    const int64_t *lengths;
    const Unit *in;
    Unit *out;
    __device__ void operator()(int64_t i) const {
        int64_t number = i / width, row = number / s.columns, column = number - row * s.columns;
        int64_t time = s.batch_first ? column : row, length = lengths[s.batch_first ? row : column];
        bool turned = length >= 0 && length <= (s.batch_first ? s.columns : s.rows) && time < length;
        int64_t source = turned ? length - 1 - time : time;
        out[i] = in[(s.batch_first ? row * s.columns + source : source * s.columns + column) * width + i % width];
    }
};

template <class Unit> void run_reverse_sequence(const ons_launch *l, const ons_reverse_sequence *s) {
    int64_t width = s->slice / (int64_t)sizeof(Unit);
    reversal<Unit> f = {*s, width, (const int64_t *)l->inputs[1], (const Unit *)l->inputs[0], (Unit *)l->outputs[0]};
    ons::each(l, s->slices * width, f);
}

} // namespace

extern "C" void ons_cuda_run_reverse_sequence(const ons_launch *launch) {
    const ons_reverse_sequence *s = (const ons_reverse_sequence *)launch->state;
    ons::launch(launch, check_lengths, 1, ons::INDEXING_THREADS, s->batch_first ? s->rows : s->columns,
                s->batch_first ? s->columns : s->rows, (const int64_t *)launch->inputs[1],
                ons::fault_of(launch, ONS_REVERSE_SEQUENCE_PROBLEM));
    if (s->slice % 4 == 0)
        run_reverse_sequence<uint32_t>(launch, s);
    else
        run_reverse_sequence<uint8_t>(launch, s);
}
