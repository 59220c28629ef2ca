#include "kernels/common/onednn/onednn_versions.h"

#include <stdio.h>
#include <string.h>

void ons_onednn_version(char text[ONS_ONEDNN_VERSION_TEXT]) {
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, ONS_ONEDNN_VERSION_TEXT, "%d.%d.%d", v->major, v->minor, v->patch);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

/* What follows is written with these, in both versions:
 *   dnnl_memory_desc_t made  holds the library's description: the structure itself, or a pointer
 *   native                   the type that the library's functions take
 *   as_native(&made)         NULL where none was made
 */

#if DNNL_VERSION_MAJOR < 3

typedef const dnnl_memory_desc_t *native;

static native as_native(const dnnl_memory_desc_t *made) { return made->ndims > 0 ? made : NULL; }

static void release(dnnl_memory_desc_t *made) { (void)made; }

static dnnl_status_t from_strides(dnnl_memory_desc_t *made, const ons_onednn_memory *m, const int64_t *strides) {
    return dnnl_memory_desc_init_by_strides(made, m->rank, m->dims, m->type, strides);
}

static dnnl_status_t from_tag(dnnl_memory_desc_t *made, const ons_onednn_memory *m) {
    return dnnl_memory_desc_init_by_tag(made, m->rank, m->dims, m->type, m->tag);
}

/* What of a description makes its format. */
static bool look_at(native d, ons_onednn_memory *m) {
    if (d->format_kind != dnnl_blocked) return false;
    m->rank = d->ndims;
    m->type = d->data_type;
    memcpy(m->dims, d->dims, sizeof m->dims);
    memcpy(m->strides, d->format_desc.blocking.strides, sizeof m->strides);
    return true;
}

#else

typedef const_dnnl_memory_desc_t native;

static native as_native(const dnnl_memory_desc_t *made) { return *made; }

static void release(dnnl_memory_desc_t *made) {
    if (*made != NULL) dnnl_memory_desc_destroy(*made);
}

static dnnl_status_t from_strides(dnnl_memory_desc_t *made, const ons_onednn_memory *m, const int64_t *strides) {
    return dnnl_memory_desc_create_with_strides(made, m->rank, m->dims, m->type, strides);
}

static dnnl_status_t from_tag(dnnl_memory_desc_t *made, const ons_onednn_memory *m) {
    return dnnl_memory_desc_create_with_tag(made, m->rank, m->dims, m->type, m->tag);
}

static bool look_at(native d, ons_onednn_memory *m) {
    dnnl_format_kind_t kind = dnnl_format_kind_undef;
    dnnl_dims_t *dims = NULL, *strides = NULL;
    if (dnnl_memory_desc_query(d, dnnl_query_format_kind, &kind) != dnnl_success || kind != dnnl_blocked ||
        dnnl_memory_desc_query(d, dnnl_query_ndims_s32, &m->rank) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_data_type, &m->type) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_dims, &dims) != dnnl_success ||
        dnnl_memory_desc_query(d, dnnl_query_strides, &strides) != dnnl_success)
        return false;
    memcpy(m->dims, *dims, (size_t)m->rank * sizeof(dnnl_dim_t));
    memcpy(m->strides, *strides, (size_t)m->rank * sizeof(dnnl_dim_t));
    return true;
}

#endif

static dnnl_status_t make(const ons_onednn_memory *m, dnnl_memory_desc_t *made) {
    memset(made, 0, sizeof *made);
    switch (m->format) {
    case ONS_ONEDNN_ROW_MAJOR: return from_strides(made, m, NULL);
    case ONS_ONEDNN_STRIDED: return from_strides(made, m, m->strides);
    case ONS_ONEDNN_TAGGED: return from_tag(made, m);
    }
    return dnnl_invalid_arguments;
}

bool ons_onednn_memory_is_valid(const ons_onednn_memory *m) {
    dnnl_memory_desc_t made;
    bool valid = make(m, &made) == dnnl_success;
    release(&made);
    return valid;
}

int64_t ons_onednn_memory_bytes(const ons_onednn_memory *m) {
    dnnl_memory_desc_t made;
    int64_t bytes = make(m, &made) == dnnl_success ? (int64_t)dnnl_memory_desc_get_size(as_native(&made)) : 0;
    release(&made);
    return bytes;
}

/* Descriptions of all operands of a primitive. */
enum { OPERANDS = 4 };
typedef struct operands {
    dnnl_memory_desc_t of[OPERANDS];
} operands;

static void release_operands(operands *o) {
    for (int i = 0; i < OPERANDS; ++i) release(&o->of[i]);
}

/* `given` may hold NULLs. On failure nothing is left. */
static dnnl_status_t make_operands(operands *o, const ons_onednn_memory *const given[static OPERANDS]) {
    memset(o, 0, sizeof *o);
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < OPERANDS && status == dnnl_success; ++i)
        if (given[i] != NULL) status = make(given[i], &o->of[i]);
    if (status != dnnl_success) release_operands(o);
    return status;
}

/* ------------------------------------------------------------------------------------------------------- primitives */

#if DNNL_VERSION_MAJOR < 3

