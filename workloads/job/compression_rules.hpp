// Which all-reduces can sum what a compression makes: by the names in an experiment alone.
#pragma once

#include <optional>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// What sync.collective has to be instead, and why; nothing when it goes with sync.compression, or nothing is
/// both compressed and summed by an all-reduce. Pre: sync.compression is in its catalogue.
std::optional<std::string> collective_needed(const Experiment::Sync& sync);

}  // namespace tandem
