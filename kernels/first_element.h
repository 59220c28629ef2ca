/* Attributes of operators whose every element draws a random number, which no file has:
 *
 * - the number that the output's first element has in the tensor that the numbers are drawn for, where the output is a
 *   part of that (runtime/program/halves.h);
 * - how many elements a unit of the step has, where the output is that of several units one behind the other, each of
 *   which draws as a micro-batch of its own does (runtime/program/units.h). */
#ifndef ONSTAGE_KERNELS_FIRST_ELEMENT_H
#define ONSTAGE_KERNELS_FIRST_ELEMENT_H

#define ONS_FIRST_ELEMENT           "first_element"
#define ONS_FIRST_ELEMENT_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_FIRST_ELEMENT, ONS_ATTRIBUTE_INT)

#define ONS_UNIT_ELEMENTS           "unit_elements"
#define ONS_UNIT_ELEMENTS_ATTRIBUTE ONS_OPTIONAL_ATTRIBUTE(ONS_UNIT_ELEMENTS, ONS_ATTRIBUTE_INT)

#endif
