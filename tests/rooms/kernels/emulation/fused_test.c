/* Random graphs of elementwise operators: what the pass joins, and the kernels that are made for it, against the
 * operators' own kernels one after the other, to the bit. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "device/cuda_compiler.h"
#include "graph/operands.h"
#include "graph/passes/fuse_elementwise.h"
#include "kernels/fused_elementwise/fused.h"
#include "kernels/kernels.h"
#include "tests/rooms/kernels/emulation/host_compiler.h"
#include "tests/rooms/kernels/emulation/random_elementwise.h"
#include "tests/rooms/kernels/harness.h"

enum { GRAPHS = 12, STEPS_OF = 800 };

/* ---------------------------------------------------------------------------------------------------------- running */

static void fill(const ons_graph *graph, ons_value_id id, uint64_t seed, void *memory) {
    const ons_value *value = ons_graph_value(graph, id);
    random_numbers r = {.seed = seed ^ ons_hash_text(ONS_HASH_BASIS, value->name)};
    for (int64_t i = 0; i < ons_shape_elements(&value->type.shape); ++i) {
        float x = ((float)random_draw(&r, 4096) - 2048) / 700;
        switch (value->type.dtype) {
        case ONS_FLOAT16: ((uint16_t *)memory)[i] = ons_float_to_half(x); break;
        case ONS_BFLOAT16: ((uint16_t *)memory)[i] = ons_float_to_bfloat16(x); break;
        case ONS_INT64: ((int64_t *)memory)[i] = (int64_t)(x * 3); break;
        case ONS_INT32: ((int32_t *)memory)[i] = (int32_t)(x * 3); break;
        case ONS_UINT8: ((uint8_t *)memory)[i] = (uint8_t)random_draw(&r, 256); break;
        case ONS_BOOL: ((uint8_t *)memory)[i] = (uint8_t)random_draw(&r, 2); break;
        default: ((float *)memory)[i] = x; break;
        }
    }
}

static void *take(size_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    cr_assert(memory != NULL);
    memset(memory, 0xa5, bytes);
    return memory;
}

/* Whether an output may lie where an input does: the last reader of what a node made, of its size. */
static bool dies_here(const ons_graph *graph, ons_node_id at, ons_value_id value, size_t bytes, int64_t elements) {
    const ons_value *v = ons_graph_value(graph, value);
    if (v->producer == ONS_NONE || (size_t)ons_type_dense_bytes(&v->type) != bytes ||
        ons_shape_elements(&v->type.shape) != elements)
        return false;
    for (size_t i = 0; i < graph->outputs.count; ++i)
        if (graph->outputs.items[i] == value) return false;
    for (ons_node_id id = at + 1; id < graph->nodes.count; ++id)
        for (uint32_t k = 0; k < ons_graph_node(graph, id)->input_count; ++k)
            if (ons_graph_node(graph, id)->inputs[k] == value) return false;
    return true;
}

static void place_outputs(const ons_graph *graph, ons_node_id id, void **memory, void **outputs) {
    const ons_node *node = ons_graph_node(graph, id);
    bool taken[ONS_FUSED_INPUTS] = {0};
    for (uint32_t i = 0; i < node->output_count; ++i) {
        outputs[i] = NULL;
        if (node->outputs[i] == ONS_NONE) continue;
        const ons_type *type = &ons_graph_value(graph, node->outputs[i])->type;
        size_t bytes = (size_t)ons_type_dense_bytes(type);
        for (const ons_alias *a = node->op->aliases; a->kind != ONS_ALIAS_END && outputs[i] == NULL; ++a) {
            if (a->output != i || a->input >= node->input_count || taken[a->input] ||
                node->inputs[a->input] == ONS_NONE ||
                !dies_here(graph, id, node->inputs[a->input], bytes, ons_shape_elements(&type->shape)))
                continue;
            taken[a->input] = true;
            outputs[i] = memory[node->inputs[a->input]];
            memory[node->inputs[a->input]] = NULL;
        }
        if (outputs[i] == NULL) outputs[i] = take(bytes);
    }
}

