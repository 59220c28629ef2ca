/* A workload as a vision transformer's graph gives it where whole operators are nodes, as PyTorch's compiler traces
 * them: ten nodes a block (normalisation, one product for query, key and value, attention, projection, addition,
 * normalisation, two products with an activation between, addition), two in front and four behind. Costs follow from
 * FLOPs and bytes on a device of 60 TFLOP/s and 1.5 TB/s; a gradient takes as long as its forward part, so the backward
 * part of a node with weights takes twice that, and the backward part of attention too.
 */
#ifndef ONSTAGE_TESTS_ROOMS_PLANNER_VISION_WORK_H
#define ONSTAGE_TESTS_ROOMS_PLANNER_VISION_WORK_H

#include "planner/workload/workload.h"

typedef struct vision_work_options {
    uint32_t blocks;
    int64_t hidden, inner, heads, tokens, samples; /* inner: between the two products of a block */
    int64_t patch, classes;                        /* numbers that go into a patch; that come out at the end */
    bool every_token;                              /* what comes out comes out for every token: a language model */
    bool across;            /* block i's input is read by block (blocks - 1 - i), too, as in a U-Net */
    uint32_t frozen_blocks; /* so many at the beginning, and what is in front of them, are not trained */
    double seconds;         /* all of forward and backward is scaled to this; 0: as it comes */
} vision_work_options;

/* ViT-g/14 (Zhai et al., 2022): 40 blocks of 1408, 6144 between, 16 heads, 257 tokens. 406 nodes. */
vision_work_options vision_work_vit(int64_t samples);
/* GPT-2 large: 36 blocks of 1280, 20 heads, 512 tokens, 50,257 words. 366 nodes. */
vision_work_options vision_work_gpt2(int64_t samples);

/* In `arena`, finished. */
ons_status *vision_work_make(const vision_work_options *options, ons_arena *arena, ons_workload *work);

#endif
