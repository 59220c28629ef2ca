#include "kernels/signal/cuda_constant.h"

#include "graph/evaluate.h"

enum { INPUTS_MAX = 8 };

ons_status *ons_cuda_known_prepare(ons_prepare *p) {
    const ons_operands *o = p->operands;
    const void *inputs[INPUTS_MAX] = {NULL};
    ons_cuda_known *s;
    uint64_t *words, *made;
    char *data;
    for (uint32_t i = 0; i < o->input_count; ++i) {
        const ons_tensor *constant = &o->constants[i];
        if (!ons_has_input(o, i)) continue;
        if (i >= INPUTS_MAX || constant->data == NULL)
            return ons_node_error(o, "the CUDA kernel wants inputs that are known before anything runs");
        size_t count = (size_t)ons_elements(&constant->type);
        ONS_NEW(words, p->arena, count + 1);
        ons_widen(constant->type.dtype, constant->data, (int64_t)count, words);
        inputs[i] = words;
    }
    int64_t elements = ons_elements(&o->outputs[0]);
    ONS_NEW_STATE(s, p);
    ONS_NEW(made, p->arena, (size_t)elements + 1);
    s->bytes = ons_type_dense_bytes(&o->outputs[0]);
    ONS_NEW(data, p->arena, (size_t)s->bytes + 1);
    ons_step step = {.step = 1};
    o->op->reference(o, &step, inputs, (void *const[]){made});
    ons_narrow(o->outputs[0].dtype, made, elements, data);
    s->data = data;
    p->implementation = "cuda:made when prepared";
    return NULL;
}
