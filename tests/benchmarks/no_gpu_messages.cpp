// A build without CUDA has no memory of GPUs to send.
#include "tests/benchmarks/turns.hpp"

namespace tandem {

void add_gpu_benchmarks() {}

}  // namespace tandem
