/* STFT: the Fourier transforms of windows that slide over a signal. */
#include <math.h>

#include "kernels/common/operator/expand.h"
#include "kernels/signal/fourier.h"

enum { SIGNAL, STEP, WINDOW, LENGTH };

enum { ONESIDED };

typedef struct frames {
    int64_t batch, samples, parts, step, length, count, bins;
} frames;

static ons_status *read_number(const ons_operands *o, uint32_t input, const char *what, int64_t *value) {
    int64_t numbers[ONS_INTEGERS_MAX];
    uint32_t count;
    ONS_TRY(ons_constant_integers(o, input, numbers, &count));
    if (count > 1) return ons_node_error(o, "the %s must be one number", what);
    if (count == 1) *value = numbers[0];
    return NULL;
}

/* Samples of all frames of one signal, frames overlapping: their places are a table. */
enum { FRAMED_MOST = 1 << 22 };

static ons_status *resolve_frames(const ons_operands *o, frames *f) {
    const ons_shape *signal = &o->inputs[SIGNAL].shape, *window = &o->inputs[WINDOW].shape;
    ONS_TRY(ons_need_float(o, SIGNAL));
    if (signal->rank != 2 && (signal->rank != 3 || signal->dims[2] < 1 || signal->dims[2] > 2))
        return ons_node_error(o, "the signal must be [batch, samples], with 1 or 2 parts (real, imaginary) behind");
    *f = (frames){
        .batch = signal->dims[0], .samples = signal->dims[1], .parts = signal->rank == 2 ? 1 : signal->dims[2]};
    ONS_TRY(read_number(o, STEP, "step", &f->step));
    bool has_window = ons_has_input(o, WINDOW);
    if (has_window && (window->rank != 1 || o->inputs[WINDOW].dtype != o->inputs[SIGNAL].dtype))
        return ons_node_error(o, "the window must be a vector of the signal's element type");
    if (!has_window && !ons_has_input(o, LENGTH)) return ons_node_error(o, "a window or a frame length is needed");
    f->length = has_window ? window->dims[0] : 0;
    ONS_TRY(read_number(o, LENGTH, "frame length", &f->length));
    if (has_window && window->dims[0] != f->length)
        return ons_node_error(o, "the window has %lld elements, a frame %lld", (long long)window->dims[0],
                              (long long)f->length);
    if (f->step < 1 || f->length < 1 || f->length > f->samples || f->length > ONS_FOURIER_LENGTH_MAX)
        return ons_node_error(o, "frames of %lld samples every %lld do not fit %lld samples", (long long)f->length,
                              (long long)f->step, (long long)f->samples);
    bool onesided = ons_attribute_int(o, ONESIDED) != 0;
    if (onesided && f->parts == 2) return ons_node_error(o, "a complex signal has no one-sided transform");
    f->count = (f->samples - f->length) / f->step + 1;
    f->bins = onesided ? f->length / 2 + 1 : f->length;
    ons_shape all = {4, {f->batch, f->count, f->length, f->parts}};
    ONS_TRY(ons_shape_check(&all));
    ONS_CHECK(f->count <= FRAMED_MOST / f->length, ONS_UNSUPPORTED,
              "node '%s' (%s): %lld frames of %lld samples, more than %d samples together; transform shorter pieces",
              o->name, o->op->name, (long long)f->count, (long long)f->length, FRAMED_MOST);
    return NULL;
}

static ons_status *stft_infer(ons_operands *o) {
    frames f;
    ONS_TRY(resolve_frames(o, &f));
    int64_t dims[] = {f.batch, f.count, f.bins, 2};
    o->outputs[0] = ons_type_make(o->inputs[SIGNAL].dtype, ons_shape_make(4, dims));
    return NULL;
}

static ons_cost stft_cost(const ons_operands *o) {
    frames f;
    ons_resolved(resolve_frames(o, &f));
    double elements = (double)(f.batch * f.count) * (double)f.length;
    return (ons_cost){floor(5 * elements * log2((double)f.length) + elements), ons_operand_bytes(o)};
}

static ons_status *stft_expand(ons_replacement *m) {
    frames f;
    ons_resolved(resolve_frames(m->operands, &f));
    int64_t dims[] = {f.batch, f.samples, f.parts}, window_dims[] = {f.length, 1};
    ons_type type = ons_type_make(ONS_INT64, ons_shape_make(2, (int64_t[]){f.count, f.length}));
    int64_t *places;
    ONS_NEW(places, m->builder->graph->arena, (size_t)(f.count * f.length));
    for (int64_t i = 0; i < f.count * f.length; ++i) places[i] = i / f.length * f.step + i % f.length;
    ons_value_id x = ons_build(m->builder, &ons_op_gather,
                               ONS_IN(ons_expand_reshape(m, m->inputs[SIGNAL], 3, dims),
                                      ons_build_constant(m->builder, m->operands->name, &type, places)),
                               ONS_WITH(ONS_AT_INT(0, 1)));
    if (ons_has_input(m->operands, WINDOW))
        x = ons_expand2(m, &ons_op_mul, x, ons_expand_reshape(m, m->inputs[WINDOW], 2, window_dims));
    return ons_expand_finish(
        m, ons_build(m->builder, &ons_op_fourier_transform, ONS_IN(x),
                     ONS_WITH(ONS_AT_INT(0, 2), ONS_AT_INT(1, f.length), ONS_AT_INT(4, f.bins), ONS_AT_INT(5, 2))));
}

static void stft_reference(const ons_operands *o, const ons_step *step, const void *const *inputs,
                           void *const *outputs) {
    frames f;
    ons_resolved(resolve_frames(o, &f));
    const double *window = ons_has_input(o, WINDOW) ? inputs[WINDOW] : NULL;
    double *y = outputs[0];
    for (int64_t i = 0; i < f.batch * f.count * f.bins; ++i) {
        int64_t k = i % f.bins, frame = i / f.bins % f.count, batch = i / f.bins / f.count;
        y[2 * i] = y[2 * i + 1] = 0;
        for (int64_t t = 0; t < f.length; ++t) {
            const double *x = (const double *)inputs[SIGNAL] + (batch * f.samples + frame * f.step + t) * f.parts;
            double angle = -2 * M_PI * (double)(k * t % f.length) / (double)f.length;
            double weight = window == NULL ? 1 : window[t], a = x[0] * weight, b = f.parts == 2 ? x[1] * weight : 0;
            y[2 * i] += a * cos(angle) - b * sin(angle);
            y[2 * i + 1] += a * sin(angle) + b * cos(angle);
        }
    }
}

ONS_DEFINE_EXPANSION(stft, "STFT", ONS_ONNX(17, ONS_NEWEST), ONS_ARITY(2, 4, 1, 1),
                     ONS_ATTRIBUTES(ONS_INT_ATTRIBUTE("onesided", 1)), stft_infer, stft_cost,
                     ONS_INPUT_BIT(SIGNAL) | ONS_INPUT_BIT(WINDOW), stft_expand, stft_reference);
