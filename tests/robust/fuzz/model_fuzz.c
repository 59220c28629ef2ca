/* libFuzzer's entry: any bytes as a model, opened, imported and exported again. */
#include <stddef.h>
#include <stdint.h>

#include "onnx_import/export.h"
#include "onnx_import/import.h"
#include "tests/rooms/onnx_import/test_operators.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void import_once(ons_model_file *file, ons_blockers *blockers) {
    ons_store store;
    ons_graph *graph = NULL;
    ons_status *status = ons_store_init(&store);
    if (status == NULL) status = ons_import(file, test_registry(), NULL, &store, blockers, &graph);
    ons_graph_free(graph);
    ons_store_free(&store);
    ons_status_free(status);
}

static void export_once(ons_model_file *file, bool inference) {
    ons_export_options options = {.inference = inference, .registry = test_registry()};
    ons_status_free(ons_export(file, "/dev/null", &options));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ons_model_file *file;
    ons_status *status = ons_model_file_open_memory(data, size, &file);
    if (status != NULL) {
        ons_status_free(status);
        return 0;
    }
    ons_blockers blockers = {0};
    import_once(file, &blockers);
    import_once(file, NULL);
    export_once(file, false);
    export_once(file, true);
    ons_vector_free(&blockers);
    ons_model_file_close(file);
    return 0;
}
