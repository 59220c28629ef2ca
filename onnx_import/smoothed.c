/* Losses that PyTorch's newer exporter writes without their label smoothing, which only the call in the metadata has:
 *
 *     SoftmaxCrossEntropyLoss(linear, t)    aten.cross_entropy_loss.default(args = (%linear, %t, None, 1, -100, 0.1),
 * ...)
 */
#include <stdlib.h>
#include <string.h>

#include "onnx_import/importer.h"

double ons_lost_smoothing(const ons_model_file *file, const char **node, const char **logits) {
    enum { PLACE = 5 }; /* among the call's arguments */
    const Onnx__GraphProto *graph = file->model->graph;
    for (size_t i = 0; i < graph->n_node; ++i) {
        const Onnx__NodeProto *each = graph->node[i];
        ons_exporter_call text = ons_node_call(each), share;
        char number[32] = "";
        if (each->n_input == 0 || strcmp(ons_text(each->op_type), "SoftmaxCrossEntropyLoss") != 0 ||
            !ons_call_is(&text, "aten.cross_entropy_loss") ||
            !ons_call_argument(&text, PLACE, "label_smoothing", &share) || share.size >= sizeof number)
            continue;
        memcpy(number, share.text, share.size);
        if (!(strtod(number, NULL) > 0)) continue;
        *node = ons_text(each->name);
        *logits = each->input[0];
        return strtod(number, NULL);
    }
    return 0;
}
