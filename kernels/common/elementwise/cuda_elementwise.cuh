/* Elementwise operators on CUDA: one kernel, whatever the formula, for operands that broadcast to the output.
 *
 * A thread makes several neighbouring elements where every operand can be read so (steps of 1 or 0 in the innermost
 * dimension, whose size divides by their number), and one element at a time otherwise: four, and eight where the result
 * is of a half type, 16 bytes of it. Only dimensions above the innermost cost divisions, one for each of them and each
 * thread's elements.
 */
#ifndef ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CUDA_ELEMENTWISE_CUH
#define ONSTAGE_KERNELS_COMMON_ELEMENTWISE_CUDA_ELEMENTWISE_CUH

#include "kernels/common/cuda/cuda.cuh"
extern "C" {
#include "kernels/common/elementwise/cuda_elementwise.h"
}

namespace ons {

/* In units of a thread's elements. Index: uint32_t where all numbers are below 2³¹. */
template <class Index, int OPERANDS> struct walk {
    Index items;
    uint32_t rank;
    Index dims[ONS_RANK_MAX];
    Index strides[OPERANDS][ONS_RANK_MAX]; /* in elements */
    bool repeats[OPERANDS];                /* in the innermost dimension */
};

/* Where item `item` of each operand begins, in elements. */
template <int COUNT, class Index, int OPERANDS>
__device__ inline void walk_to(const walk<Index, OPERANDS> &w, Index item, Index (&at)[OPERANDS]) {
#pragma unroll
    for (int k = 0; k < OPERANDS; ++k) at[k] = 0;
    Index rest = item;
#pragma unroll
    for (int d = 0; d < ONS_RANK_MAX; ++d) {
        if (d >= (int)w.rank) break;
        Index index = rest;
        if (d + 1 < (int)w.rank) {
            rest = index / w.dims[d];
            index -= rest * w.dims[d];
        }
        if (d == 0) index *= COUNT;
#pragma unroll
        for (int k = 0; k < OPERANDS; ++k) at[k] += index * w.strides[k][d];
    }
}

/* No __restrict__: the output may be an input's memory. */
template <int COUNT, class Index, class F, class Out, class A>
__global__ void elementwise_1(walk<Index, 1> w, F f, Out *out, const A *a) {
    for (Index item = (Index)global_thread(); item < w.items; item += (Index)global_threads()) {
        Index at[1];
        work_t<A> x[COUNT];
        work_t<Out> y[COUNT];
        walk_to<COUNT>(w, item, at);
        read<COUNT>(a, at[0], w.repeats[0], x);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) y[i] = (work_t<Out>)f(x[i]);
        write<COUNT>(out, item * COUNT, y);
    }
}

template <int COUNT, class Index, class F, class Out, class A, class B>
__global__ void elementwise_2(walk<Index, 2> w, F f, Out *out, const A *a, const B *b) {
    for (Index item = (Index)global_thread(); item < w.items; item += (Index)global_threads()) {
        Index at[2];
        work_t<A> x[COUNT];
        work_t<B> z[COUNT];
        work_t<Out> y[COUNT];
        walk_to<COUNT>(w, item, at);
        read<COUNT>(a, at[0], w.repeats[0], x);
        read<COUNT>(b, at[1], w.repeats[1], z);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) y[i] = (work_t<Out>)f(x[i], z[i]);
        write<COUNT>(out, item * COUNT, y);
    }
}

template <int COUNT, class Index, class F, class Out, class A, class B, class C>
__global__ void elementwise_3(walk<Index, 3> w, F f, Out *out, const A *a, const B *b, const C *c) {
    for (Index item = (Index)global_thread(); item < w.items; item += (Index)global_threads()) {
        Index at[3];
        work_t<A> x[COUNT];
        work_t<B> z[COUNT];
        work_t<C> v[COUNT];
        work_t<Out> y[COUNT];
        walk_to<COUNT>(w, item, at);
        read<COUNT>(a, at[0], w.repeats[0], x);
        read<COUNT>(b, at[1], w.repeats[1], z);
        read<COUNT>(c, at[2], w.repeats[2], v);
#pragma unroll
        for (int i = 0; i < COUNT; ++i) y[i] = (work_t<Out>)f(x[i], z[i], v[i]);
        write<COUNT>(out, item * COUNT, y);
    }
}

/* An optional input; NULL where it is left out. */
inline const void *optional_input(const ons_launch *l, uint32_t index) {
    return index < ((const ons_cuda_elementwise *)l->state)->input_count ? l->inputs[index] : nullptr;
}

