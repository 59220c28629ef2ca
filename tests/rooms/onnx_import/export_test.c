#include "onnx_import/export.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rooms/onnx_import/fixture.h"

enum { LARGE = 500 }; /* elements: 2000 bytes */

static char folder[64];
static char in_path[128], out_path[128], data_path[160];

static void setup(void) {
    make_folder(folder);
    snprintf(in_path, sizeof in_path, "%s/in.onnx", folder);
    snprintf(out_path, sizeof out_path, "%s/out.onnx", folder);
    snprintf(data_path, sizeof data_path, "%s.data", out_path);
}

static void teardown(void) { remove_folder(folder); }

TestSuite(export, .init = setup, .fini = teardown);

static void save(const char *path, bytes b) {
    write_file(path, b.data, b.count);
    bytes_free(&b);
}

/* New contents: every float is `base` plus its number. */
static ons_status *count_up(void *context, const char *name, int64_t offset, void *buffer, size_t size) {
    (void)name;
    int64_t first = offset / 4;
    for (size_t i = 0; i < size / 4; ++i) ((float *)buffer)[i] = *(const float *)context + (float)(first + (int64_t)i);
    return NULL;
}

static float base = 1000;

static char *export_to(const char *path, ons_model_file *file, const ons_export_options *given) {
    static char message[512];
    ons_export_options options = *given;
    options.read = options.read == NULL ? count_up : options.read;
    options.context = &base;
    options.registry = test_registry();
    ons_status *status = ons_export(file, path, &options);
    snprintf(message, sizeof message, "%s", ons_status_get_message(status));
    ons_status_free(status);
    return message;
}

static void put_opaque(bytes *b) { /* fields that no schema knows */
    put_text(b, 4000, "from the future");
    put_integer(b, 4001, 77);
}

static float large[LARGE];

/* Everything that must survive: documentation, metadata, fields unknown to us, tensors that do not change. */
static bytes rich_model(bytes weight) {
    bytes g = {0}, fixed = raw_tensor("fixed", 1, DIMS(4), large, 16), meta = {0}, n = node("Add", "add", "x,w", "h");
    put_text(&g, GRAPH_NAME, "rich");
    put_text(&fixed, TENSOR_DOC, "kept");
    put_text(&n, NODE_DOC, "adds");
    put_opaque(&n);
    put_message(&g, GRAPH_NODE, n);
    put_message(&g, GRAPH_NODE, node("Add", "add2", "h,fixed", "y"));
    put_opaque(&weight);
    put_message(&g, GRAPH_INITIALIZER, weight);
    put_message(&g, GRAPH_INITIALIZER, fixed);
    put_text(&g, GRAPH_DOC, "documentation");
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,500"));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "N,500"));
    put_opaque(&g);
    bytes b = model(g, 17);
    put_text(&b, MODEL_DOC, "model");
    put_text(&meta, 1, "key");
    put_text(&meta, 2, "value");
    put_message(&b, MODEL_METADATA, meta);
    put_opaque(&b);
    return b;
}

/* How many bytes differ between two files of one size. */
static size_t differences(const char *a, const char *b) {
    bytes left = read_file(a), right = read_file(b);
    cr_assert_eq(left.count, right.count);
    size_t count = 0;
    for (size_t i = 0; i < left.count; ++i) count += left.data[i] != right.data[i];
    bytes_free(&left);
    bytes_free(&right);
    return count;
}

static void expect_count_up(const char *path, const char *name) {
    imported m = import_path(path, NULL);
    cr_assert_str_eq(m.message, "");
    const float *data = value_data(&m, name);
    int64_t count = ons_shape_elements(&find_value(&m, name)->type.shape);
    for (int64_t i = 0; i < count; ++i) {
        float value;
        memcpy(&value, data + i, 4);
        cr_assert_eq(value, base + (float)i);
    }
    imported_free(&m);
}

static const char *const changed_w[] = {"w"};
static const ons_export_options change_w = {.changed = changed_w, .changed_count = 1};

Test(export, nothing_changed_is_the_same_file) {
    save(in_path, rich_model(raw_tensor("w", 1, DIMS(LARGE), large, sizeof large)));
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_str_eq(export_to(out_path, m.file, &(ons_export_options){0}), "");
    cr_assert_eq(differences(in_path, out_path), 0);
    cr_assert_neq(access(data_path, F_OK), 0);
    imported_free(&m);
}

