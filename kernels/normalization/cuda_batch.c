#include "kernels/normalization/cuda_batch.h"

#include "kernels/common/elementwise/cuda_elementwise.h"

enum { PARTS_MAX = 64, PARTS_MAX_LAST = 1024, PART_ELEMENTS = 4096, BLOCKS_ENOUGH = 1024 };
enum { THREADS = 256, WARP = 32, PART_ROWS = 16, PACK_BYTES = 16 };
enum { PARAMETERS = 4 }; /* scale, bias and statistics; inference of shapes has checked what else there is */

/* Inputs [0, count) are of x's type of elements. */
static ons_status *require_one_type(const ons_operands *o, const ons_type *x, uint32_t count) {
    ONS_TRY(ons_cuda_require_float(o, x->dtype));
    for (uint32_t i = 0; i < count; ++i)
        if (o->inputs[i].dtype != x->dtype) return ons_node_error(o, "the CUDA kernel wants operands of one type");
    return NULL;
}

/* As ons_channels_choose has it: x, y and their gradients in one layout. */
static ons_status *require_one_layout(const ons_operands *o, const ons_type *x) {
    if (ons_layout_is_weight(x->layout)) return ons_node_error(o, "the input has the layout of a weight");
    for (uint32_t i = 0; i < o->input_count; ++i)
        if (o->inputs[i].layout != (ons_shape_equal(&o->inputs[i].shape, &x->shape) ? x->layout : ONS_LAYOUT_ONNX))
            return ons_node_error(o, "input %u has another layout", i);
    for (uint32_t i = 0; i < o->output_count; ++i)
        if (ons_has_output(o, i) &&
            o->outputs[i].layout != (ons_shape_equal(&o->outputs[i].shape, &x->shape) ? x->layout : ONS_LAYOUT_ONNX))
            return ons_node_error(o, "output %u has another layout", i);
    return NULL;
}

/* Each channel's elements in so many parts that there are blocks enough, but something to do for each. */
static void set_parts(ons_cuda_batch *s) {
    int64_t count = s->batch * s->positions, blocks = s->channels, parts = count / PART_ELEMENTS, most = PARTS_MAX;
    if (s->last) {
        int64_t pack = PACK_BYTES / (int64_t)ons_dtype_size(s->dtype);
        s->pack = s->channels % pack == 0 ? (int)pack : 1;
        int64_t width = s->channels / s->pack;
        s->tile = 1;
        while (s->tile < WARP && s->tile < width) s->tile *= 2;
        blocks = (width + s->tile - 1) / s->tile;
        parts = count / ((int64_t)THREADS / s->tile * PART_ROWS);
        most = PARTS_MAX_LAST;
    }
    int64_t enough = blocks > 0 ? BLOCKS_ENOUGH / blocks + 1 : 1;
    parts = parts > enough ? enough : parts;
    s->parts = parts < 1 ? 1 : parts > most ? (int)most : (int)parts;
}

ons_status *ons_cuda_batch_prepare(ons_prepare *p, const ons_type *x, ons_cuda_batch **state) {
    const ons_operands *o = p->operands;
    uint32_t first = (uint32_t)(x - o->inputs) + 1; /* of the parameters */
    ONS_TRY(require_one_type(o, x, first));
    ONS_TRY(require_one_layout(o, x));
    ons_dtype parameters = o->inputs[first].dtype;
    for (uint32_t i = first; i < o->input_count && i < first + PARAMETERS; ++i)
        if (o->inputs[i].dtype != parameters || (parameters != x->dtype && parameters != ONS_FLOAT32))
            return ons_node_error(o, "the CUDA kernel wants parameters of one type, %s or float32",
                                  ons_dtype_name(x->dtype));
    ons_cuda_batch *s;
    ONS_NEW(s, p->arena, 1);
    ons_channels size = ons_channels_of(x);
    *s = (ons_cuda_batch){.dtype = x->dtype,
                          .parameters = parameters,
                          .batch = size.batch,
                          .channels = size.channels,
                          .positions = size.positions,
                          .last = size.last,
                          .replicas = 1};
    int64_t count = s->batch * s->positions;
    if (count > UINT32_MAX) return ons_node_error(p->operands, "a channel of %lld elements", (long long)count);
    set_parts(s);
    int64_t doubles = 2 * s->parts * s->channels;
    p->scratch_bytes = (doubles * (int64_t)sizeof(double) + 4 * s->channels * (int64_t)sizeof(float) + 63) / 64 * 64;
    p->state = *state = s;
    p->implementation = s->last ? "cuda:channels last" : "cuda:channels";
    return NULL;
}

ons_status *ons_cuda_batch_training_prepare(ons_prepare *p, double epsilon, double momentum, bool unbiased,
                                            ons_cuda_batch **state) {
    ONS_TRY(ons_cuda_batch_prepare(p, &p->operands->inputs[0], state));
    (*state)->epsilon = epsilon;
    (*state)->momentum = momentum;
    (*state)->unbiased = unbiased;
    (*state)->training = true;
    return NULL;
}

ons_status *ons_cuda_batch_share(ons_prepare *p, int64_t replicas, ons_cuda_batch *s) {
    s->shares_at = p->scratch_bytes;
    return ons_batch_shares_plan(p, s->channels, replicas, &s->replicas);
}

/* The inputs after the first three are saved statistics, always float32. */
ons_status *ons_cuda_group_prepare(ons_prepare *p, const ons_type *x, const ons_group_norm *norm, double epsilon) {
    ONS_TRY(ons_cuda_require_plain(p->operands));
    ONS_TRY(require_one_type(p->operands, x, 3));
    ons_cuda_group *s;
    ONS_NEW_STATE(s, p);
    *s = (ons_cuda_group){x->dtype, *norm, (float)epsilon};
    p->implementation = "cuda:groups";
    return NULL;
}