constexpr int ELEMENTWISE_THREADS = 256;

/* How many elements of a type are made at a time. */
template <class Out> constexpr int width_of = sizeof(Out) == 2 ? 8 : 4;

/* Whether every operand can be read `width` elements at a time. */
template <int OPERANDS>
inline bool in_packs(const ons_cuda_elementwise *s, const ons_launch *l, const size_t (&sizes)[OPERANDS],
                     size_t output_size, int width) {
    if (s->elements >= INT32_MAX || s->dims[0] % width != 0 || !is_aligned(l->outputs[0], width * output_size))
        return false;
    for (int k = 0; k < OPERANDS; ++k) {
        if (s->strides[k][0] == 0) continue;
        if (s->strides[k][0] != 1 || !is_aligned(l->inputs[k], width * sizes[k])) return false;
        for (uint32_t d = 1; d < s->rank; ++d)
            if (s->strides[k][d] % width != 0) return false;
    }
    return true;
}

template <class Index, int OPERANDS> inline walk<Index, OPERANDS> walk_of(const ons_cuda_elementwise *s, int count) {
    walk<Index, OPERANDS> w = {};
    w.items = (Index)(s->elements / count);
    w.rank = s->rank;
    for (uint32_t d = 0; d < s->rank; ++d) {
        w.dims[d] = (Index)(d == 0 ? s->dims[d] / count : s->dims[d]);
        for (int k = 0; k < OPERANDS; ++k) w.strides[k][d] = (Index)s->strides[k][d];
    }
    for (int k = 0; k < OPERANDS; ++k) w.repeats[k] = s->strides[k][0] == 0;
    return w;
}

template <class Out, class A, class F> void run_1(const ons_launch *l, F f) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)l->state;
    const size_t sizes[] = {sizeof(A)};
    constexpr int WIDTH = width_of<Out>;
    if (in_packs(s, l, sizes, sizeof(Out), WIDTH))
        launch(l, elementwise_1<WIDTH, uint32_t, F, Out, A>, blocks_for(s->elements / WIDTH, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint32_t, 1>(s, WIDTH), f, (Out *)l->outputs[0], (const A *)l->inputs[0]);
    else
        launch(l, elementwise_1<1, uint64_t, F, Out, A>, blocks_for(s->elements, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint64_t, 1>(s, 1), f, (Out *)l->outputs[0], (const A *)l->inputs[0]);
}

template <class Out, class A, class B, class F> void run_2(const ons_launch *l, F f) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)l->state;
    const size_t sizes[] = {sizeof(A), sizeof(B)};
    constexpr int WIDTH = width_of<Out>;
    if (in_packs(s, l, sizes, sizeof(Out), WIDTH))
        launch(l, elementwise_2<WIDTH, uint32_t, F, Out, A, B>, blocks_for(s->elements / WIDTH, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint32_t, 2>(s, WIDTH), f, (Out *)l->outputs[0], (const A *)l->inputs[0],
               (const B *)l->inputs[1]);
    else
        launch(l, elementwise_2<1, uint64_t, F, Out, A, B>, blocks_for(s->elements, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint64_t, 2>(s, 1), f, (Out *)l->outputs[0], (const A *)l->inputs[0],
               (const B *)l->inputs[1]);
}

template <class Out, class A, class B, class C, class F> void run_3(const ons_launch *l, F f) {
    const ons_cuda_elementwise *s = (const ons_cuda_elementwise *)l->state;
    const size_t sizes[] = {sizeof(A), sizeof(B), sizeof(C)};
    constexpr int WIDTH = width_of<Out>;
    if (in_packs(s, l, sizes, sizeof(Out), WIDTH))
        launch(l, elementwise_3<WIDTH, uint32_t, F, Out, A, B, C>, blocks_for(s->elements / WIDTH, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint32_t, 3>(s, WIDTH), f, (Out *)l->outputs[0], (const A *)l->inputs[0],
               (const B *)l->inputs[1], (const C *)l->inputs[2]);
    else
        launch(l, elementwise_3<1, uint64_t, F, Out, A, B, C>, blocks_for(s->elements, ELEMENTWISE_THREADS),
               ELEMENTWISE_THREADS, walk_of<uint64_t, 3>(s, 1), f, (Out *)l->outputs[0], (const A *)l->inputs[0],
               (const B *)l->inputs[1], (const C *)l->inputs[2]);
}

/* -------------------------------------------------------------------------------------------- formulas of operators */

/* The macros of cuda_formula.cuh, each of which makes ons_cuda_SYMBOL here, too. */

template <class F> inline F formula(const ons_launch *l) {
    F f;
    for (int i = 0; i < ONS_CUDA_PARAMETERS; ++i)
        f.parameters[i] = ((const ons_cuda_elementwise *)l->state)->parameters[i];
    return f;
}

template <class F> void unary_floats(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: run_1<__half, __half>(l, formula<F>(l)); break;
    case ONS_BFLOAT16: run_1<__nv_bfloat16, __nv_bfloat16>(l, formula<F>(l)); break;
    default: run_1<float, float>(l, formula<F>(l)); break;
    }
}

template <class F> void unary_numbers(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_INT64: run_1<int64_t, int64_t>(l, formula<F>(l)); break;
    case ONS_INT32: run_1<int32_t, int32_t>(l, formula<F>(l)); break;
    default: unary_floats<F>(l); break;
    }
}

