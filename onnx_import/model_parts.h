/* What is inside of an opened file, for the importer and the exporter. */
#ifndef ONSTAGE_ONNX_IMPORT_MODEL_PARTS_H
#define ONSTAGE_ONNX_IMPORT_MODEL_PARTS_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "graph/graph.h"
#include "onnx.pb-c.h"
#include "onnx_import/import.h"
#include "onnx_import/model_file.h"
#include "onnx_import/wire.h"

/* Payloads larger than this stay in the mapping. */
enum { ONS_SKELETON_PAYLOAD_MAX = 1024 };

/* Where a TensorProto, at any depth, lies in the file. */
typedef struct ons_tensor_place {
    uint32_t frame;
    uint32_t elided;     /* number of the payload field that was left out of the skeleton; 0: none was */
    uint64_t begin, end; /* the payload left out */
} ons_tensor_place;

typedef struct ons_external_file {
    char *location; /* as the model has it */
    ons_mapping mapping;
} ons_external_file;

enum { ONS_NO_FILE_NODE = 0xffffffffu };

/* What must change in the file so that a value can have an initialiser of its own. */
typedef struct ons_untied_edit {
    ons_untied names;
    uint32_t node;  /* index among the model graph's nodes */
    uint32_t input; /* of the node: reads the new initialiser from now on; ONS_NONE: the node, an Identity, goes */
} ons_untied_edit;

/* A tensor that is stated elsewhere than among the graph's initialisers (stated.h). */
typedef struct ons_stated {
    const char *name;                    /* in the graph */
    const Onnx__TensorProto *tensor;     /* what holds it; NULL: */
    const Onnx__AttributeProto *numbers; /* the attribute that does, as one float or several */
    ons_type type;
    const char *place; /* for messages: "of a Constant node" */
} ons_stated;

struct ons_model_file {
    char *path;
    char *folder; /* absolute, without links; NULL: opened from memory */
    ons_mapping mapping;
    uint8_t *own; /* bytes that were made; NULL: they are the mapping's, or the caller's */
    const uint8_t *bytes;
    uint64_t size;
    ons_frames frames;
    ONS_VECTOR(ons_tensor_place) tensors;
    Onnx__ModelProto *model; /* without the payloads that were left out */
    ons_arena *arena;        /* texts */
    ONS_VECTOR(ons_external_file) externals;
    ons_map external_names; /* from a location to its index: models have a file for each weight */
    ONS_VECTOR(Onnx__AttributeProto *) attributes; /* unpacked later than the model */
    ONS_VECTOR(ons_graph *) branches;              /* of the last import */
    ONS_VECTOR(ons_untied_edit) untied;            /* by the last import */
    size_t lost_biases;                            /* in the last import */
    const char *lost_bias;                         /* the first bias that was lost */
    size_t untold_copies;                          /* in the last import */
    const char *untold_copy;                       /* the first of them */
    ONS_VECTOR(ons_lost) lost;                     /* by the last import */
    ONS_VECTOR(ons_merge) merges;                  /* by the last import */
    ONS_VECTOR(ons_derived) derived;               /* by the last import */
    ONS_VECTOR(ons_sharded) sharded;               /* by the last import */
    ONS_VECTOR(const char *) unclear;              /* by the last import: ons_unclear_detaches */
    ONS_VECTOR(ons_stated) stated;                 /* by the last import */
    ons_map stated_names;                          /* name → index in `stated` */
};

/* A file of those bytes, from malloc, in the place of another one; they are freed with it, or where this fails. */
ons_status *ons_model_file_adopt(const ons_model_file *place, uint8_t *bytes, uint64_t size, ons_model_file **result);

/* NULL where the tensor was not unpacked with the model. */
const ons_tensor_place *ons_model_file_place(const ons_model_file *file, const Onnx__TensorProto *tensor);

/* An external file of the model, mapped at its first use. `missing` NULL: that there is no such file is a failure; else
 * *missing tells. Fails for a location that leaves the model's folder. */
ons_status *ons_external_open(ons_model_file *file, const char *location, ons_mapping *mapping, bool *missing);

/* "" for NULL. */
static inline const char *ons_text(const char *text) { return text == NULL ? "" : text; }

#endif
