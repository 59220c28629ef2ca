/* One imported model, and a folder for files, for tests. */
#ifndef ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_FIXTURE_H
#define ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_FIXTURE_H

#include <stdbool.h>

#include "onnx_import/import.h"
#include "tests/rooms/onnx_import/model_writer.h"
#include "tests/rooms/onnx_import/test_operators.h"

typedef struct imported {
    bytes bytes; /* of the model; taken over */
    ons_model_file *file;
    ons_store store;
    ons_graph *graph; /* NULL where importing failed */
    ons_blockers blockers;
    char message[512]; /* "" where all went well */
    ons_status_code code;
} imported;

/* Opens the bytes (freed in the end) and imports them. `collect`: blockers are collected. */
imported import_bytes(bytes b, const ons_import_options *options, bool collect);
imported import_path(const char *path, const ons_import_options *options);
void imported_free(imported *m);

/* Both fail the test unless there is such a thing. */
const ons_value *find_value(const imported *m, const char *name);
const ons_node *find_node(const imported *m, const char *name);
/* The bytes of a value in the store. */
const void *value_data(const imported *m, const char *name);

/* Fails the test unless importing fails, with this code and these words in the message. Frees the bytes. */
void expect_failure(bytes b, ons_status_code code, const char *words);

/* A fresh folder; the path lives in `path`. */
void make_folder(char path[static 64]);
void remove_folder(const char *path);
void write_file(const char *path, const void *data, size_t size);
bytes read_file(const char *path);

#endif