Test(export, payload_replaced_in_place) {
    const bytes forms[] = {raw_tensor("w", 1, DIMS(LARGE), large, sizeof large),
                           float_tensor("w", DIMS(LARGE), large, LARGE)};
    for (int i = 0; i < 2; ++i) {
        save(in_path, rich_model(forms[i]));
        imported m = import_path(in_path, NULL);
        cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
        /* floats of 1000 to 1500 against zeros: 2 or 3 bytes of each differ */
        size_t count = differences(in_path, out_path);
        cr_assert_geq(count, 2 * LARGE - 100);
        cr_assert_leq(count, sizeof large);
        imported_free(&m);
        expect_count_up(out_path, "w");
    }
}

/* Written over itself: the old contents are still mapped. */
Test(export, onto_the_input) {
    save(in_path, rich_model(raw_tensor("w", 1, DIMS(LARGE), large, sizeof large)));
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(export_to(in_path, m.file, &change_w), "");
    imported_free(&m);
    expect_count_up(in_path, "w");
}

/* Removes the field's bytes from `b`, if they are there once. */
static bool cut(bytes *b, const void *piece, size_t size) {
    uint8_t *found = memmem(b->data, b->count, piece, size);
    if (found == NULL) return false;
    memmove(found, found + size, (size_t)(b->data + b->count - found) - size);
    b->count -= size;
    return true;
}

/* Encodings that the new bytes do not fit into: the tensor is written anew, all lengths change. */
Test(export, encoding_changes) {
    bytes unpacked = tensor_header("w", 1, DIMS(LARGE)), pieces = tensor_header("w", 1, DIMS(LARGE));
    for (int i = 0; i < LARGE; ++i) put_float(&unpacked, TENSOR_FLOATS, 0);
    put_block(&pieces, TENSOR_FLOATS, large, sizeof large - 40);
    put_block(&pieces, TENSOR_FLOATS, large, 40);
    const bytes forms[] = {unpacked, pieces};
    for (int i = 0; i < 2; ++i) {
        save(in_path, rich_model(forms[i]));
        imported m = import_path(in_path, NULL);
        cr_assert_str_eq(m.message, "");
        cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
        imported_free(&m);
        expect_count_up(out_path, "w");
        bytes out = read_file(out_path);
        const char *const kept[] = {"from the future", "documentation", "kept", "adds", "model", "key", "value"};
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; ++k)
            cr_assert(cut(&out, kept[k], strlen(kept[k])), "'%s' is gone", kept[k]);
        bytes_free(&out);
    }
}

Test(export, half_precision_in_typed_field) {
    bytes w = tensor_header("w", 10, DIMS(2)), packed = {0};
    put_varint(&packed, 0x3c00);
    put_varint(&packed, 0x3c00);
    put_message(&w, TENSOR_INT32S, packed);
    save(in_path, rich_model(w));
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(export_to(out_path, m.file, &change_w), ""); /* the reader gives one float for the two halves */
    imported_free(&m);
    m = import_path(out_path, NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(*(const float *)value_data(&m, "w"), base);
    imported_free(&m);
}

/* ---------------------------------------------------------------------------------------------------- external data */

static bytes external_model(void) {
    bytes constant = node("Constant", "k", "", "k");
    put_tensor_attribute(&constant, "value", external_tensor("", 1, DIMS(2), "weights.bin", "4", NULL));
    bytes g = {0};
    put_message(&g, GRAPH_NODE, constant);
    put_message(&g, GRAPH_NODE, node("Add", "", "w,v", "a"));
    put_message(&g, GRAPH_NODE, node("Add", "", "a,k", "y"));
    put_message(&g, GRAPH_INITIALIZER, external_tensor("w", 1, DIMS(LARGE), "weights.bin", "0", "2000"));
    put_message(&g, GRAPH_INITIALIZER, external_tensor("v", 1, DIMS(3), "weights.bin", "400", NULL));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "500"));
    return model(g, 17);
}

static void save_external(void) {
    char path[128];
    float values[LARGE];
    for (int i = 0; i < LARGE; ++i) values[i] = (float)i;
    snprintf(path, sizeof path, "%s/weights.bin", folder);
    write_file(path, values, sizeof values);
    save(in_path, external_model());
}

