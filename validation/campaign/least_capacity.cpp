#include "validation/campaign/least_capacity.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem::validation {

LeastCapacity find_least_capacity(double stall, Bytes whole, Bytes smallest,
                                  const std::function<std::optional<double>(Bytes)>& stall_with) {
  TANDEM_CHECK(whole > Bytes(0), whole.count());
  LeastCapacity result;
  const std::int64_t of_steps = (whole.count() + most_capacity_steps - 1) / most_capacity_steps;
  result.step = Bytes(std::max(of_steps, smallest.count()));
  const std::int64_t steps = (whole.count() + result.step.count() - 1) / result.step.count();
  const auto suffices = [&](std::int64_t number) {
    const Bytes capacity = std::min(whole, result.step * number);
    const std::optional<double> found = stall_with(capacity);
    result.tried.emplace_back(capacity, found);
    return found && *found <= stall;
  };
  std::int64_t low = 0, high = steps;
  if (suffices(low)) {
    result.capacity = Bytes(0);
  } else if (suffices(high)) {
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (suffices(middle) ? high : low) = middle;
    }
    result.capacity = std::min(whole, result.step * high);
  }
  std::ranges::sort(result.tried);
  return result;
}

}  // namespace tandem::validation
