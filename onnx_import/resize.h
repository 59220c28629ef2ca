/* A file in which some tensors have other sizes: a model with another head. */
#ifndef ONSTAGE_ONNX_IMPORT_RESIZE_H
#define ONSTAGE_ONNX_IMPORT_RESIZE_H

#include "graph/type.h"
#include "onnx_import/model_file.h"

typedef struct ons_resized {
    const char *name;
    ons_tensor contents; /* of an initialiser, in ONNX's order; data NULL: a value that is computed … */
    uint32_t axis;       /* … whose dimension `axis`, where the file states it, becomes … */
    int64_t size;        /* … this one */
} ons_resized;

/* The new file is held in memory, external data apart, and stands for the same path. Fails where the file has no
 * initialiser of such a name. `file` may be closed afterwards. */
ons_status *ons_model_file_resize(ons_model_file *file, const ons_resized *resized, size_t count,
                                  ons_model_file **result);

#endif
