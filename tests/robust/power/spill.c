/* spill IN.onnx OUT.onnx: the model with its large weights in a file of their own. */
#include <stdio.h>

#include "onnx_import/export.h"

int main(int argc, char **argv) {
    ons_model_file *file = NULL;
    const ons_export_options options = {.spill_above = 1};
    if (argc != 3) return 1;
    ons_status *status = ons_model_file_open(argv[1], &file);
    if (status == NULL) status = ons_export(file, argv[2], &options);
    if (status != NULL) fprintf(stderr, "%s\n", ons_status_get_message(status));
    int code = status != NULL;
    ons_status_free(status);
    ons_model_file_close(file);
    return code;
}
