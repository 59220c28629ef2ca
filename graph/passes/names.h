/* What a name says about who made an initialiser. Modules give their weights names of their own ("layer.weight");
 * exporters give others to the constants of a computation and to what they have folded. */
#ifndef ONSTAGE_GRAPH_PASSES_NAMES_H
#define ONSTAGE_GRAPH_PASSES_NAMES_H

#include <stdbool.h>

/* A constant of a computation: "/norm/Constant_1_output_0" and "val_72" (PyTorch's two exporters), "const_fold_opt__12"
 * (TensorFlow's). Weights that were folded can have such names, too. */
bool ons_is_constant_name(const char *name);

/* What a program filled with one number: "zeros_like", "full_3". */
bool ons_is_filled_name(const char *name);

/* The result of a computation that was folded: one of the two above, "onnx::Add_376", "/layer/Expand_output_0",
 * "unsqueeze_1". No module's weight has it. */
bool ons_is_result_name(const char *name);

/* The name of a node that picks rows of a table (an embedding): what was computed on the way to it are indices. */
bool ons_is_embedding_name(const char *name);

/* The result of a function that computes nothing, PyTorch's name for it: its elements are those of its operands. */
bool ons_is_moving_name(const char *name);

/* PyTorch's name for a sum or difference: "add_4". */
bool ons_is_shifting_name(const char *name);

/* PyTorch's name for what makes other numbers of its operands, not in proportion to 1: "mul_3", "exp". */
bool ons_is_computing_name(const char *name);

/* PyTorch's name for several operands side by side: "cat", "stack_1". */
bool ons_is_joining_name(const char *name);

/* A path of identifiers, as modules name their parameters: "clip.logit_scale". */
bool ons_is_parameter_name(const char *name);

#endif
