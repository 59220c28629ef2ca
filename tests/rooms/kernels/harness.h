/* The one harness for all operators: what is promised in a descriptor is checked on every case of it.
 *
 * Every function gives NULL where all is well and otherwise one failure that says which promise is broken and where.
 */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_HARNESS_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_HARNESS_H

#include "tests/rooms/kernels/fixture.h"
#include "tests/rooms/kernels/target.h"

/* From the environment variable ONSTAGE_TEST_SEED, else fixed. */
uint64_t ons_test_seed(void);

/* The descriptor in itself: everything present or its absence explained, sane ranges; cases that fit. */
ons_status *ons_check_descriptor(const ons_operator *op, const ons_case *cases);

/* What a backend has for it: kernels that are whole, or the reason why there is none. */
ons_status *ons_check_kernel_list(const ons_backend *backend, const ons_operator *op);

/* Names and opset ranges of different operators. */
ons_status *ons_check_registry(const ons_registry *registry);

/* Shapes and cost of one case; the only check of a case that expects an error. */
ons_status *ons_check_shapes(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                             uint64_t seed);

/* The kernel against the reference: poisoned outputs and scratch, guards, inputs unchanged, a second run, results in an
 * input's place. Passes where there is nothing to run: a view, or no kernel. A kernel may refuse a case only where no
 * operand whose contents come with the data is float32. */
ons_status *ons_check_kernel(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                             const ons_target *target, int threads, uint64_t seed);

/* ons_check_kernel on a case that is alive and has its reference's results. */
ons_status *ons_check_fixture(ons_fixture *fixture, const ons_target *target, int threads);

/* In which layouts inputs of three to five dims come. */
typedef enum ons_offer {
    ONS_OFFER_ONNX,
    ONS_OFFER_CHANNELS_LAST, /* as behind a convolution: the first layout of kernels/ */
    ONS_OFFER_MIXED,         /* the second one in ONNX's order, the others with channels last */
    ONS_OFFERS,
} ons_offer;

/* Gives the case's operands in the layouts that the operator would choose where its inputs come as `offered`; they lie
 * in the fixture's arena. *differs: whether any is not ONNX's. */
ons_status *ons_choose_case_layouts(ons_fixture *fixture, bool for_cuda, ons_offer offered, ons_operands *operands,
                                    bool *differs);

typedef enum ons_half {
    ONS_HALF_NOT_MEANT, /* no float32 operand that would change its type, an operator of full precision, no kernel */
    ONS_HALF_REFUSED,   /* by the operator's shapes, which say why: it stays in float32 */
    ONS_HALF_OVERFLOWS, /* an operand or a result is too large for the type */
    ONS_HALF_CHECKED,
} ons_half;

/* The kernel on a float32 case as training in a lower precision has it (graph/passes/precision.h): its float32 operands
 * are of `dtype`, ONS_BFLOAT16 or ONS_FLOAT16, but for those that stay float32, and the reference computes from what is
 * left of them. Tolerances are the type's, and no kernel may refuse what the operator's shapes accept. */
ons_status *ons_check_half(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                           const ons_target *target, ons_dtype dtype, uint64_t seed, ons_half *outcome);

/* Attention over so many positions, with two heads of 64, and its gradient, from the same queries, keys and values:
 * each result as a whole against the reference, and the same bits twice. `worst`: how far off it is at most, as a share
 * of the result's norm; the bar is one roundoff of the type, and some more. */
ons_status *ons_check_attention(const ons_registry *registry, const ons_target *target, int64_t positions, bool causal,
                                ons_dtype dtype, uint64_t seed, double *worst);

/* The gradient rule, evaluated in double, against finite differences of the reference; the kernels of its nodes in
 * float32 against that. */
ons_status *ons_check_gradient(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                               uint64_t seed);

/* Of an operator that binding replaces: the nodes that it becomes against its reference, with gradients. */
ons_status *ons_check_expansion(const ons_registry *registry, const ons_operator *op, const ons_case *example,
                                uint64_t seed);

/* Which operands the gradient rule reads in any case, against what the descriptor says that it saves. */
ons_status *ons_check_saved(const ons_registry *registry, const ons_operator *op, const ons_case *cases, uint64_t seed);

/* Fails unless every element of `got` agrees with the reference's words within `tolerance` of max(1, |reference|);
 * 0: the same value. A NaN agrees with a NaN only. */
ons_status *ons_compare(const ons_type *type, const void *got, const void *words, double tolerance);

#endif
