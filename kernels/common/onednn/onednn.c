#include "kernels/common/onednn/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/common/operator/kernel.h"
#include "kernels/kernels.h"

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t the_engine;
static dnnl_status_t engine_status;

/* The first product of matrices makes the code of all, and would crash where a step found no memory for it: so one is
 * made here, where room was looked for. */
static void make_engine(void) {
    enum { SIZE = 32 };
    float zeros[SIZE * SIZE] = {0}, result[SIZE * SIZE];
    engine_status = dnnl_engine_create(&the_engine, dnnl_cpu, 0);
    int before = ons_onednn_enter(1);
    if (engine_status == dnnl_success)
        engine_status = dnnl_sgemm('N', 'N', SIZE, SIZE, SIZE, 1, zeros, SIZE, zeros, SIZE, 0, result, SIZE);
    ons_onednn_leave(before);
}

/* What oneDNN takes to make a primitive, with room to spare. It does not look whether it got the memory for its code,
 * and throws where it got none for the rest: so it is looked for before. */
static bool has_room(void) {
    enum { PRIMITIVE_BYTES = 16 << 20 };
    void *room = mmap(NULL, PRIMITIVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, PRIMITIVE_BYTES) == 0;
}

ons_status *ons_onednn_engine(dnnl_engine_t *engine) {
    if (!has_room()) return ons_status_out_of_memory();
    pthread_once(&engine_once, make_engine);
    ONS_CHECK(engine_status == dnnl_success, ONS_UNSUPPORTED, "oneDNN has no CPU engine here: %s",
              dnnl_status2str(engine_status));
    *engine = the_engine;
    return NULL;
}

bool ons_onednn_uses(dnnl_cpu_isa_t instructions) {
    (void)ons_cpu_variant(); /* may cap oneDNN, which cannot be capped any more once it was asked */
    return ((unsigned)dnnl_get_effective_cpu_isa() & (unsigned)instructions) == (unsigned)instructions;
}

ons_status *ons_onednn_check(const ons_operands *o, dnnl_status_t status, const char *what) {
    if (status == dnnl_success) return NULL;
    if (status == dnnl_out_of_memory) return ons_status_out_of_memory();
    return ons_node_error(o, "oneDNN cannot make %s: %s", what, dnnl_status2str(status));
}

ons_status *ons_onednn_attributes(const ons_operands *o, dnnl_primitive_attr_t *attributes) {
    ONS_TRY(ons_onednn_check(o, dnnl_primitive_attr_create(attributes), "attributes"));
    dnnl_status_t status = dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user);
    if (status == dnnl_success) status = ons_onednn_be_deterministic(*attributes);
    if (status != dnnl_success) dnnl_primitive_attr_destroy(*attributes);
    return ons_onednn_check(o, status, "attributes");
}

static dnnl_data_type_t data_type(ons_dtype dtype) {
    switch (dtype) {
    case ONS_FLOAT32: return dnnl_f32;
    case ONS_INT32: return dnnl_s32;
    case ONS_UINT8: return dnnl_u8;
    case ONS_INT8: return dnnl_s8;
    default: return dnnl_data_type_undef;
    }
}

static dnnl_format_tag_t channels_last_tag(uint32_t rank) {
    static const dnnl_format_tag_t tags[] = {dnnl_a, dnnl_a, dnnl_ab, dnnl_acb, dnnl_acdb, dnnl_acdeb};
    return rank < sizeof tags / sizeof tags[0] ? tags[rank] : dnnl_format_tag_undef;
}

bool ons_onednn_describe(const ons_type *type, int64_t groups, ons_onednn_memory *description) {
    bool weight = ons_layout_is_weight(type->layout);
    if (weight) groups = ons_layout_groups(type->layout);
    ons_onednn_memory m = {.type = data_type(type->dtype)};
    if (groups > 0) {
        if (type->shape.rank == 0 || type->shape.dims[0] % groups != 0) return false;
        m.dims[m.rank++] = groups;
        m.dims[m.rank++] = type->shape.dims[0] / groups;
    }
    for (uint32_t i = groups > 0 ? 1 : 0; i < type->shape.rank; ++i) m.dims[m.rank++] = type->shape.dims[i];
    if (m.rank == 0 || m.type == dnnl_data_type_undef) return false;
    if (type->layout != ONS_LAYOUT_ONNX) {
        m.format = ONS_ONEDNN_TAGGED;
        m.tag = weight ? (dnnl_format_tag_t)ons_layout_tag(type->layout) : channels_last_tag(type->shape.rank);
        if (m.tag == dnnl_format_tag_undef) return false;
    }
    *description = m;
    return ons_onednn_memory_is_valid(description);
}

