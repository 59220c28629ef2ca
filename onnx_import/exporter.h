/* What the files of the exporter share. An export is a list of splices (splice.h) to the file that was imported. */
#ifndef ONSTAGE_ONNX_IMPORT_EXPORTER_H
#define ONSTAGE_ONNX_IMPORT_EXPORTER_H

#include "onnx_import/export.h"
#include "onnx_import/model_parts.h"
#include "onnx_import/splice.h"
#include "onnx_import/tensor.h"

/* Contents of a tensor, to be written when its turn comes. */
typedef struct content {
    const char *reader;              /* the initialiser to ask the reader for; NULL: */
    const void *bytes;               /* the contents; NULL: */
    const Onnx__TensorProto *tensor; /* decode this one */
    ons_type type;
    uint64_t size;
    uint64_t offset; /* in the data file; unused elsewhere */
} content;
typedef ONS_VECTOR(content) contents;

typedef struct exporter {
    ons_model_file *file;
    const ons_export_options *options;
    ons_arena *arena;     /* bytes that are spliced in, among others */
    const char *location; /* of the data file, as the model states it */
    ons_map changed;      /* names of initialisers with new contents */
    bool spills;          /* large initialisers go to the data file, wherever they were */
    ons_splices splices;
    contents fills; /* by number: what `fill` splices stand for */
    contents data;  /* of the data file, in order */
    uint64_t data_size;
} exporter;

/* A piece of protobuf, written in order. */
typedef ONS_VECTOR(uint8_t) message;

ons_status *ons_put_bytes(message *m, const void *bytes, size_t size);
ons_status *ons_put_varint(message *m, uint64_t value);
/* Tag and length, for a value of `size` bytes to follow. */
ons_status *ons_put_header(message *m, uint32_t number, uint64_t size);
ons_status *ons_put_text(message *m, uint32_t number, const char *text);
ons_status *ons_put_integer(message *m, uint32_t number, uint64_t value);

/* Splices a copy of the message's bytes in, and empties it. */
ons_status *ons_splice_message(exporter *e, uint64_t at, uint64_t removed, uint32_t frame, message *m);
/* Splices bytes out. */
ons_status *ons_splice_out(exporter *e, uint64_t begin, uint64_t end, uint32_t frame);

/* The index of the model's graph among the frames. */
uint32_t ons_graph_frame(const ons_model_file *file);

/* ---- export_tensors.c */
ons_status *ons_export_tensors(exporter *e);
/* New contents for a tensor of the file, inside of it or in the data file, as it was. */
ons_status *ons_export_tensor(exporter *e, const Onnx__TensorProto *tensor, const char *name);

/* ---- export_stated.c: what is no initialiser of the model's graph */
ons_status *ons_export_stated(exporter *e);

/* ---- export_cut.c: last, since it also takes out the splices inside of what it leaves out */
ons_status *ons_export_cut(exporter *e);

/* ---- export_nodes.c */
ons_status *ons_export_untied_nodes(exporter *e);
ons_status *ons_export_inference_nodes(exporter *e);

#endif
