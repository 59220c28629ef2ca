/* The file beside an exported model that holds its large weights: OUT.data, or OUT.1.data and so on where that name is
 * taken.
 *
 * Model and data get their names one after the other. A crash between the two must not leave the graph of one export
 * beside the weights of another, so an export never writes over a data file: the new one has a name of its own, the
 * model that states this name replaces the old model in one step, and only then is the old data file removed.
 *
 *     OUT ─▶ OUT.data          OUT ─▶ OUT.data, OUT.1.data           OUT ─▶ OUT.1.data
 *        before                  the data file is complete        the model's name has changed
 */
#ifndef ONSTAGE_ONNX_IMPORT_DATA_FILE_H
#define ONSTAGE_ONNX_IMPORT_DATA_FILE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vector.h"

typedef struct ons_data_file {
    const char *path;                /* of the new file; in the arena */
    const char *location;            /* its name, as the model states it */
    ONS_VECTOR(const char *) former; /* paths of those that the model at OUT states, for ons_data_file_retire */
} ons_data_file;

/* Chooses the name for the data of an export to `out`. The caller frees `former`. */
ons_status *ons_data_file_choose(const char *out, ons_arena *arena, ons_data_file *file);

/* Removes what only the replaced model read. Not finding it is no failure. */
void ons_data_file_retire(const ons_data_file *file);

#endif
