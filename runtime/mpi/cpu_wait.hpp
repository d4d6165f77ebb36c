// How long this process has stood ready to run without getting a core: on a machine that others use, or with
// more ranks than cores, measured times contain it.
#pragma once

#include <optional>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Of the main thread, since the process began; nothing where the kernel does not tell.
std::optional<Seconds> cpu_wait();

}  // namespace tandem