static dnnl_status_t init_convolution(const ons_onednn_convolution *c, native x, native w, native bias, native y,
                                      dnnl_convolution_desc_t *made) {
    const ons_onednn_window *s = &c->window;
    if (c->kind == dnnl_backward_data)
        return dnnl_dilated_convolution_backward_data_desc_init(made, dnnl_convolution_direct, x, w, y, s->stride,
                                                                s->dilation, s->begin, s->last);
    if (c->kind == dnnl_backward_weights)
        return dnnl_dilated_convolution_backward_weights_desc_init(made, dnnl_convolution_direct, x, w, bias, y,
                                                                   s->stride, s->dilation, s->begin, s->last);
    return dnnl_dilated_convolution_forward_desc_init(made, c->kind, dnnl_convolution_direct, x, w, bias, y, s->stride,
                                                      s->dilation, s->begin, s->last);
}

static dnnl_status_t find_convolution(const ons_onednn_convolution *c, native x, native w, native bias, native y,
                                      int place, const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                      dnnl_primitive_desc_t *made) {
    dnnl_convolution_desc_t convolution;
    dnnl_status_t status = init_convolution(c, x, w, bias, y, &convolution);
    if (status != dnnl_success) return status;
    dnnl_primitive_desc_iterator_t candidates;
    status = dnnl_primitive_desc_iterator_create(&candidates, &convolution, attr, engine, NULL);
    if (status != dnnl_success) return status;
    for (int i = 0; i < place && status == dnnl_success; ++i) status = dnnl_primitive_desc_iterator_next(candidates);
    if (status == dnnl_success) {
        *made = dnnl_primitive_desc_iterator_fetch(candidates);
        status = *made != NULL ? dnnl_success : dnnl_out_of_memory;
    }
    dnnl_primitive_desc_iterator_destroy(candidates);
    return status;
}

static dnnl_status_t find_matmul(native a, native b, native bias, native c, const_dnnl_primitive_attr_t attr,
                                 dnnl_engine_t engine, dnnl_primitive_desc_t *made) {
    dnnl_matmul_desc_t matmul;
    dnnl_status_t status = dnnl_matmul_desc_init(&matmul, a, b, bias, c);
    return status != dnnl_success ? status : dnnl_primitive_desc_create(made, &matmul, attr, engine, NULL);
}

static dnnl_status_t append_alpha(dnnl_primitive_attr_t attr, dnnl_post_ops_t after, float alpha) {
    return dnnl_primitive_attr_set_output_scales(attr, 1, 0, &alpha);
}

#else

static dnnl_status_t first_convolution(const ons_onednn_convolution *c, native x, native w, native bias, native y,
                                       const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                       dnnl_primitive_desc_t *made) {
    const ons_onednn_window *s = &c->window;
    if (c->kind == dnnl_backward_data)
        return dnnl_convolution_backward_data_primitive_desc_create(
            made, engine, dnnl_convolution_direct, x, w, y, s->stride, s->dilation, s->begin, s->last, NULL, attr);
    if (c->kind == dnnl_backward_weights)
        return dnnl_convolution_backward_weights_primitive_desc_create(made, engine, dnnl_convolution_direct, x, w,
                                                                       bias, y, s->stride, s->dilation, s->begin,
                                                                       s->last, NULL, attr);
    return dnnl_convolution_forward_primitive_desc_create(made, engine, c->kind, dnnl_convolution_direct, x, w, bias, y,
                                                          s->stride, s->dilation, s->begin, s->last, attr);
}

static dnnl_status_t find_convolution(const ons_onednn_convolution *c, native x, native w, native bias, native y,
                                      int place, const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                      dnnl_primitive_desc_t *made) {
    dnnl_status_t status = first_convolution(c, x, w, bias, y, attr, engine, made);
    if (status != dnnl_success) return status;
    for (int i = 0; i < place && status == dnnl_success; ++i) status = dnnl_primitive_desc_next_impl(*made);
    if (status != dnnl_success) dnnl_primitive_desc_destroy(*made);
    return status;
}

static dnnl_status_t find_matmul(native a, native b, native bias, native c, const_dnnl_primitive_attr_t attr,
                                 dnnl_engine_t engine, dnnl_primitive_desc_t *made) {
    return dnnl_matmul_primitive_desc_create(made, engine, a, b, bias, c, attr);
}

/* Scales are given with each run in oneDNN 3; this one is known now. */
static dnnl_status_t append_alpha(dnnl_primitive_attr_t attr, dnnl_post_ops_t after, float alpha) {
    return dnnl_post_ops_append_eltwise(after, dnnl_eltwise_linear, alpha, 0);
}

#endif

dnnl_status_t ons_onednn_describe_convolution(const ons_onednn_convolution *c, int place,
                                              const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                              dnnl_primitive_desc_t *made) {
    operands o;
    *made = NULL;
    dnnl_status_t status =
        make_operands(&o, (const ons_onednn_memory *const[]){&c->x, &c->w, c->has_bias ? &c->bias : NULL, &c->y});
    if (status != dnnl_success) return status;
    status = find_convolution(c, as_native(&o.of[0]), as_native(&o.of[1]), as_native(&o.of[2]), as_native(&o.of[3]),
                              place, attr, engine, made);
    if (status != dnnl_success) *made = NULL;
    release_operands(&o);
    return status;
}

