/* What the fake of cuBLASLt is told and tells. */
#ifndef ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_FAKE_CUBLASLT_H
#define ONSTAGE_TESTS_ROOMS_KERNELS_EMULATION_FAKE_CUBLASLT_H

/* So many it knows for every product. */
enum { FAKE_CUBLASLT_ALGORITHMS = 10 };

typedef struct fake_cublaslt_state {
    unsigned unsound; /* bit i: algorithm i is offered as one that cannot run */
    unsigned refused; /* bit i: its launch is not supported, whatever was offered */
    unsigned broken;  /* bit i: its launch fails */
    int asked;        /* how many algorithms the last plan asked for */
    int launches;     /* tried */
    int ran;          /* the algorithm of the last one that was not refused; -1: none */
} fake_cublaslt_state;

extern fake_cublaslt_state fake_cublaslt;

#endif
