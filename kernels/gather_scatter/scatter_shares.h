/* How the cotangent of one element of a scattered result is shared among the element of the data and the updates that
 * met there. Without a reduction the data's element has nothing. A product gives each factor the product of the others.
 * A maximum or minimum is shared evenly among all that tie for it, the data's element included, as in PyTorch.
 *
 * Two passes: everything that meets in an element is noted, then each gets its share.
 */
#ifndef ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_SHARES_H
#define ONSTAGE_KERNELS_GATHER_SCATTER_SCATTER_SHARES_H

#include "base/host_device.h"
#include "kernels/gather_scatter/scatter.h"

/* ---- operands of both gradient operators: the last three are there with a product, a maximum or a minimum alone */
enum { ONS_SHARES_COTANGENT, ONS_SHARES_INDICES, ONS_SHARES_DATA, ONS_SHARES_UPDATES, ONS_SHARES_RESULT };

typedef struct ons_scatter_shares {
    ons_scatter_mode mode;
    const float *dy, *data, *updates, *result;
    float *counts;   /* of each element: zeros among the factors, or ties; scratch */
    float *products; /* of each element: of the factors that are not zero; scratch, of ONS_SCATTER_MUL alone */
} ons_scatter_shares;

/* Bytes of scratch for a result of so many elements. */
static inline int64_t ons_scatter_scratch(ons_scatter_mode mode, int64_t elements) {
    int64_t arrays = mode == ONS_SCATTER_NONE ? 0 : mode == ONS_SCATTER_MUL ? 2 : 1;
    return (arrays * elements * (int64_t)sizeof(float) + 63) / 64 * 64;
}

ONS_HOST_DEVICE static inline void ons_shares_begin(const ons_scatter_shares *s, int64_t i) {
    if (s->mode != ONS_SCATTER_MUL) {
        s->counts[i] = s->data[i] == s->result[i] ? 1 : 0;
        return;
    }
    s->counts[i] = s->data[i] == 0 ? 1 : 0;
    s->products[i] = s->data[i] == 0 ? 1 : s->data[i];
}

/* Update `u` meets element `i`. */
ONS_HOST_DEVICE static inline void ons_shares_note(const ons_scatter_shares *s, int64_t u, int64_t i) {
    float x = s->updates[u];
    if (s->mode != ONS_SCATTER_MUL) {
        s->counts[i] += x == s->result[i] ? 1 : 0;
        return;
    }
    s->counts[i] += x == 0 ? 1 : 0;
    s->products[i] *= x == 0 ? 1 : x;
}

/* The share of a value `x` that met in element `i`. */
ONS_HOST_DEVICE static inline float ons_shares_of(const ons_scatter_shares *s, float x, int64_t i) {
    if (s->mode != ONS_SCATTER_MUL) return x == s->result[i] ? s->dy[i] / s->counts[i] : 0;
    if (x == 0) return s->counts[i] == 1 ? s->dy[i] * s->products[i] : 0;
    return s->counts[i] == 0 ? s->dy[i] * s->products[i] / x : 0;
}

#ifndef __cplusplus

/* Types and shapes, where `indices` and data fit. */
static inline ons_status *ons_shares_infer(ons_operands *o, ons_scatter_mode mode, const ons_type *updates) {
    const ons_type *dy = &o->inputs[ONS_SHARES_COTANGENT];
    bool plain = mode == ONS_SCATTER_NONE, fits = plain || mode > ONS_SCATTER_ADD;
    for (uint32_t i = ONS_SHARES_DATA; i <= ONS_SHARES_RESULT; ++i)
        fits = fits && mode != ONS_SCATTER_MODES && ons_has_input(o, i) != plain &&
               (plain || ons_type_equal(&o->inputs[i], i == ONS_SHARES_UPDATES ? updates : dy));
    if (!fits) return ons_node_error(o, "the operands of the gradient do not fit together");
    o->outputs[0] = *dy;
    if (o->output_count > 1) o->outputs[1] = *updates;
    return NULL;
}

/* For references: shares in double, found by looking at all updates for each. `target[u]` is where update u goes, given
 * by a function. */
typedef int64_t ons_target_function(const void *map, const int64_t *indices, int64_t update);

static inline double ons_shares_reference_of(ons_scatter_mode mode, const void *const *inputs, double own, int64_t self,
                                             int64_t element, int64_t updates, const void *map,
                                             ons_target_function *target) {
    const double *values = inputs[ONS_SHARES_UPDATES], *result = inputs[ONS_SHARES_RESULT];
    double dy = ((const double *)inputs[ONS_SHARES_COTANGENT])[element];
    double data = ((const double *)inputs[ONS_SHARES_DATA])[element];
    double product = self < 0 ? 1 : data, ties = data == result[element] ? 1 : 0;
    for (int64_t u = 0; u < updates; ++u) {
        if (target(map, inputs[ONS_SHARES_INDICES], u) != element) continue;
        product *= u == self ? 1 : values[u];
        ties += values[u] == result[element] ? 1 : 0;
    }
    if (mode == ONS_SCATTER_MUL) return dy * product;
    return own == result[element] ? dy / ties : 0;
}

static inline void ons_shares_reference(const ons_operands *o, ons_scatter_mode mode, const void *const *inputs,
                                        void *const *outputs, int64_t updates, const void *map,
                                        ons_target_function *target) {
    double *d_data = outputs[0], *d_updates = o->output_count > 1 ? outputs[1] : NULL;
    int64_t elements = ons_elements(&o->inputs[ONS_SHARES_COTANGENT]);
    for (int64_t i = 0; d_data != NULL && i < elements; ++i)
        d_data[i] = mode == ONS_SCATTER_NONE
                        ? ((const double *)inputs[ONS_SHARES_COTANGENT])[i]
                        : ons_shares_reference_of(mode, inputs, ((const double *)inputs[ONS_SHARES_DATA])[i], -1, i,
                                                  updates, map, target);
    for (int64_t u = 0; u < updates; ++u) {
        int64_t i = target(map, inputs[ONS_SHARES_INDICES], u);
        if (mode == ONS_SCATTER_NONE) {
            if (d_data != NULL && i >= 0) d_data[i] = 0;
        } else if (d_updates != NULL) {
            d_updates[u] = i < 0
                               ? 0
                               : ons_shares_reference_of(mode, inputs, ((const double *)inputs[ONS_SHARES_UPDATES])[u],
                                                         u, i, updates, map, target);
        }
    }
}

#endif /* __cplusplus */

#endif
