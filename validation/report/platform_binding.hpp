// Which host and which link of a platform limit a job. Pure.
#pragma once

#include <nlohmann/json.hpp>

namespace tandem::validation {

/// `platform`: as platform_drawing() reads it, without `binds`. Returns {links: names of the busiest links,
/// hosts: names of the slowest hosts with a worker}; none where several are all equal.
///
/// A link is as busy as it has routes for its bandwidth: those in one direction of SPLITDUPLEX links, one of
/// FATPIPE links. Routes count between hosts whose roles exchange gradients or samples: workers and servers,
/// otherwise workers among themselves; workers and cache nodes; cache nodes, otherwise workers, and stores.
/// Without roles all routes count. A host counts as many times as it `stands_for` (missing: 1), but not for
/// links of its own. This is exact if each of these pairs of hosts sends the same bytes in both
/// directions, and an estimate otherwise.
nlohmann::json what_binds(const nlohmann::json& platform);

}  // namespace tandem::validation
