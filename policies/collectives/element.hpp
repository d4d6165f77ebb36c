// What an all-reduce adds up, element by element: its size on the wire, and the addition.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::collectives {

struct Element {
  std::int64_t bytes = 0;
  /// sum[i] += arrived[i]; both are aligned as elements are. Null: nothing is ever added, as in an
  /// all-gather.
  void (*add)(std::byte* sum, const std::byte* arrived, std::int64_t elements) = nullptr;
};

inline void add_floats(std::byte* sum, const std::byte* arrived, std::int64_t elements) {
  auto* sums = reinterpret_cast<float*>(sum);
  const auto* others = reinterpret_cast<const float*>(arrived);
  for (std::int64_t element = 0; element < elements; ++element) sums[element] += others[element];
}
inline constexpr Element float_element{sizeof(float), add_floats};

}  // namespace tandem::collectives