Test(export, external_data_moves_to_a_new_file) {
    save_external();
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
    imported_free(&m);
    expect_count_up(out_path, "w");
    char old[128];
    snprintf(old, sizeof old, "%s/weights.bin", folder);
    unlink(old); /* nothing refers to it any more */
    m = import_path(out_path, NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(((const float *)value_data(&m, "v"))[2], 102);
    cr_assert_eq(((const float *)value_data(&m, "k"))[1], 2);
    imported_free(&m);
}

/* The file `name` in the folder is there. */
static bool is_there(const char *name) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* A crash between the names of model and data would leave another model if the data file were written over. */
Test(export, data_file_is_never_written_over) {
    save_external();
    imported m = import_path(in_path, NULL);
    for (int i = 0; i < 4; ++i) {
        base = (float)(1000 + i);
        cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
        expect_count_up(out_path, "w");
        cr_assert_eq(is_there("out.onnx.data"), i % 2 == 0, "export %d", i);
        cr_assert_eq(is_there("out.onnx.1.data"), i % 2 == 1, "export %d", i);
    }
    base = 1000;
    imported_free(&m);
}

Test(export, data_file_that_the_old_model_does_not_state_stays) {
    save_external();
    write_file(data_path, "another model's", 15);
    imported m = import_path(in_path, NULL);
    for (int i = 0; i < 2; ++i) {
        cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
        bytes kept = read_file(data_path);
        cr_assert_eq(kept.count, 15);
        cr_assert_eq(memcmp(kept.data, "another model's", 15), 0);
        bytes_free(&kept);
        cr_assert_eq(is_there("out.onnx.1.data"), i == 0);
        cr_assert_eq(is_there("out.onnx.2.data"), i == 1);
    }
    imported_free(&m);
}

Test(export, weights_move_out_of_a_model_that_is_too_large) {
    save(in_path, rich_model(raw_tensor("w", 1, DIMS(LARGE), large, sizeof large)));
    imported m = import_path(in_path, NULL);
    ons_export_options options = change_w;
    options.spill_above = 1500;
    cr_assert_str_eq(export_to(out_path, m.file, &options), "");
    struct stat info;
    cr_assert_eq(stat(out_path, &info), 0);
    cr_assert_leq(info.st_size, 1500);
    expect_count_up(out_path, "w");
    options.refuse_above = 100;
    cr_assert_not_null(strstr(export_to(out_path, m.file, &options), "even with its weights in another file"));
    expect_count_up(out_path, "w");
    imported_free(&m);
}

/* ---------------------------------------------------------------------------------------------------- edited graphs */

Test(export, untied_weight_becomes_an_initialiser) {
    bytes g = {0};
    put_message(&g, GRAPH_NODE, node("Identity", "id", "w", "copy"));
    put_message(&g, GRAPH_NODE, node("Add", "", "w,copy", "y"));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(LARGE), large, sizeof large));
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "500"));
    save(in_path, model(g, 17));
    ons_import_options untie = {.untie = changed_w, .untie_count = 1};
    imported m = import_path(in_path, &untie);
    cr_assert_str_eq(m.message, "");
    ons_export_options options = {.changed = (const char *[]){"copy"}, .changed_count = 1};
    cr_assert_str_eq(export_to(out_path, m.file, &options), "");
    expect_count_up(out_path, "copy");
    options.spill_above = 500;
    cr_assert_str_eq(export_to(out_path, m.file, &options), "");
    expect_count_up(out_path, "copy");
    imported_free(&m);
    m = import_path(out_path, NULL);
    cr_assert_eq(m.graph->nodes.count, 1);
    cr_assert_eq(find_value(&m, "copy")->kind, ONS_PARAMETER);
    cr_assert_eq(*(const float *)value_data(&m, "w"), 0);
    imported_free(&m);
}

static bytes training_model(void) {
    bytes g = {0}, bn = node("BatchNormalization", "bn", "x,w,w,s,s", "a,m,v"),
          drop = node("Dropout", "drop", "a,r,t", "y");
    put_int_attribute(&bn, "training_mode", 1);
    put_message(&g, GRAPH_NODE, bn);
    put_message(&g, GRAPH_NODE, drop);
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("w", 1, DIMS(4), large, 16));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("s", 1, DIMS(4), large, 16));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("r", 1, SCALAR_DIMS, large, 4));
    put_message(&g, GRAPH_INITIALIZER, raw_tensor("t", 9, SCALAR_DIMS, "\1", 1));
    put_message(&g, GRAPH_INPUT, value_info("x", 1, "N,4"));
    return g;
}