static void run_node(const ons_graph *graph, ons_node_id id, void **memory, uint64_t seed) {
    const ons_node *node = ons_graph_node(graph, id);
    ons_arena *arena = ons_arena_new();
    ons_operands operands;
    const void *inputs[ONS_FUSED_INPUTS];
    void *outputs[ONS_FUSED_OUTPUTS] = {NULL}; /* also those that a node could have, and has not */
    random_check(ons_operands_of(graph, id, arena, &operands), seed);
    ons_prepare p = {.operands = &operands, .threads = 1, .scratch_limit = INT64_MAX, .arena = arena};
    const ons_kernel *kernel = NULL;
    random_check(ons_backend_prepare(ons_backend_find("cuda"), &p, &kernel), seed);
    for (uint32_t i = 0; i < node->input_count; ++i)
        inputs[i] = node->inputs[i] == ONS_NONE ? NULL : memory[node->inputs[i]];
    place_outputs(graph, id, memory, outputs);
    void *scratch = take((size_t)p.scratch_bytes);
    ons_step step = {.step = 1};
    ons_launch launch = {.inputs = inputs,
                         .outputs = outputs,
                         .scratch = scratch,
                         .state = p.state,
                         .step = &step,
                         .device_step = &step};
    kernel->run(&launch);
    for (uint32_t i = 0; i < node->output_count; ++i)
        if (outputs[i] != NULL) memory[node->outputs[i]] = outputs[i];
    if (p.destroy != NULL) p.destroy(p.state);
    free(scratch);
    ons_arena_free(arena);
}

/* Contents of all values that still have a place; by id. */
static void **run_graph(const ons_graph *graph, uint64_t seed) {
    void **memory = calloc(graph->values.count + 1, sizeof *memory);
    cr_assert(memory != NULL);
    for (size_t i = 0; i < graph->inputs.count; ++i) {
        ons_value_id id = graph->inputs.items[i];
        memory[id] = take((size_t)ons_type_dense_bytes(&ons_graph_value(graph, id)->type));
        fill(graph, id, seed, memory[id]);
    }
    for (ons_node_id id = 0; id < graph->nodes.count; ++id) run_node(graph, id, memory, seed);
    return memory;
}

static void free_memory(const ons_graph *graph, void **memory) {
    for (size_t i = 0; i < graph->values.count; ++i) free(memory[i]);
    free(memory);
}

/* Whether two tensors have equal bits; of NaNs, which bits they have is the compiler's choice. */
static bool is_same(const ons_type *type, const void *left, const void *right) {
    for (int64_t i = 0; i < ons_shape_elements(&type->shape); ++i) {
        size_t size = ons_dtype_size(type->dtype);
        if (memcmp((const char *)left + (size_t)i * size, (const char *)right + (size_t)i * size, size) == 0) continue;
        float a = 0, b = 0;
        if (type->dtype == ONS_FLOAT32) a = ((const float *)left)[i], b = ((const float *)right)[i];
        if (type->dtype == ONS_FLOAT16)
            a = ons_half_to_float(((const uint16_t *)left)[i]), b = ons_half_to_float(((const uint16_t *)right)[i]);
        if (type->dtype == ONS_BFLOAT16)
            a = ons_bfloat16_to_float(((const uint16_t *)left)[i]),
            b = ons_bfloat16_to_float(((const uint16_t *)right)[i]);
        if (a == a || b == b) return false;
    }
    return true;
}

static uint32_t count_fused(const ons_graph *graph) {
    uint32_t count = 0;
    for (size_t i = 0; i < graph->nodes.count; ++i)
        count += graph->nodes.items[i].op == ons_elementwise_fusion_rules()->fused;
    return count;
}

/* How many fused nodes there were. */
static uint32_t compare(uint64_t seed) {
    ons_store store;
    random_check(ons_store_init(&store), seed);
    ons_graph *plain = random_elementwise_graph(seed, &store), *fused = random_elementwise_graph(seed, &store);
    random_check(ons_fuse_elementwise(fused, ons_elementwise_fusion_rules(), NULL), seed);
    if (getenv("ONSTAGE_TEST_PRINT") != NULL) {
        char *text = NULL;
        random_check(ons_graph_print(plain, &text), seed);
        printf("%s\n", text);
        free(text);
        random_check(ons_graph_print(fused, &text), seed);
        printf("%s\n", text);
        free(text);
    }
    random_check(ons_graph_verify(fused), seed);
    uint32_t count = count_fused(fused);
    cr_assert(fused->nodes.count <= plain->nodes.count);
    void **left = run_graph(plain, seed), **right = run_graph(fused, seed);
    for (size_t i = 0; i < plain->outputs.count; ++i) {
        const ons_value *value = ons_graph_value(plain, plain->outputs.items[i]);
        cr_expect(is_same(&value->type, left[plain->outputs.items[i]], right[fused->outputs.items[i]]),
                  "'%s' has other bits when fused (ONSTAGE_TEST_SEED=%llu)", value->name, (unsigned long long)seed);
    }
    free_memory(plain, left);
    free_memory(fused, right);
    ons_graph_free(plain);
    ons_graph_free(fused);
    ons_store_free(&store);
    return count;
}