template <class F> void binary_floats(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: run_2<__half, __half, __half>(l, formula<F>(l)); break;
    case ONS_BFLOAT16: run_2<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(l, formula<F>(l)); break;
    default: run_2<float, float, float>(l, formula<F>(l)); break;
    }
}

template <class F> void binary_numbers(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_INT64: run_2<int64_t, int64_t, int64_t>(l, formula<F>(l)); break;
    case ONS_INT32: run_2<int32_t, int32_t, int32_t>(l, formula<F>(l)); break;
    default: binary_floats<F>(l); break;
    }
}

template <class F> void comparison(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: run_2<uint8_t, __half, __half>(l, formula<F>(l)); break;
    case ONS_BFLOAT16: run_2<uint8_t, __nv_bfloat16, __nv_bfloat16>(l, formula<F>(l)); break;
    case ONS_INT64: run_2<uint8_t, int64_t, int64_t>(l, formula<F>(l)); break;
    case ONS_INT32: run_2<uint8_t, int32_t, int32_t>(l, formula<F>(l)); break;
    case ONS_BOOL:
    case ONS_UINT8: run_2<uint8_t, uint8_t, uint8_t>(l, formula<F>(l)); break;
    default: run_2<uint8_t, float, float>(l, formula<F>(l)); break;
    }
}

struct unchanged : with_parameters {
    template <class W> __device__ W operator()(W x) const { return x; }
};

/* See ons_cuda_variadic. */
template <class F> void variadic(const ons_launch *l) {
    const ons_cuda_variadic *v = (const ons_cuda_variadic *)l->state;
    for (uint32_t i = 0; i < v->steps; ++i) {
        const void *inputs[2] = {i == 0 ? l->inputs[0] : l->scratch,
                                 v->step[i].input_count > 1 ? l->inputs[i + 1] : nullptr};
        void *outputs[1] = {i + 1 < v->steps ? l->scratch : l->outputs[0]};
        ons_launch step = *l;
        step.inputs = inputs;
        step.outputs = outputs;
        step.state = &v->step[i];
        if (v->step[i].input_count > 1)
            binary_numbers<F>(&step);
        else
            unary_numbers<unchanged>(&step);
    }
}

template <class F> void logic(const ons_launch *l) { run_2<uint8_t, uint8_t, uint8_t>(l, formula<F>(l)); }

template <class F> void test_floats(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: run_1<uint8_t, __half>(l, formula<F>(l)); break;
    case ONS_BFLOAT16: run_1<uint8_t, __nv_bfloat16>(l, formula<F>(l)); break;
    default: run_1<uint8_t, float>(l, formula<F>(l)); break;
    }
}

template <class F> void ternary_floats(const ons_launch *l) {
    switch (((const ons_cuda_elementwise *)l->state)->dtype) {
    case ONS_FLOAT16: run_3<__half, __half, __half, __half>(l, formula<F>(l)); break;
    case ONS_BFLOAT16: run_3<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(l, formula<F>(l)); break;
    default: run_3<float, float, float, float>(l, formula<F>(l)); break;
    }
}

} // namespace ons

/* Beside the formula: the kernel of the operator alone. */
#define ONS_CUDA_OWN_KERNELS
#undef ONS_CUDA_FORMULA
#define ONS_CUDA_FORMULA(SYMBOL, ARGUMENTS, RUN, EXPRESSION)                                                           \
    ONS_CUDA_FORMULA_ALONE(SYMBOL, ARGUMENTS, EXPRESSION)                                                              \
    extern "C" void ons_cuda_run_##SYMBOL(const ons_launch *launch) { ons::RUN<SYMBOL##_formula>(launch); }

#endif
