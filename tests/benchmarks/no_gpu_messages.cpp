// Without CUDA there is no GPU memory to send from.
#include "tests/benchmarks/turns.hpp"

namespace tandem {

void add_gpu_benchmarks() {}

}  // namespace tandem
