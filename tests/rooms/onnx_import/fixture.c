#include "tests/rooms/onnx_import/fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(imported *m, ons_status *status) {
    if (status == NULL) return;
    m->code = ons_status_get_code(status);
    snprintf(m->message, sizeof m->message, "%s", ons_status_get_message(status));
    ons_status_free(status);
}

static void run(imported *m, const ons_import_options *options, bool collect) {
    if (m->file == NULL) return;
    note(m, ons_store_init(&m->store));
    note(m, ons_import(m->file, test_registry(), options, &m->store, collect ? &m->blockers : NULL, &m->graph));
}

imported import_bytes(bytes b, const ons_import_options *options, bool collect) {
    imported m = {.bytes = b};
    note(&m, ons_model_file_open_memory(b.data, b.count, &m.file));
    run(&m, options, collect);
    return m;
}

imported import_path(const char *path, const ons_import_options *options) {
    imported m = {.file = NULL};
    note(&m, ons_model_file_open(path, &m.file));
    run(&m, options, false);
    return m;
}

void imported_free(imported *m) {
    ons_graph_free(m->graph);
    if (m->file != NULL) ons_store_free(&m->store);
    ons_model_file_close(m->file);
    ons_vector_free(&m->blockers);
    bytes_free(&m->bytes);
}

const ons_value *find_value(const imported *m, const char *name) {
    cr_assert_not_null(m->graph, "%s", m->message);
    ons_value_id id = ons_graph_find_value(m->graph, name);
    cr_assert_neq(id, ONS_NONE, "no value '%s'", name);
    return ons_graph_value(m->graph, id);
}

const ons_node *find_node(const imported *m, const char *name) {
    cr_assert_not_null(m->graph, "%s", m->message);
    ons_node_id id = ons_graph_find_node(m->graph, name);
    cr_assert_neq(id, ONS_NONE, "no node '%s'", name);
    return ons_graph_node(m->graph, id);
}

const void *value_data(const imported *m, const char *name) {
    const ons_tensor *tensor = ons_store_get(&m->store, find_value(m, name)->data);
    cr_assert_not_null(tensor);
    return tensor->data;
}

void expect_failure(bytes b, ons_status_code code, const char *words) {
    imported m = import_bytes(b, NULL, false);
    cr_expect_neq(m.message[0], '\0', "expected a failure with '%s'", words);
    cr_expect_not_null(strstr(m.message, words), "expected '%s' in '%s'", words, m.message);
    cr_expect_eq(m.code, code, "%s", m.message);
    imported_free(&m);
}

void make_folder(char path[static 64]) {
    const char *root = getenv("TEST_TMPDIR");
    if (root == NULL || strlen(root) > 40) root = "/tmp";
    snprintf(path, 64, "%s/onnx_import_XXXXXX", root);
    cr_assert_not_null(mkdtemp(path));
}

void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char inner[512];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(inner) != 0)
            remove_folder(inner);
    }
    if (folder != NULL) closedir(folder);
    rmdir(path);
}

void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(data, 1, size, file), size);
    fclose(file);
}

bytes read_file(const char *path) {
    bytes b = {0};
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    uint8_t chunk[4096];
    for (size_t count; (count = fread(chunk, 1, sizeof chunk, file)) > 0;) put_raw(&b, chunk, count);
    fclose(file);
    return b;
}
