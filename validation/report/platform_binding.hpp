// Which host and which link of a platform limit a job. Pure.
#pragma once

#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// Names of the busiest links, and of the slowest hosts with a worker; none where several are all equal.
///
/// A link is as busy as it has routes for its bandwidth: those in one direction of SPLITDUPLEX links, one of
/// FATPIPE links. Routes count between hosts whose roles exchange gradients or samples: workers and servers,
/// otherwise workers among themselves; workers and cache nodes; cache nodes, otherwise workers, and stores.
/// Without roles all routes count. A host counts as many times as it `stands_for`, but not for
/// links of its own. This is exact if each of these pairs of hosts sends the same bytes in both
/// directions, and an estimate otherwise.
PlatformBinding what_binds(const PlatformParts& platform);

}  // namespace tandem::validation
