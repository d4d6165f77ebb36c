// sync.preset: one key that sets several, as another program sets them.
#pragma once

#include <vector>

#include "workloads/experiment/overrides.hpp"

namespace tandem {

/// For each assignment of sync.preset, of the experiment, a variant or a job: adds the keys that the preset
/// implies there, but for those that the layer itself assigns there.
void add_presets(std::vector<Assignment>& layer);

}  // namespace tandem