Test(fused, kernels_have_the_bits_of_the_chain) {
    uint32_t count = 0;
    for (uint64_t i = 0; i < GRAPHS; ++i) count += compare(ons_test_seed() + i);
    cr_expect(count > GRAPHS / 2, "only %u fused nodes", count);
    cr_expect(ons_host_compiler_launches > 0 && ons_host_compiler_programs > GRAPHS / 2);
}

static bool has_step(const ons_graph *graph, const char *name) {
    char called[2][64];
    snprintf(called[0], sizeof called[0], ";%s(", name);
    snprintf(called[1], sizeof called[1], ";%s[", name);
    for (size_t i = 0; i < graph->nodes.count; ++i) {
        const ons_node *node = &graph->nodes.items[i];
        if (node->op != ons_elementwise_fusion_rules()->fused) continue;
        for (int k = 0; k < 2; ++k)
            if (strstr(node->attributes[0].s, called[k]) != NULL ||
                strncmp(node->attributes[0].s, called[k] + 1, strlen(called[k]) - 1) == 0)
                return true;
    }
    return false;
}

Test(fused, every_formula_becomes_a_step) {
    bool *seen = calloc(ons_formula_count, sizeof *seen);
    uint64_t first = ons_test_seed();
    cr_assert(seen != NULL);
    for (uint64_t seed = first; seed < first + STEPS_OF; ++seed) {
        ons_store store;
        random_check(ons_store_init(&store), seed);
        ons_graph *graph = random_elementwise_graph(seed, &store);
        random_check(ons_fuse_elementwise(graph, ons_elementwise_fusion_rules(), NULL), seed);
        for (uint32_t i = 0; i < ons_formula_count; ++i) seen[i] = seen[i] || has_step(graph, ons_formulas[i].op->name);
        ons_graph_free(graph);
        ons_store_free(&store);
    }
    for (uint32_t i = 0; i < ons_formula_count; ++i)
        cr_expect(seen[i], "%s is never a step (ONSTAGE_TEST_SEED=%llu)", ons_formulas[i].op->name,
                  (unsigned long long)first);
    free(seen);
}

Test(fused, without_a_compiler_kernels_run_one_by_one) {
    ons_host_compiler_missing = true;
    for (uint64_t i = 0; i < 20 * GRAPHS; ++i) compare(ons_test_seed() + 1000 + i);
    cr_expect(ons_host_compiler_launches == 0);
}

/* ------------------------------------------------------------------------------------------------------------ NVRTC */

/* The source of the first fused node of a random graph; false where there is none. */
static bool make_source(uint64_t seed, ons_arena *arena, ons_cuda_source *source) {
    ons_store store;
    random_check(ons_store_init(&store), seed);
    ons_graph *graph = random_elementwise_graph(seed, &store);
    random_check(ons_fuse_elementwise(graph, ons_elementwise_fusion_rules(), NULL), seed);
    bool found = false;
    for (ons_node_id id = 0; id < graph->nodes.count && !found; ++id) {
        if (ons_graph_node(graph, id)->op != ons_elementwise_fusion_rules()->fused) continue;
        ons_operands operands;
        ons_fused *f = ons_arena_allocate(arena, 1, sizeof *f);
        random_check(ons_operands_of(graph, id, arena, &operands), seed);
        random_check(ons_fused_read(&operands, arena, f), seed);
        random_check(ons_fused_source(f, arena, source), seed);
        found = true;
    }
    ons_graph_free(graph);
    ons_store_free(&store);
    return found;
}

static bool has_nvrtc(void) {
    const ons_cuda_source empty = {.text = "extern \"C\" __global__ void nothing() {}"};
    void *image = NULL;
    size_t bytes;
    ons_status *status = ons_cuda_compile_image(&empty, "sm_90", NULL, &image, &bytes, NULL);
    bool there = status == NULL;
    if (!there) printf("not run: %s\n", ons_status_get_message(status));
    ons_status_free(status);
    free(image);
    return there;
}

Test(fused, nvrtc_takes_the_sources) {
    if (!has_nvrtc()) cr_skip_test("not run: no NVRTC");
    static const char *const architectures[] = {"sm_80", "sm_90"};
    for (uint64_t i = 0; i < GRAPHS; ++i) {
        uint64_t seed = ons_test_seed() + i;
        ons_arena *arena = ons_arena_new();
        ons_cuda_source source;
        if (make_source(seed, arena, &source))
            for (int k = 0; k < 2; ++k) {
                void *image = NULL;
                size_t bytes = 0;
                ons_status *status = ons_cuda_compile_image(&source, architectures[k], NULL, &image, &bytes, NULL);
                cr_assert(status == NULL, "%s: %s (ONSTAGE_TEST_SEED=%llu)\n%s", architectures[k],
                          ons_status_get_message(status), (unsigned long long)seed, source.text);
                cr_expect(bytes > 0 && memcmp(image, "\177ELF", 4) == 0);
                free(image);
            }
        ons_arena_free(arena);
    }
}

