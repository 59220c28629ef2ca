/* Damaged one-node models: a case of an operator as a file, with up to three things wrong in it. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_MUTANT_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_MUTANT_H

#include "kernels/case.h"
#include "tests/rooms/onnx_import/model_writer.h"

enum { MUTANT_INPUTS = ONS_CASE_OPERANDS + 2, MUTANT_DIMS = 10, MUTANT_ATTRIBUTES = 16, MUTANT_VALUES = 12 };

typedef struct mutant_input {
    int dtype;     /* 0: left out */
    uint32_t rank; /* may be more than a shape can have */
    int64_t dims[MUTANT_DIMS];
    uint32_t value_count; /* of a constant or of integers; they repeat */
    double values[ONS_CASE_VALUES];
    bool constant;
    int64_t odd_value; /* one integer of the contents, where `is_odd` */
    bool is_odd;
} mutant_input;

typedef struct mutant_attribute {
    const char *name; /* NULL: taken away */
    ons_attribute value;
    int64_t ints[MUTANT_VALUES];
    double floats[MUTANT_VALUES];
} mutant_attribute;

typedef struct mutant {
    const ons_operator *op;
    const ons_case *example;
    mutant_input inputs[MUTANT_INPUTS];
    uint32_t input_count, output_count, opset;
    mutant_attribute attributes[MUTANT_ATTRIBUTES];
    uint32_t attribute_count;
    uint64_t seed, drawn; /* of its random numbers, and how many were drawn */
} mutant;

/* The case as it is, then damaged as (operator, seed, number) say. An operator without cases: an empty node. */
void mutant_init(mutant *m, const ons_operator *op, uint64_t seed, uint64_t number);

/* A uniform integer below `count`. */
uint64_t mutant_draw(mutant *m, uint64_t count);

/* The model's bytes. The node is called "victim", its inputs "victim_in_0" and so on. */
bytes mutant_model(const mutant *m);

/* On one line, for whoever looks for the reason. */
enum { MUTANT_TEXT = 2048 };
void mutant_print(const mutant *m, char text[static MUTANT_TEXT]);

#endif
