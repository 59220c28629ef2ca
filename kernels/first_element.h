/* An attribute of operators whose every element draws a random number: the number that the output's first element has
 * in the tensor that the numbers are drawn for, where the output is a part of that (runtime/program/halves.h). No file
 * has it. */
#ifndef ONSTAGE_KERNELS_FIRST_ELEMENT_H
#define ONSTAGE_KERNELS_FIRST_ELEMENT_H

#define ONS_FIRST_ELEMENT           "first_element"
#define ONS_FIRST_ELEMENT_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_FIRST_ELEMENT, ONS_ATTRIBUTE_INT)

#endif
