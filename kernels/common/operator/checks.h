/* Complaints about element types, in the same words for all operators. */
#ifndef ONSTAGE_KERNELS_COMMON_OPERATOR_CHECKS_H
#define ONSTAGE_KERNELS_COMMON_OPERATOR_CHECKS_H

#include "kernels/common/operator/kernel.h"

/* For inference: fails unless the input is of the kind. */
ons_status *ons_need_float(const ons_operands *o, uint32_t input);
ons_status *ons_need_number(const ons_operands *o, uint32_t input); /* a float or an integer */
ons_status *ons_need_integer(const ons_operands *o, uint32_t input);
ons_status *ons_need_bool(const ons_operands *o, uint32_t input);

/* For prepare: the failure of a kernel that lacks this dtype. */
ons_status *ons_refuse_dtype(const ons_operands *o, ons_dtype dtype);

#endif
