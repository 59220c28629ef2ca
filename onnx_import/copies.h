/* Numbers of one parameter in several places of the file: see copies.c. */
#ifndef ONSTAGE_ONNX_IMPORT_COPIES_H
#define ONSTAGE_ONNX_IMPORT_COPIES_H

#include "onnx_import/importer.h"
#include "onnx_import/metadata.h"

/* Puts nodes in place of initialisers that are views of another one or hold numbers twice; behind ons_derived_import.
 * What cannot be told is counted (ons_untold_copy_count). */
ons_status *ons_copies_import(scope *s);

/* The names of what the exporter has computed the initialiser from; false: it says nothing. In origin.c. */
bool ons_origin_folded_names(const importer *in, const char *name, ons_text_view *list);

#endif
