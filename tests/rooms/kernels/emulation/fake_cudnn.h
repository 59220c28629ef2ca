/* cuDNN's backend API without a GPU: descriptors that are checked, and graphs in plain loops in the library's place. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_FAKE_CUDNN_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_FAKE_CUDNN_H

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_ATTRIBUTES = 16, FAKE_LIST = 64, FAKE_WORKSPACE = 1000 };

typedef struct fake_attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    union {
        int64_t numbers[FAKE_LIST];
        struct fake_descriptor *descriptors[FAKE_LIST];
        void *addresses[FAKE_LIST];
        float real;
        int code; /* of an enumeration */
        bool flag;
    };
} fake_attribute;

typedef struct fake_descriptor {
    cudnnBackendDescriptorType_t type;
    bool finalized;
    int count;
    fake_attribute attributes[FAKE_ATTRIBUTES];
    int readers; /* descriptors that hold it */
} fake_descriptor;

/* What was set under the name, of that type; NULL: nothing. A wrong type ends the program: it is a defect of whoever
 * set it. */
const fake_attribute *fake_find(const fake_descriptor *descriptor, cudnnBackendAttributeName_t name,
                                cudnnBackendAttributeType_t type);
/* What was set under the name, which must be there. */
const fake_attribute *fake_get(const fake_descriptor *descriptor, cudnnBackendAttributeName_t name,
                               cudnnBackendAttributeType_t type);
void fake_require(bool good, const char *what);

/* Runs the operations of a finalised graph; `addresses` by unique id below 64. */
void fake_run(const fake_descriptor *operations, void *const addresses[FAKE_LIST]);

/* For tests. */
typedef struct fake_counts {
    int alive;       /* descriptors */
    int plans, runs; /* made; executed */
} fake_counts;
extern fake_counts fake_counted;
/* Numerical notes of the engines that are offered, in order: bits by note; an engine for each. */
void fake_offer(int engines, const uint32_t *notes, const int64_t *workspaces);

#endif
