/* What cuDNN's operations mean, in plain loops and double, by the library's documentation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/small_types.h"
#include "tests/rooms/kernels/emulation/fake_cudnn.h"

enum { RANK = 5 };

/* Elements at `memory` of that type; between two operations they are doubles. */
typedef struct tensor {
    int64_t id, rank, dims[RANK], strides[RANK];
    bool within;
    cudnnDataType_t type;
    void *memory;
} tensor;

typedef struct run {
    void *const *addresses;
    void *within[FAKE_LIST]; /* by id: doubles, or where a view is */
    cudnnDataType_t viewed[FAKE_LIST];
    bool is_view[FAKE_LIST], owned[FAKE_LIST];
} run;

static int64_t extent(const tensor *t) {
    int64_t last = 0;
    for (int64_t i = 0; i < t->rank; ++i) last += (t->dims[i] - 1) * t->strides[i];
    return last + 1;
}

static tensor find_tensor(run *r, const fake_descriptor *operation, cudnnBackendAttributeName_t name) {
    const fake_descriptor *d = fake_get(operation, name, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    fake_require(d->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR, "an operand is no tensor");
    const fake_attribute *dims = fake_get(d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64);
    tensor t = {.rank = dims->count};
    fake_require(t.rank <= RANK, "a tensor's rank");
    memcpy(t.dims, dims->numbers, sizeof t.dims);
    memcpy(t.strides, fake_get(d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64)->numbers, sizeof t.strides);
    t.id = fake_get(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64)->numbers[0];
    t.type = (cudnnDataType_t)fake_get(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE)->code;
    t.within = fake_find(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN) != NULL;
    t.memory = r->addresses[t.id];
    if (!t.within) return t;
    if (r->within[t.id] == NULL) {
        r->within[t.id] = calloc((size_t)extent(&t), sizeof(double));
        r->owned[t.id] = true;
    }
    t.memory = r->within[t.id];
    if (r->is_view[t.id]) {
        t.within = false;
        t.type = r->viewed[t.id];
    } else {
        t.type = CUDNN_DATA_DOUBLE;
    }
    return t;
}

static bool has(const fake_descriptor *operation, cudnnBackendAttributeName_t name) {
    return fake_find(operation, name, CUDNN_TYPE_BACKEND_DESCRIPTOR) != NULL;
}

/* Where an element is; a dim of size 1 has the same for all. */
static int64_t offset(const tensor *t, const int64_t *index) {
    int64_t at = 0;
    for (int64_t i = 0; i < t->rank; ++i) at += (t->dims[i] == 1 ? 0 : index[i]) * t->strides[i];
    return at;
}

static double load(const tensor *t, const int64_t *index) {
    int64_t at = offset(t, index);
    switch (t->type) {
    case CUDNN_DATA_DOUBLE: return ((const double *)t->memory)[at];
    case CUDNN_DATA_FLOAT: return ((const float *)t->memory)[at];
    case CUDNN_DATA_HALF: return ons_half_to_float(((const uint16_t *)t->memory)[at]);
    case CUDNN_DATA_BFLOAT16: return ons_bfloat16_to_float(((const uint16_t *)t->memory)[at]);
    case CUDNN_DATA_INT32: return ((const int32_t *)t->memory)[at];
    default: fake_require(false, "a tensor's type"); return 0;
    }
}

static void store(const tensor *t, const int64_t *index, double value) {
    int64_t at = offset(t, index);
    switch (t->type) {
    case CUDNN_DATA_DOUBLE: ((double *)t->memory)[at] = value; break;
    case CUDNN_DATA_FLOAT: ((float *)t->memory)[at] = (float)value; break;
    case CUDNN_DATA_HALF: ((uint16_t *)t->memory)[at] = ons_float_to_half((float)value); break;
    case CUDNN_DATA_BFLOAT16: ((uint16_t *)t->memory)[at] = ons_float_to_bfloat16((float)value); break;
    default: fake_require(false, "a result's type");
    }
}

static int64_t elements(const tensor *t) {
    int64_t count = 1;
    for (int64_t i = 0; i < t->rank; ++i) count *= t->dims[i];
    return count;
}

static void unravel(const tensor *t, int64_t number, int64_t *index) {
    for (int64_t i = t->rank - 1; i >= 0; --i) {
        index[i] = number % t->dims[i];
        number /= t->dims[i];
    }
}

static const int64_t *numbers(const fake_descriptor *d, cudnnBackendAttributeName_t name, int64_t count) {
    const fake_attribute *a = fake_get(d, name, CUDNN_TYPE_INT64);
    fake_require(a->count == count, "how many sizes");
    return a->numbers;
}

/* ----------------------------------------------------------------------------------------------------- convolutions */

typedef struct convolution {
    tensor x, w, y;
    int64_t spatial;
    const int64_t *begin, *stride, *dilation;
} convolution;

static const struct {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t x, w, y, settings, alpha, beta;
} convolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static convolution read_convolution(run *r, const fake_descriptor *operation, int kind) {
    const fake_descriptor *settings =
        fake_get(operation, convolutions[kind].settings, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    convolution c = {.x = find_tensor(r, operation, convolutions[kind].x),
                     .w = find_tensor(r, operation, convolutions[kind].w),
                     .y = find_tensor(r, operation, convolutions[kind].y),
                     .spatial = numbers(settings, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1)[0]};
    c.begin = numbers(settings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.spatial);
    c.stride = numbers(settings, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.spatial);
    c.dilation = numbers(settings, CUDNN_ATTR_CONVOLUTION_DILATIONS, c.spatial);
    const int64_t *end = numbers(settings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c.spatial);
    fake_require(fake_get(settings, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE)->code == CUDNN_DATA_FLOAT &&
                     fake_get(settings, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE)->code ==
                         CUDNN_CROSS_CORRELATION &&
                     fake_get(operation, convolutions[kind].alpha, CUDNN_TYPE_FLOAT)->real == 1 &&
                     fake_get(operation, convolutions[kind].beta, CUDNN_TYPE_FLOAT)->real == 0,
                 "a convolution's settings");
    fake_require(c.spatial >= 2 && c.x.rank == c.spatial + 2 && c.w.rank == c.x.rank && c.y.rank == c.x.rank &&
                     c.x.dims[0] == c.y.dims[0] && c.w.dims[0] == c.y.dims[1] && c.x.dims[1] % c.w.dims[1] == 0,
                 "a convolution's sizes");
    for (int64_t i = 0; i < c.spatial; ++i) {
        int64_t room = c.x.dims[2 + i] + c.begin[i] + end[i] - c.dilation[i] * (c.w.dims[2 + i] - 1) - 1;
        fake_require(c.begin[i] == end[i] && room >= 0 && c.y.dims[2 + i] == room / c.stride[i] + 1,
                     "a convolution's output");
    }
    return c;
}

/* Each product of an element of x and one of w adds to one of y, or whichever of the three is made. */
static void convolve(run *r, const fake_descriptor *operation, int kind) {
    convolution c = read_convolution(r, operation, kind);
    tensor *made = kind == 0 ? &c.y : kind == 1 ? &c.x : &c.w;
    tensor sums = *made;
    int64_t y[RANK], w[RANK], x[RANK], groups = c.x.dims[1] / c.w.dims[1];
    sums.type = CUDNN_DATA_DOUBLE;
    sums.memory = calloc((size_t)extent(made), sizeof(double));
    for (int64_t i = 0; i < elements(&c.y); ++i) {
        unravel(&c.y, i, y);
        for (int64_t k = 0; k < elements(&c.w) / c.w.dims[0]; ++k) {
            unravel(&c.w, y[1] * (elements(&c.w) / c.w.dims[0]) + k, w);
            bool inside = true;
            x[0] = y[0];
            x[1] = y[1] / (c.w.dims[0] / groups) * c.w.dims[1] + w[1];
            for (int64_t d = 0; d < c.spatial; ++d) {
                x[2 + d] = y[2 + d] * c.stride[d] + w[2 + d] * c.dilation[d] - c.begin[d];
                inside = inside && x[2 + d] >= 0 && x[2 + d] < c.x.dims[2 + d];
            }
            if (!inside) continue;
            if (kind == 0) store(&sums, y, load(&sums, y) + load(&c.x, x) * load(&c.w, w));
            if (kind == 1) store(&sums, x, load(&sums, x) + load(&c.y, y) * load(&c.w, w));
            if (kind == 2) store(&sums, w, load(&sums, w) + load(&c.y, y) * load(&c.x, x));
        }
    }
    for (int64_t i = 0; i < elements(made); ++i) {
        unravel(made, i, x);
        store(made, x, load(&sums, x));
    }
    free(sums.memory);
}

/* ---------------------------------------------------------------------------------- pointwise, products, reductions */

static double apply(int mode, double x, double b, double t) {
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return exp(x);
    case CUDNN_POINTWISE_LOG: return log(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_CMP_GE: return x >= b;
    case CUDNN_POINTWISE_BINARY_SELECT: return t != 0 ? x : b;
    default: fake_require(false, "a pointwise function"); return 0;
    }
}

static void pointwise(run *r, const fake_descriptor *operation) {
    const fake_descriptor *settings =
        fake_get(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR)
            ->descriptors[0];
    int mode = fake_get(settings, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE)->code;
    (void)fake_get(settings, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE);
    tensor x = find_tensor(r, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), b = x, t = x;
    tensor y = find_tensor(r, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    bool has_b = has(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    bool has_t = has(operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    if (has_b) b = find_tensor(r, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    if (has_t) t = find_tensor(r, operation, CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    int64_t at[RANK];
    for (int64_t i = 0; i < elements(&y); ++i) {
        unravel(&y, i, at);
        if (mode == CUDNN_POINTWISE_GEN_INDEX)
            store(&y, at, (double)at[numbers(settings, CUDNN_ATTR_POINTWISE_AXIS, 1)[0]]);
        else
            store(&y, at, apply(mode, load(&x, at), has_b ? load(&b, at) : 0, has_t ? load(&t, at) : 0));
    }
}

static void multiply(run *r, const fake_descriptor *operation) {
    (void)fake_get(operation, CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    tensor a = find_tensor(r, operation, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    tensor b = find_tensor(r, operation, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    tensor c = find_tensor(r, operation, CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    int64_t row = c.rank - 2, column = c.rank - 1, at[RANK], from[RANK], with[RANK];
    fake_require(a.rank == c.rank && b.rank == c.rank && a.dims[column] == b.dims[row] && a.dims[row] == c.dims[row] &&
                     b.dims[column] == c.dims[column],
                 "a product's sizes");
    for (int64_t i = 0; i < elements(&c); ++i) {
        double sum = 0;
        unravel(&c, i, at);
        memcpy(from, at, sizeof at);
        memcpy(with, at, sizeof at);
        for (int64_t k = 0; k < a.dims[column]; ++k) {
            from[column] = with[row] = k;
            sum += load(&a, from) * load(&b, with);
        }
        store(&c, at, sum);
    }
}

static void reduce(run *r, const fake_descriptor *operation) {
    const fake_descriptor *settings =
        fake_get(operation, CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    int mode = fake_get(settings, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE)->code;
    bool maximum = mode == CUDNN_REDUCE_TENSOR_MAX;
    tensor x = find_tensor(r, operation, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    tensor y = find_tensor(r, operation, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    int64_t at[RANK];
    fake_require(x.rank == y.rank && (maximum || mode == CUDNN_REDUCE_TENSOR_ADD), "a reduction");
    for (int64_t i = 0; i < elements(&y); ++i) {
        unravel(&y, i, at);
        store(&y, at, maximum ? -INFINITY : 0);
    }
    for (int64_t i = 0; i < elements(&x); ++i) {
        unravel(&x, i, at);
        store(&y, at, maximum ? fmax(load(&y, at), load(&x, at)) : load(&y, at) + load(&x, at));
    }
}

/* Runs a reshape: its result shows the operand's elements with other dims and strides. */
static void reshape(run *r, const fake_descriptor *operation) {
    tensor x = find_tensor(r, operation, CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const fake_descriptor *y =
        fake_get(operation, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR)->descriptors[0];
    int64_t id = fake_get(y, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64)->numbers[0];
    r->within[id] = x.memory;
    r->viewed[id] = x.type;
    r->is_view[id] = true;
}

void fake_run(const fake_descriptor *operations, void *const addresses[FAKE_LIST]) {
    const fake_attribute *list = fake_get(operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR);
    run r = {.addresses = addresses};
    for (int64_t i = 0; i < list->count; ++i) {
        const fake_descriptor *operation = list->descriptors[i];
        bool done = true;
        for (int kind = 0; kind < 3; ++kind)
            if (operation->type == convolutions[kind].type) convolve(&r, operation, kind);
        switch (operation->type) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: pointwise(&r, operation); break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: multiply(&r, operation); break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: reduce(&r, operation); break;
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: reshape(&r, operation); break;
        default: done = operation->type <= CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR; break;
        }
        fake_require(done, "an operation that the fake does not know");
    }
    for (int i = 0; i < FAKE_LIST; ++i)
        if (r.owned[i] && !r.is_view[i]) free(r.within[i]);
}
