// Notices that the process of a rank gets from outside while its job runs. A simulation gets none.
#pragma once

#include <functional>
#include <optional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Null functions: no notices.
struct Notices {
  /// Returns each warning that the machine of this rank will be taken away once: the least time that may
  /// remain from now on.
  std::function<std::optional<Seconds>()> take_warning = {};
  /// The whole job is to end soon: it commits its state, if it can, and stops.
  std::function<bool()> is_end_requested = {};
};

}  // namespace tandem