bool ons_onednn_layout(const_dnnl_primitive_desc_t description, dnnl_query_t weight, int64_t groups,
                       ons_layout *layout) {
    if (groups > ONS_LAYOUT_GROUPS_MAX) return false;
    dnnl_format_tag_t tag = ons_onednn_chosen_tag(description, weight);
    if (tag == dnnl_format_tag_undef) return false;
    *layout = ons_layout_from_tag((uint32_t)tag, groups);
    return true;
}

void ons_onednn_describe_window(const ons_window *window, ons_onednn_window *result) {
    uint32_t first = ONS_WINDOW_DIMS - window->spatial;
    memset(result, 0, sizeof *result);
    for (uint32_t i = 0; i < window->spatial; ++i) {
        result->kernel[i] = window->kernel[first + i];
        result->stride[i] = window->stride[first + i];
        result->dilation[i] = window->dilation[first + i] - 1;
        result->begin[i] = window->begin[first + i];
        result->last[i] = window->last[first + i];
    }
}

int ons_onednn_enter(int threads) {
    int before = omp_get_max_threads();
    if (threads != before) omp_set_num_threads(threads > 0 ? threads : 1);
    return before;
}

void ons_onednn_leave(int before) {
    if (omp_get_max_threads() != before) omp_set_num_threads(before);
}

void ons_onednn_destroy(void *state) {
    ons_onednn *d = state;
    for (int i = 0; i < d->argument_count; ++i) dnnl_memory_destroy(d->arguments[i].memory);
    if (d->primitive != NULL) dnnl_primitive_destroy(d->primitive);
    if (d->stream != NULL) dnnl_stream_destroy(d->stream);
    memset(d, 0, sizeof *d);
}

static ons_status *add_argument(ons_onednn *d, const ons_operands *o, dnnl_engine_t engine,
                                const_dnnl_primitive_desc_t description, int argument) {
    if (d->argument_count == ONS_ONEDNN_ARGUMENTS)
        return ons_node_error(o, "too many arguments for oneDNN's primitive");
    dnnl_exec_arg_t *slot = &d->arguments[d->argument_count];
    ONS_TRY(ons_onednn_check(o, ons_onednn_make_memory(description, argument, engine, &slot->memory),
                             "an argument's memory"));
    slot->arg = argument;
    ++d->argument_count;
    return NULL;
}

static ons_status *make_parts(ons_prepare *p, const_dnnl_primitive_desc_t description, const int *arguments, int count,
                              ons_onednn *d) {
    const ons_operands *o = p->operands;
    dnnl_engine_t engine = NULL;
    d->threads = omp_get_max_threads();
    ONS_TRY(ons_onednn_engine(&engine));
    ONS_TRY(ons_onednn_check(o, dnnl_primitive_create(&d->primitive, description), "a primitive"));
    ONS_TRY(ons_onednn_check(o, dnnl_stream_create(&d->stream, engine, dnnl_stream_default_flags), "a stream"));
    for (int i = 0; i < count; ++i) ONS_TRY(add_argument(d, o, engine, description, arguments[i]));

    int64_t bytes = ons_onednn_scratch_bytes(description);
    if (bytes > 0) {
        ONS_TRY(add_argument(d, o, engine, description, DNNL_ARG_SCRATCHPAD));
        d->has_scratch = true;
        p->scratch_bytes += (bytes + 63) / 64 * 64;
    }
    ONS_TRY(ons_require_scratch(p, p->scratch_bytes));

    p->implementation = ons_arena_format(p->arena, "onednn:%s", ons_onednn_implementation(description));
    return p->implementation != NULL ? NULL : ons_status_out_of_memory();
}

ons_status *ons_onednn_make(ons_prepare *p, const_dnnl_primitive_desc_t description, const int *arguments, int count,
                            ons_onednn *d) {
    ons_status *status = make_parts(p, description, arguments, count, d);
    if (status != NULL) ons_onednn_destroy(d);
    return status;
}

void ons_onednn_run(const ons_onednn *prepared, const void *const *pointers, void *scratch, ons_fault *fault) {
    ons_onednn *d = (ons_onednn *)prepared; /* memory objects carry the pointers of the run */
    int count = d->argument_count - d->has_scratch;
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < d->argument_count && status == dnnl_success; ++i) {
        const void *pointer = i < count ? pointers[i] : scratch;
        if (pointer == d->pointers[i])
            continue; /* setting a pointer costs oneDNN an allocation; in a steady state they stay */
        status = dnnl_memory_set_data_handle(d->arguments[i].memory, (void *)pointer);
        d->pointers[i] = pointer;
    }
    int before = ons_onednn_enter(d->threads);
    if (status == dnnl_success)
        status = dnnl_primitive_execute(d->primitive, d->stream, d->argument_count, d->arguments);
    ons_onednn_leave(before);
    if (status != dnnl_success && fault != NULL && fault->problem == NULL)
        fault->problem = "oneDNN failed to run a primitive";
}