/* Alpha and the sum, into `attr`. */
static dnnl_status_t describe_what_follows(const ons_onednn_product *p, native c, dnnl_primitive_attr_t attr) {
    dnnl_post_ops_t after;
    if (p->alpha != 1 && (p->has_bias || p->adds)) return dnnl_invalid_arguments;
    dnnl_status_t status = dnnl_post_ops_create(&after);
    if (status != dnnl_success) return status;
    if (p->alpha != 1) status = append_alpha(attr, after, p->alpha);
    if (p->adds) status = dnnl_post_ops_append_binary(after, dnnl_binary_add, c);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attr, after);
    dnnl_post_ops_destroy(after);
    return status;
}

dnnl_status_t ons_onednn_describe_matmul(const ons_onednn_product *p, dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                         dnnl_primitive_desc_t *made) {
    operands o;
    dnnl_status_t status =
        make_operands(&o, (const ons_onednn_memory *const[]){&p->a, &p->b, p->has_bias ? &p->bias : NULL, &p->c});
    if (status != dnnl_success) return status;
    status = describe_what_follows(p, as_native(&o.of[3]), attr);
    if (status == dnnl_success)
        status = find_matmul(as_native(&o.of[0]), as_native(&o.of[1]), as_native(&o.of[2]), as_native(&o.of[3]), attr,
                             engine, made);
    release_operands(&o);
    return status;
}

dnnl_status_t ons_onednn_describe_reorder(const ons_onednn_memory *from, const ons_onednn_memory *to,
                                          const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                          dnnl_primitive_desc_t *made) {
    operands o;
    dnnl_status_t status = make_operands(&o, (const ons_onednn_memory *const[]){from, to, NULL, NULL});
    if (status != dnnl_success) return status;
    status = dnnl_reorder_primitive_desc_create(made, as_native(&o.of[0]), engine, as_native(&o.of[1]), engine, attr);
    release_operands(&o);
    return status;
}

dnnl_status_t ons_onednn_be_deterministic(dnnl_primitive_attr_t attr) {
#if DNNL_VERSION_MAJOR > 3 || (DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 5)
    return dnnl_primitive_attr_set_deterministic(attr, 1);
#else
    return dnnl_success;
#endif
}

/* ------------------------------------------------------------------------------------------- what a primitive wants */

dnnl_status_t ons_onednn_make_memory(const_dnnl_primitive_desc_t description, int argument, dnnl_engine_t engine,
                                     dnnl_memory_t *made) {
    native type = dnnl_primitive_desc_query_md(description, dnnl_query_exec_arg_md, argument);
    return type != NULL ? dnnl_memory_create(made, type, engine, DNNL_MEMORY_NONE) : dnnl_invalid_arguments;
}

const char *ons_onednn_implementation(const_dnnl_primitive_desc_t description) {
    const char *name = NULL;
    dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, &name);
    return name != NULL ? name : "?";
}

/* "brgconv:…" in oneDNN 2; "brg_conv_fwd:…", "brg_conv_bwd:…" and, with strides, "brgconv_strided:…" in oneDNN 3. */
bool ons_onednn_is_batched_gemm(const_dnnl_primitive_desc_t description) {
    static const char *const prefixes[] = {"brgconv:", "brg_conv_fwd:", "brg_conv_bwd:", "brgconv_strided:"};
    const char *name = ons_onednn_implementation(description);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; ++i)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
    return false;
}

int64_t ons_onednn_scratch_bytes(const_dnnl_primitive_desc_t description) {
    native scratch = dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
    return scratch != NULL ? (int64_t)dnnl_memory_desc_get_size(scratch) : 0;
}

/* Equal in every stride, those of dims of size 1 included, which oneDNN's own comparison leaves out but its kernels
 * look at. */
static bool same_format(const ons_onednn_memory *candidate, native chosen, const int64_t *strides) {
    dnnl_memory_desc_t made;
    ons_onednn_memory seen;
    bool same = make(candidate, &made) == dnnl_success && dnnl_memory_desc_equal(as_native(&made), chosen) &&
                look_at(as_native(&made), &seen) &&
                memcmp(seen.strides, strides, (size_t)seen.rank * sizeof(dnnl_dim_t)) == 0;
    release(&made);
    return same;
}

dnnl_format_tag_t ons_onednn_chosen_tag(const_dnnl_primitive_desc_t description, dnnl_query_t operand) {
    native chosen = dnnl_primitive_desc_query_md(description, operand, 0);
    ons_onednn_memory candidate = {0};
    if (chosen == NULL || !look_at(chosen, &candidate)) return dnnl_format_tag_undef;
    candidate.format = ONS_ONEDNN_TAGGED;
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
        candidate.tag = (dnnl_format_tag_t)tag;
        if (same_format(&candidate, chosen, candidate.strides)) return candidate.tag;
    }
    return dnnl_format_tag_undef;
}
