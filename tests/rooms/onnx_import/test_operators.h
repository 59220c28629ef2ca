/* A few operators for tests of the importer: enough of a descriptor to be read from a file, none of the rest. */
#ifndef ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_TEST_OPERATORS_H
#define ONSTAGE_TESTS_ROOMS_ONNX_IMPORT_TEST_OPERATORS_H

#include "graph/registry.h"

/* Add, Relu, Identity, Constant, If, BatchNormalization (keeps statistics), Dropout, Scale (attributes alpha float = 2,
 * axis int, required), Old (opsets 1 to 8), Resize (input 1 is not differentiable), Unsqueeze (attribute axes became an
 * input at opset 13). */
const ons_registry *test_registry(void);

#endif
