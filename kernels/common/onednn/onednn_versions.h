/* All that differs between oneDNN 2 and 3: how memory is described, how a primitive's description is made of that.
 *
 * oneDNN 2 has descriptions of memory that are values and one more for each kind of operation; oneDNN 3 has only
 * objects that somebody must destroy. Here a description is a value of ours, and the library's own is made of it where
 * it is needed. Every primitive's description that is made here belongs to the caller (dnnl_primitive_desc_destroy).
 */
#ifndef ONSTAGE_KERNELS_COMMON_ONEDNN_ONEDNN_VERSIONS_H
#define ONSTAGE_KERNELS_COMMON_ONEDNN_ONEDNN_VERSIONS_H

#include <oneapi/dnnl/dnnl.h>
#include <stdbool.h>
#include <stdint.h>

/* The library's version, "2.6.3". */
enum { ONS_ONEDNN_VERSION_TEXT = 32 };
void ons_onednn_version(char text[ONS_ONEDNN_VERSION_TEXT]);

/* For dnnl_set_max_cpu_isa: no cap. Only its name differs. */
#define ONS_ONEDNN_ALL_INSTRUCTIONS ((dnnl_cpu_isa_t)0)

/* A memory's description. */
typedef struct ons_onednn_memory {
    int rank;
    dnnl_dims_t dims;
    dnnl_data_type_t type;
    enum { ONS_ONEDNN_ROW_MAJOR, ONS_ONEDNN_STRIDED, ONS_ONEDNN_TAGGED } format;
    dnnl_dims_t strides;   /* ONS_ONEDNN_STRIDED */
    dnnl_format_tag_t tag; /* ONS_ONEDNN_TAGGED; dnnl_format_tag_any: the library may choose */
} ons_onednn_memory;

/* Whether the library takes it: its format fits its rank, for one. */
bool ons_onednn_memory_is_valid(const ons_onednn_memory *m);

/* Padding included; 0 where it is not valid. */
int64_t ons_onednn_memory_bytes(const ons_onednn_memory *m);

/* A window's sizes as oneDNN takes them: real dims only, gaps between taps instead of distances. */
typedef struct ons_onednn_window {
    dnnl_dims_t kernel, stride, dilation, begin, last;
} ons_onednn_window;

typedef struct ons_onednn_convolution {
    dnnl_prop_kind_t kind; /* dnnl_forward_training, dnnl_backward_data or dnnl_backward_weights */
    ons_onednn_memory x, w, y, bias;
    bool has_bias;
    ons_onednn_window window;
} ons_onednn_convolution;

/* `place`: 0 for the implementation that oneDNN likes best, 1 for the one after it, … Fails with dnnl_unimplemented or
 * dnnl_last_impl_reached where there is none. */
dnnl_status_t ons_onednn_describe_convolution(const ons_onednn_convolution *c, int place,
                                              const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                              dnnl_primitive_desc_t *made);

/* c = alpha × a b (+ bias, which may be NULL), and where it `adds`, c = a b (+ bias) + a memory like c, which is
 * argument ONS_ONEDNN_ADDED. A bias or a sum needs an alpha of 1. `attr` gets what is done to the product. */
typedef struct ons_onednn_product {
    ons_onednn_memory a, b, bias, c;
    bool has_bias, adds;
    float alpha;
} ons_onednn_product;
enum { ONS_ONEDNN_ADDED = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1 };
dnnl_status_t ons_onednn_describe_matmul(const ons_onednn_product *product, dnnl_primitive_attr_t attr,
                                         dnnl_engine_t engine, dnnl_primitive_desc_t *made);

dnnl_status_t ons_onednn_describe_reorder(const ons_onednn_memory *from, const ons_onednn_memory *to,
                                          const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                          dnnl_primitive_desc_t *made);

/* Asks for the same bits in every run, where the library knows that wish. */
dnnl_status_t ons_onednn_be_deterministic(dnnl_primitive_attr_t attr);

/* A memory object without data for argument `argument` (DNNL_ARG_…); dnnl_invalid_arguments where the primitive does
 * not take it. */
dnnl_status_t ons_onednn_make_memory(const_dnnl_primitive_desc_t description, int argument, dnnl_engine_t engine,
                                     dnnl_memory_t *made);

/* oneDNN's name of the primitive's implementation: static text, "?" where it has none. */
const char *ons_onednn_implementation(const_dnnl_primitive_desc_t description);

/* Whether a convolution is oneDNN's batch-reduce kernel, but not the one for filters of one element. */
bool ons_onednn_is_batched_gemm(const_dnnl_primitive_desc_t description);

/* The primitive's scratch. */
int64_t ons_onednn_scratch_bytes(const_dnnl_primitive_desc_t description);

/* The tag of the format that the primitive has chosen for an operand (dnnl_query_weights_md, …); dnnl_format_tag_undef
 * where none says it. */
dnnl_format_tag_t ons_onednn_chosen_tag(const_dnnl_primitive_desc_t description, dnnl_query_t operand);

#endif
