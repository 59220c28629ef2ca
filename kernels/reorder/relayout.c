#include "kernels/reorder/relayout.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include "kernels/common/onednn/onednn.h"

typedef struct conversion {
    dnnl_engine_t engine;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    dnnl_exec_arg_t arguments[2];
} conversion;

static dnnl_status_t add_argument(conversion *c, int index, int argument, const void *data) {
    dnnl_exec_arg_t *slot = &c->arguments[index];
    slot->arg = argument;
    dnnl_status_t status = ons_onednn_make_memory(c->description, argument, c->engine, &slot->memory);
    return status != dnnl_success ? status : dnnl_memory_set_data_handle(slot->memory, (void *)data);
}

static dnnl_status_t convert(conversion *c, const ons_onednn_memory *from, const ons_onednn_memory *to,
                             const void *source, void *target) {
    dnnl_status_t status = ons_onednn_describe_reorder(from, to, NULL, c->engine, &c->description);
    if (status == dnnl_success) status = dnnl_primitive_create(&c->primitive, c->description);
    if (status == dnnl_success) status = dnnl_stream_create(&c->stream, c->engine, dnnl_stream_default_flags);
    if (status == dnnl_success) status = add_argument(c, 0, DNNL_ARG_FROM, source);
    if (status == dnnl_success) status = add_argument(c, 1, DNNL_ARG_TO, target);
    if (status == dnnl_success) status = dnnl_primitive_execute(c->primitive, c->stream, 2, c->arguments);
    return status == dnnl_success ? dnnl_stream_wait(c->stream) : status;
}

static void drop(conversion *c) {
    for (int i = 0; i < 2; ++i)
        if (c->arguments[i].memory != NULL) dnnl_memory_destroy(c->arguments[i].memory);
    if (c->stream != NULL) dnnl_stream_destroy(c->stream);
    if (c->primitive != NULL) dnnl_primitive_destroy(c->primitive);
    if (c->description != NULL) dnnl_primitive_desc_destroy(c->description);
}

ons_status *ons_relayout(const ons_type *from, ons_layout to, const void *source, void *target) {
    conversion c = {0};
    ons_type wanted = *from;
    wanted.layout = to;
    int64_t groups = ons_layout_groups(ons_layout_is_weight(to) ? to : from->layout);
    ons_onednn_memory there, here;
    ONS_CHECK(ons_layout_bytes(from) == ons_layout_bytes(&wanted) && ons_onednn_describe(from, groups, &there) &&
                  ons_onednn_describe(&wanted, groups, &here),
              ONS_DEFECT, "contents cannot be copied from the layout %s to %s", ons_layout_name(from->layout),
              ons_layout_name(to));
    ONS_TRY(ons_onednn_engine(&c.engine));
    dnnl_status_t status = convert(&c, &there, &here, source, target);
    drop(&c);
    if (status == dnnl_out_of_memory) return ons_status_out_of_memory();
    ONS_CHECK(status == dnnl_success, ONS_DEFECT, "oneDNN cannot copy from the layout %s to %s: %s",
              ons_layout_name(from->layout), ons_layout_name(to), dnnl_status2str(status));
    return NULL;
}
