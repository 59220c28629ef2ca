/* FakeQuantizeGradient on CUDA: what the host works out. */
#include "kernels/fake_quantize/fake_quantize_gradient_node.h"

#include "kernels/common/cuda/cuda_prepare.h"
#include "kernels/quantization/fake_quantization.h"

static ons_status *make_cuda_state(ons_prepare *p) {
    const ons_operands *o = p->operands;
    ons_fake_quantize_gradient *s;
    ONS_NEW_STATE(s, p);
    ONS_TRY(ons_fake_resolve(o, X, &s->fake));
    const ons_scales *scales = &s->fake.scales;
    s->has_from = ons_has_input(o, FROM_ZERO);
    s->has_to = ons_has_input(o, TO_ZERO);
    s->each = scales->blocked ? scales->block : scales->count > 0 ? scales->elements / scales->count : 0;
    int64_t cuts = s->each / 4096, enough = scales->count > 0 ? 512 / scales->count + 1 : 1;
    cuts = cuts > enough ? enough : cuts;
    s->parts = cuts < 1 ? 1 : (int)cuts;
    p->scratch_bytes = (2 * s->parts * scales->count * (int64_t)sizeof(double) + 63) / 64 * 64;
    return NULL;
}

ONS_CUDA_TYPED_KERNEL(fake_quantize_gradient, make_cuda_state)