Test(export, inference_form) {
    bytes g = training_model();
    put_message(&g, GRAPH_OUTPUT, value_info("y", 1, "N,4"));
    save(in_path, model(g, 17));
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(m.message, "");
    cr_assert_eq(ons_untied_count(m.file), 1, "mean and variance share an initialiser");
    cr_assert_str_eq(export_to(out_path, m.file, &(ons_export_options){.inference = true}), "");
    imported_free(&m);
    m = import_path(out_path, NULL);
    cr_assert_str_eq(m.message, "");
    const ons_node *bn = find_node(&m, "bn"), *drop = find_node(&m, "drop");
    cr_assert_eq(bn->attributes[0].i, 0);
    cr_assert_eq(bn->output_count, 1);
    cr_assert_eq(bn->input_count, 5);
    cr_assert_neq(bn->inputs[3], bn->inputs[4]);
    cr_assert_eq(drop->input_count, 2);
    cr_assert_eq(ons_untied_count(m.file), 0, "they no longer share it");
    imported_free(&m);
}

Test(export, inference_form_of_outputs_that_are_read) {
    bytes g = training_model();
    put_message(&g, GRAPH_OUTPUT, value_info("v", 1, "4"));
    save(in_path, model(g, 17));
    imported m = import_path(in_path, NULL);
    cr_assert_not_null(strstr(export_to(out_path, m.file, &(ons_export_options){.inference = true}), "'v'"));
    cr_assert_neq(access(out_path, F_OK), 0);
    imported_free(&m);
}

/* --------------------------------------------------------------------------------------------------------- failures */

static int count_files(void) {
    char command[128];
    snprintf(command, sizeof command, "ls -A %s | wc -l", folder);
    FILE *pipe = popen(command, "r");
    int count = -1;
    cr_assert_eq(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    return count;
}

static ons_status *fail(void *context, const char *name, int64_t offset, void *buffer, size_t size) {
    (void)context, (void)offset, (void)buffer, (void)size;
    return ons_status_new(ONS_DEFECT, "no contents for %s", name);
}

Test(export, failures_leave_files_as_they_were) {
    save(in_path, rich_model(raw_tensor("w", 1, DIMS(LARGE), large, sizeof large)));
    write_file(out_path, "precious", 8);
    imported m = import_path(in_path, NULL);
    ons_export_options options = change_w;
    options.read = fail;
    cr_assert_str_eq(export_to(out_path, m.file, &options), "no contents for w");
    options.spill_above = 1500;
    cr_assert_str_eq(export_to(out_path, m.file, &options), "no contents for w");
    options = change_w;
    options.changed = (const char *[]){"nothing"};
    cr_assert_not_null(strstr(export_to(out_path, m.file, &options), "no initialiser 'nothing'"));
    cr_assert_not_null(strstr(export_to("/nowhere/out.onnx", m.file, &change_w), "/nowhere/out.onnx"));
    cr_assert_not_null(strstr(export_to(folder, m.file, &change_w), "it is a folder"));
    cr_assert_not_null(strstr(export_to("/dev/full", m.file, &change_w), "No space left"));
    bytes kept = read_file(out_path);
    cr_assert_eq(kept.count, 8);
    cr_assert_eq(memcmp(kept.data, "precious", 8), 0);
    cr_assert_eq(count_files(), 2);
    bytes_free(&kept);
    imported_free(&m);
}

Test(export, failed_export_keeps_the_old_data) {
    save_external();
    imported m = import_path(in_path, NULL);
    cr_assert_str_eq(export_to(out_path, m.file, &change_w), "");
    ons_export_options options = change_w;
    options.read = fail;
    cr_assert_str_eq(export_to(out_path, m.file, &options), "no contents for w");
    expect_count_up(out_path, "w");
    cr_assert(is_there("out.onnx.data"));
    cr_assert_not(is_there("out.onnx.1.data"));
    imported_free(&m);
}

/* A limit on the size of files stands in for a full disk: writing stops in the middle. */
Test(export, disk_full) {
    enum { MANY = 300000 };
    float *many = calloc(MANY, sizeof *many);
    save(in_path, rich_model(raw_tensor("w", 1, DIMS(MANY), many, MANY * sizeof *many)));
    free(many);
    imported m = import_path(in_path, NULL);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit unlimited, limit;
    getrlimit(RLIMIT_FSIZE, &unlimited);
    limit = unlimited;
    limit.rlim_cur = 500000;
    setrlimit(RLIMIT_FSIZE, &limit);
    char *message = export_to(out_path, m.file, &change_w);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    cr_assert_not_null(strstr(message, "File too large"), "%s", message);
    cr_assert_eq(count_files(), 1, "the temporary file is gone");
    imported_free(&m);
}
