/* The kernels of a fused node as text: see fused.cuh. Sizes, strides and parameters are arguments, so that nodes that
 * differ in these alone share what was compiled. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#include "kernels/fused_elementwise/fused.h"

const char *ons_fused_element(ons_dtype dtype) {
    switch (dtype) {
    case ONS_FLOAT32: return "float";
    case ONS_FLOAT16: return "__half";
    case ONS_BFLOAT16: return "__nv_bfloat16";
    case ONS_INT64: return "int64_t";
    case ONS_INT32: return "int32_t";
    case ONS_BOOL:
    case ONS_UINT8: return "uint8_t";
    default: return NULL;
    }
}

/* Whether no step before has the same formula. */
static bool is_first(const ons_fused *f, uint32_t index) {
    for (uint32_t i = 0; i < index; ++i)
        if (f->steps[i].formula == f->steps[index].formula) return false;
    return true;
}

static void include_formulas(FILE *out, const ons_fused *f) {
    fputs("#include \"kernels/fused_elementwise/fused.cuh\"\n", out);
    fputs("#define ONS_KERNELS(...)\n", out); /* formulas' files end with lists of the host's */
    for (uint32_t i = 0; i < f->step_count; ++i)
        if (is_first(f, i)) fprintf(out, "#include \"%s\"\n", f->steps[i].formula->file);
}

static void read_inputs(FILE *out, const ons_fused *f) {
    fprintf(out, "        Index at[%u];\n        ons::fused_walk<COUNT>(g, item, at);\n", f->input_count);
    for (uint32_t i = 0; i < f->input_count; ++i) {
        const char *type = ons_fused_element(f->types[i].dtype);
        fprintf(out,
                "        ons::work_t<%s> v%u[COUNT];\n"
                "        ons::read<COUNT>((const %s *)g.inputs[%u], at[%u], g.strides[%u][0] == 0, v%u);\n",
                type, i, type, i, i, i, i);
    }
}

/* One application of the formula to `count` values, ONS_NONE where one is left out, which makes the value `result`. */
static void apply(FILE *out, const ons_fused *f, const ons_fused_step *step, uint32_t join, const uint32_t *values,
                  uint32_t count, uint32_t result) {
    ons_dtype dtype = f->types[result].dtype;
    char formula[128];
    if (step->formula->kind == ONS_FORMULA_TYPED)
        snprintf(formula, sizeof formula, "%s_formula<%s>", step->formula->symbol,
                 dtype == ONS_BOOL ? "ons::truth" : ons_fused_element(dtype));
    else
        snprintf(formula, sizeof formula, "%s_formula", step->formula->symbol);
    fprintf(out,
            "        {\n            const %s f = ons::fused_formula<%s>(g, %u);\n"
            "#pragma unroll\n"
            "            for (int i = 0; i < COUNT; ++i) v%u[i] = ons::rounded<%s>(f(",
            formula, formula, step->first_join + join, result, ons_fused_element(dtype));
    for (uint32_t k = 0; k < count; ++k) {
        if (k > 0) fputs(", ", out);
        if (values[k] == ONS_NONE)
            fputs("ons::absent{}", out);
        else
            fprintf(out, "v%u[i]", values[k]);
    }
    fputs("));\n        }\n", out);
}

/* All that the operator can have, since a formula has no defaults. */
static void apply_once(FILE *out, const ons_fused *f, const ons_fused_step *step, uint32_t result) {
    uint32_t values[ONS_FUSED_OPERANDS], count = step->operands.input_count;
    memcpy(values, step->inputs, sizeof values);
    while (count < step->operands.op->arity.inputs_max && count < ONS_FUSED_OPERANDS) values[count++] = ONS_NONE;
    apply(out, f, step, 0, values, count, result);
}

static void apply_in_turn(FILE *out, const ons_fused *f, const ons_fused_step *step, uint32_t result) {
    if (step->operands.input_count == 1)
        fprintf(out, "        for (int i = 0; i < COUNT; ++i) v%u[i] = v%u[i];\n", result, step->inputs[0]);
    for (uint32_t k = 1; k < step->operands.input_count; ++k)
        apply(out, f, step, k - 1, (const uint32_t[]){k == 1 ? step->inputs[0] : result, step->inputs[k]}, 2, result);
}

static void compute_step(FILE *out, const ons_fused *f, uint32_t index) {
    const ons_fused_step *step = &f->steps[index];
    uint32_t result = f->input_count + index;
    const char *type = ons_fused_element(f->types[result].dtype);
    fprintf(out, "        ons::work_t<%s> v%u[COUNT];\n", type, result);
    if (step->formula->kind == ONS_FORMULA_VARIADIC)
        apply_in_turn(out, f, step, result);
    else
        apply_once(out, f, step, result);
}

static void write_outputs(FILE *out, const ons_fused *f) {
    for (uint32_t i = 0; i < f->output_count; ++i)
        fprintf(out,
                "        if (g.outputs[%u] != nullptr)\n"
                "            ons::write<COUNT>((%s *)g.outputs[%u], item * COUNT, v%u);\n",
                i, ons_fused_element(f->types[f->outputs[i]].dtype), i, f->outputs[i]);
}

static void print(FILE *out, const ons_fused *f) {
    include_formulas(out, f);
    fputs("template <int COUNT, class Index> __device__ inline void fused(const ons_fused_arguments &g) {\n"
          "    const Index items = (Index)(g.elements / COUNT);\n"
          "    for (Index item = (Index)ons::global_thread(); item < items; item += (Index)ons::global_threads()) {\n",
          out);
    read_inputs(out, f);
    for (uint32_t i = 0; i < f->step_count; ++i) compute_step(out, f, i);
    write_outputs(out, f);
    fprintf(out,
            "    }\n}\n"
            "extern \"C\" __global__ void ons_fused_wide(const __grid_constant__ ons_fused_arguments g) {\n"
            "    fused<%u, uint32_t>(g);\n}\n"
            "extern \"C\" __global__ void ons_fused_1(const __grid_constant__ ons_fused_arguments g) {\n"
            "    fused<1, uint64_t>(g);\n}\n",
            f->width);
}

static const char *make_text(const ons_fused *fused, ons_arena *arena) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    print(out, fused);
    ons_status *status = ons_text_close(out, &text);
    const char *kept = status == NULL ? ons_arena_copy_text(arena, text) : NULL;
    ons_status_free(status);
    free(text);
    return kept;
}

ons_status *ons_fused_source(const ons_fused *f, ons_arena *arena, ons_cuda_source *source) {
    ons_cuda_header *headers;
    ONS_NEW(headers, arena, ONS_FORMULA_HEADERS + f->step_count);
    *source = (ons_cuda_source){
        .text = make_text(f, arena), .headers = headers, .functions = {"ons_fused_wide", "ons_fused_1"}};
    if (source->text == NULL) return ons_status_out_of_memory();
    for (uint32_t i = 0; i < ONS_FORMULA_HEADERS; ++i)
        headers[source->header_count++] = (ons_cuda_header){ons_formula_headers[i].name, ons_formula_headers[i].text};
    for (uint32_t i = 0; i < f->step_count; ++i)
        if (is_first(f, i))
            headers[source->header_count++] = (ons_cuda_header){f->steps[i].formula->file, f->steps[i].formula->text};
    return NULL;
}
