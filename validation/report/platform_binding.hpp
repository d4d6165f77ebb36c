// Which host and which link of a platform limit a job. Pure.
#pragma once

#include "validation/report/platform_parts.hpp"

namespace tandem::validation {

/// Names of the busiest links, and of the slowest hosts with a worker; none where several are all equal.
///
/// The load of a link is its number of routes over its bandwidth: routes in one direction of SPLITDUPLEX
/// links, one route of FATPIPE links. Routes count between hosts whose roles exchange gradients or samples:
/// workers and servers, otherwise workers and workers; workers and cache nodes; cache nodes, otherwise
/// workers, and stores. Without roles all routes count. A host counts `stands_for` times, but only once for
/// its own links. The result is exact if each of these pairs of hosts sends the same bytes in both
/// directions, otherwise an estimate.
PlatformBinding what_binds(const PlatformParts& platform);

}  // namespace tandem::validation