/* PTX of a chain of two operands; the caller's to free. */
static void compile_ptx(const char *steps, ons_dtype left, ons_dtype right, ons_arena *arena, void **ptx) {
    const ons_shape shape = {.rank = 1, .dims = {1024}};
    const ons_type inputs[] = {{.dtype = left, .shape = shape}, {.dtype = right, .shape = shape}};
    const int64_t output = 3;
    const ons_attribute attributes[] = {{.kind = ONS_ATTRIBUTE_STRING, .s = steps},
                                        {.kind = ONS_ATTRIBUTE_INTS, .count = 1, .ints = &output}};
    const ons_operands operands = {.op = ons_elementwise_fusion_rules()->fused,
                                   .name = "chain",
                                   .attributes = attributes,
                                   .inputs = inputs,
                                   .input_count = 2};
    ons_fused *f = ons_arena_allocate(arena, 1, sizeof *f);
    ons_cuda_source source;
    size_t bytes;
    random_check(ons_fused_read(&operands, arena, f), 0);
    random_check(ons_fused_source(f, arena, &source), 0);
    random_check(ons_cuda_compile_image(&source, "compute_90", NULL, ptx, &bytes, NULL), 0);
}

/* Whether ons_fused_wide reads and writes 16 bytes at a time. */
static void expect_wide(const char *steps, ons_dtype left, ons_dtype right) {
    ons_arena *arena = ons_arena_new();
    void *ptx = NULL;
    compile_ptx(steps, left, right, arena, &ptx);
    char *wide = strstr(ptx, ".entry ons_fused_wide");
    cr_assert(wide != NULL);
    char *end = strstr(wide + 1, ".entry ");
    if (end != NULL) *end = '\0';
    const char *read = strstr(wide, "ld.global.v4"), *also = read == NULL ? NULL : strstr(read + 1, "ld.global.v4");
    cr_expect(also != NULL && strstr(wide, "st.global.v4") != NULL && strstr(wide, ".local") == NULL, "%s: %s", steps,
              wide);
    free(ptx);
    ons_arena_free(arena);
}

Test(fused, kernels_move_sixteen_bytes_at_a_time) {
    if (!has_nvrtc()) cr_skip_test("not run: no NVRTC");
    expect_wide("Add(0,1);Relu(2)", ONS_FLOAT32, ONS_FLOAT32);
    expect_wide("Add(0,1);Relu(2)", ONS_BFLOAT16, ONS_BFLOAT16);
    expect_wide("Mul(0,1);Tanh(2)", ONS_FLOAT16, ONS_FLOAT16);
    expect_wide("Cast[0i=16](0);Add(1,2)", ONS_FLOAT32, ONS_BFLOAT16);
}

static void expect_found(const ons_cuda_source *source, const char *architecture, const char *folder, bool expected) {
    void *image = NULL;
    size_t bytes;
    bool found;
    random_check(ons_cuda_compile_image(source, architecture, folder, &image, &bytes, &found), 0);
    cr_expect(found == expected, "%s", expected ? "not found in the folder" : "found");
    cr_expect(memcmp(image, "\177ELF", 4) == 0);
    free(image);
}

Test(fused, code_is_kept_in_a_folder) {
    if (!has_nvrtc()) cr_skip_test("not run: no NVRTC");
    char folder[] = "/tmp/onstage_kernels_XXXXXX", below[64], command[256];
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(below, sizeof below, "%s/not/there", folder);
    ons_cuda_source source = {.text = "extern \"C\" __global__ void one(int *x) { *x = 1; }"};
    expect_found(&source, "sm_90", below, false);
    expect_found(&source, "sm_90", below, true);
    expect_found(&source, "sm_80", below, false);
    source.text = "extern \"C\" __global__ void one(int *x) { *x = 2; }";
    expect_found(&source, "sm_90", below, false);
    /* Damaged: one byte, then the end. */
    snprintf(command, sizeof command,
             "for f in %s/*; do printf x | dd of=$f bs=1 seek=500 conv=notrunc status=none; done", below);
    cr_assert(system(command) == 0);
    expect_found(&source, "sm_90", below, false);
    expect_found(&source, "sm_90", below, true);
    snprintf(command, sizeof command, "for f in %s/*; do truncate -s 100 $f; done", below);
    cr_assert(system(command) == 0);
    expect_found(&source, "sm_90", below, false);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}
