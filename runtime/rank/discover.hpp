// The ranks of `tandem discover`: each machine has one that measures, and a companion for messages within it.
#pragma once

#include <string>

namespace tandem {

/// Called by all ranks. `request`: JSON {"machines", "disk": a folder, "batch", "known": groups}. The first
/// `machines` ranks are on different machines; as many others follow, one on the machine of each of these.
/// Rank 0 prints one line of JSON, {"tree", "machines": [...]}, on standard output. Errors: ConfigError,
/// WorldError.
void discover_machines(const std::string& request);

}  // namespace tandem
