/* From a trained model back to ONNX: the file that was imported, with new contents for some of its initialisers.
 *
 * The output is a copy of the input's bytes in which only what must change is replaced, so names, opset, metadata, doc
 * strings, unknown fields and untouched tensors stay as they are, bit for bit. Contents are streamed: no tensor is ever
 * held whole. Files are written under a temporary name and renamed when complete; on failure no file is changed.
 *
 * Where the input keeps tensors in external files, all of these go to one new file, OUT.data, or OUT.1.data where that
 * name is taken: the data of a model that OUT had before are removed when OUT has its new name (data_file.h). The same
 * happens to all large initialisers where the output would be larger than a protobuf message can be (2 GiB).
 */
#ifndef ONSTAGE_ONNX_IMPORT_EXPORT_H
#define ONSTAGE_ONNX_IMPORT_EXPORT_H

#include <stdbool.h>

#include "graph/registry.h"
#include "onnx_import/model_file.h"

/* Fills `buffer` with `bytes` bytes of the new contents of an initialiser, from byte `offset` on, in the initialiser's
 * own type and ONNX's order. Asked in ascending order of offsets, once for each byte (twice where a tensor is written
 * twice). */
typedef ons_status *ons_weight_reader(void *context, const char *initialiser, int64_t offset, void *buffer,
                                      size_t bytes);

typedef struct ons_export_options {
    /* The initialisers with new contents; others stay as they are. Names of ons_untied_at are initialisers too: all of
     * them are written, those that are not listed here with the contents that their source had. */
    const char *const *changed;
    size_t changed_count;
    ons_weight_reader *read;
    void *context;
    /* Puts nodes that behave differently while training into their inference form (ons_inference_form); else nodes stay
     * as they are. Needs `registry`. */
    bool inference;
    const ons_registry *registry;
    /* Bytes of the model file; 0: INT32_MAX, protobuf's limit. One that would be larger than the first has all large
     * initialisers outside of it; one that would still be larger than the second is refused. */
    uint64_t spill_above, refuse_above;
    const char *cut; /* this output is left out, with the nodes, inputs and initialisers that it alone needs; or NULL */
} ons_export_options;

/* Fails where an export cannot leave out the output, which is the model's only one, or a tensor inside. */
ons_status *ons_export_check_cut(const ons_model_file *file, const char *output);

ons_status *ons_export(ons_model_file *file, const char *path, const ons_export_options *options);

#endif
