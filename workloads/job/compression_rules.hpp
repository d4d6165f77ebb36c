// Which all-reduces can sum the messages of a compression. Uses only the names in an experiment.
#pragma once

#include <optional>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// The value that sync.collective must have instead, and the reason; nothing when it fits sync.compression,
/// or no all-reduce sums compressed messages. Pre: sync.compression is in its catalogue.
std::optional<std::string> collective_needed(const Experiment::Sync& sync);

}  // namespace tandem
