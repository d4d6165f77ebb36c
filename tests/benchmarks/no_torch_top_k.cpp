// Without libtorch there is nothing to compare with.
#include "tests/benchmarks/torch_top_k.hpp"

namespace tandem {

std::optional<Seconds> torch_top_k(ComputeDevice&, int, float*, std::int64_t, std::int64_t, int) {
  return std::nullopt;
}

}  // namespace tandem
