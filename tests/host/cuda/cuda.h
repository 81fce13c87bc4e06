/* SPDX-License-Identifier: Apache-2.0 */
/* What cufile.h needs of cuda.h, in words of our own: CUDA is not installed to build or to test. */
#ifndef DONARD_TEST_CUDA_H
#define DONARD_TEST_CUDA_H

typedef int CUresult;
typedef struct CUstream_st *CUstream;

#endif /* DONARD_TEST_CUDA_H */
