/* Batch normalisation as graphs for cuDNN: see cuda_batch.h. */
#include "kernels/normalization/cuda_batch.h"

/* Operands in the library's order (ons_cudnn_operation). */
enum { NORMALIZE_BIAS = 4, NORMALIZE_EPSILON = 5, NORMALIZE_Y = 11 };
enum { GRADIENT_SCALE = 4, GRADIENT_DSCALE, GRADIENT_DBIAS, GRADIENT_DX };

/* Arguments of a run. */
enum { X, SCALE, MEAN, INVERSE, Y, BIAS, DX, DSCALE, DBIAS, ARGUMENTS }; /* Y: y or dy */

/* The node's outputs: of the forward operator, and of the gradient. */
enum { OUT_Y, OUT_SAVED_MEAN = 3, OUT_SAVED_INVERSE };
enum { OUT_DX, OUT_DSCALE, OUT_DBIAS };

static void destroy(void *state) { ons_cudnn_plan_free(((ons_cuda_batch *)state)->plan); }

/* What the library has engines for that the same numbers come of. */
static bool is_wanted(const ons_type *x, const ons_cuda_batch *s) {
    bool half = s->dtype == ONS_FLOAT16 || s->dtype == ONS_BFLOAT16;
    return ons_cudnn_is_there() && half && s->replicas == 1 && !s->added && s->activation.kind == ONS_BATCH_PLAIN &&
           s->last && s->parameters == ONS_FLOAT32 && x->shape.rank >= 3 && x->shape.rank <= 5 && ons_elements(x) > 0;
}

static int64_t image(ons_cudnn_graph *g, int64_t slot, const ons_type *type) {
    ons_type last = *type;
    last.layout = ONS_LAYOUT_CHANNELS_LAST; /* of one position: the same bytes */
    return ons_cudnn_image(g, slot, &last);
}

/* A float for each channel, as a picture of one position; slot -1: in the scratch, since nobody reads it. */
static int64_t vector(ons_cudnn_graph *g, int64_t slot, int64_t like) {
    int64_t rank = g->tensors[like].rank, channels = g->tensors[like].dims[1];
    int64_t dims[ONS_CUDNN_DIMS] = {1, channels, 1, 1, 1}, strides[ONS_CUDNN_DIMS];
    for (int i = 0; i < ONS_CUDNN_DIMS; ++i) strides[i] = i == 1 ? 1 : channels;
    if (slot >= 0) return ons_cudnn_argument(g, slot, ONS_FLOAT32, rank, dims, strides);
    int64_t made = ons_cudnn_scratch(g, ONS_FLOAT32, rank, dims);
    for (int64_t i = 0; i < rank; ++i) g->tensors[made].strides[i] = strides[i];
    return made;
}

/* What our own kernels need as scratch is there behind the library's use of it, too. */
static ons_status *plan(ons_prepare *p, const ons_cudnn_graph *graph, ons_cuda_batch *s) {
    ONS_TRY(ons_cudnn_prepare(p, graph, &s->plan));
    if (s->plan != NULL) p->destroy = destroy;
    return NULL;
}

ons_status *ons_cuda_batch_plan_training(ons_prepare *p, ons_cuda_batch *s) {
    const ons_operands *o = p->operands;
    const ons_type *type = &o->inputs[0];
    bool complete =
        ons_has_output(o, OUT_Y) && ons_has_output(o, OUT_SAVED_MEAN) && ons_has_output(o, OUT_SAVED_INVERSE);
    ons_cudnn_graph *g;
    if (!complete || !is_wanted(type, s)) return NULL;
    ONS_TRY(ons_cudnn_graph_new(p, &g));
    int64_t x = image(g, X, type), y = image(g, Y, type);
    ons_cudnn_step *step = ons_cudnn_step_add(g, ONS_CUDNN_NORMALIZE, 0, x, vector(g, MEAN, x), vector(g, INVERSE, x),
                                              vector(g, SCALE, x));
    step->operands[NORMALIZE_BIAS] = vector(g, BIAS, x);
    step->operands[NORMALIZE_EPSILON] = ons_cudnn_number(g, (float)s->epsilon, g->tensors[x].rank);
    step->operands[NORMALIZE_Y] = y;
    return plan(p, g, s);
}

ons_status *ons_cuda_batch_plan_gradient(ons_prepare *p, ons_cuda_batch *s) {
    const ons_operands *o = p->operands;
    const ons_type *type = &o->inputs[1];
    ons_cudnn_graph *g;
    if (s->constant || !ons_has_output(o, OUT_DX) || !is_wanted(type, s)) return NULL;
    ONS_TRY(ons_cudnn_graph_new(p, &g));
    int64_t x = image(g, X, type), dy = image(g, Y, type);
    ons_cudnn_step *step =
        ons_cudnn_step_add(g, ONS_CUDNN_NORMALIZE_GRADIENT, 0, x, vector(g, MEAN, x), vector(g, INVERSE, x), dy);
    step->operands[GRADIENT_SCALE] = vector(g, SCALE, x);
    step->operands[GRADIENT_DSCALE] = vector(g, ons_has_output(o, OUT_DSCALE) ? DSCALE : -1, x);
    step->operands[GRADIENT_DBIAS] = vector(g, ons_has_output(o, OUT_DBIAS) ? DBIAS : -1, x);
    step->operands[GRADIENT_DX] = image(g, DX, type);
    return plan(p, g, s);
}

void ons_cuda_batch_run_training(const ons_cuda_batch *s, const ons_launch *l) {
    const void *const arguments[ARGUMENTS] = {
        [X] = l->inputs[0],
        [SCALE] = l->inputs[1],
        [BIAS] = l->inputs[2],
        [MEAN] = l->outputs[OUT_SAVED_MEAN],
        [INVERSE] = l->outputs[OUT_SAVED_INVERSE],
        [Y] = l->outputs[OUT_Y],
    };
    ons_cudnn_plan_run(s->plan, l->stream, arguments, l->scratch);
}

void ons_cuda_batch_run_gradient(const ons_cuda_batch *s, const ons_launch *l) {
    const void *const arguments[ARGUMENTS] = {
        [X] = l->inputs[1],
        [Y] = l->inputs[0],
        [SCALE] = l->inputs[2],
        [MEAN] = l->inputs[3],
        [INVERSE] = l->inputs[4],
        [DX] = l->outputs[OUT_DX],
        [DSCALE] = l->outputs[OUT_DSCALE],
        [DBIAS] = l->outputs[OUT_DBIAS],
    };
    ons_cudnn_plan_run(s->plan, l->stream, arguments, l->scratch);
}
