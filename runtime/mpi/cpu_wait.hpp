// How long this process has waited for a CPU core while it was ready to run. Measured times contain this wait
// if other programs use the machine or there are more ranks than cores.
#pragma once

#include <optional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// The wait of the main thread since the process began; nothing if the kernel does not report it.
std::optional<Seconds> cpu_wait();

}  // namespace tandem
