/* An ONNX file, opened: checked, mapped, and unpacked without its weights.
 *
 *   model.onnx ──map──▶ bytes ──scan (wire.h)──▶ messages
 *     ──copy without large payloads──▶ skeleton ──protobuf-c──▶ ModelProto
 *
 * Large tensors stay in the mapping; what is unpacked is a copy of the file without them. So a model of many gigabytes
 * opens in the memory of its structure alone, and no weight is ever held twice. The file must not be truncated by
 * others while it is open.
 */
#ifndef ONSTAGE_ONNX_IMPORT_MODEL_FILE_H
#define ONSTAGE_ONNX_IMPORT_MODEL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct ons_model_file ons_model_file;

/* Fails with ONS_IO_ERROR where the file cannot be read, with ONS_INVALID_MODEL where it is not a model. */
ons_status *ons_model_file_open(const char *path, ons_model_file **file);

/* Opens a file that lies in memory, which must outlive *file; external data cannot be found then. */
ons_status *ons_model_file_open_memory(const void *bytes, size_t size, ons_model_file **file);

/* Fails where a file that the model lies in was written into since it was opened: what is still to be read is no longer
 * known. */
ons_status *ons_model_file_check(const ons_model_file *file);

/* What the model calls the file of its external data that `path` is; NULL: `path` is none of those that were read. */
const char *ons_model_file_external(const ons_model_file *file, const char *path);

/* Whether weights of the model were read from files of their own. */
bool ons_model_file_has_external(const ons_model_file *file);

/* How much of what follows from the model alone may be computed before it runs, as ons_bind_options.folded_most counts
 * it. A file of a few hundred bytes can ask for any amount, so this goes by the bytes of the file and of its external
 * data that was read. NODE_UNITS of control_flow.c is the price of a node; functions that are put in place of their
 * calls have the same. */
enum { ONS_MODEL_NODE_UNITS = 400 };
int64_t ons_model_file_budget(const ons_model_file *file);

/* For when weights have been copied to where they are trained: gives back the memory that holds the file's bytes, which
 * are read again where they are needed again. */
void ons_model_file_give_back(const ons_model_file *file);

/* NULL is fine. Everything imported from the file (graphs, stores) is closed before. */
void ons_model_file_close(ons_model_file *file);

typedef struct ons_model_info {
    int64_t ir_version;
    int64_t opset;                                             /* of ONNX's own operators; 0 where none is imported */
    const char *producer_name, *producer_version, *graph_name; /* "" where the file says nothing */
    size_t node_count, initialiser_count, function_count;
    uint64_t bytes; /* of the file, external data apart */
} ons_model_info;

/* Texts live as long as the file. */
void ons_model_file_info(const ons_model_file *file, ons_model_info *info);

/* Nodes of the main graph whose metadata (NodeProto.metadata_props) hold the text, as exporters note what they did;
 * *first is the name of the first one, "" where there is none. */
size_t ons_model_file_marked_nodes(const ons_model_file *file, const char *text, const char **first);

#endif
