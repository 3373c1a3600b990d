// regimen/compiled/cuda/library.cu — of regimen::cuda_compiled: CUDA, cuBLASLt and cuDNN for files that include no
// header of theirs.
#include <regimen/engine/cuda/library.cuh>
// SPDX-License-Identifier: Apache-2.0
