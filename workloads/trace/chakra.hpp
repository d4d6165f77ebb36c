// The data-parallel job that a Chakra trace (.et) describes.
#pragma once

#include <span>

#include "workloads/trace/job_description.hpp"
#include "workloads/trace/text_source.hpp"

namespace tandem::trace {

/// Whether a file begins with GlobalMetadata. `first`: at least its first 512 bytes, or all.
bool looks_like_chakra(std::span<const char> first);

/// Orders nodes by their data dependencies, because control dependencies of converted traces have cycles.
/// The computation of the GPU runs in this order, without a break. Errors: ConfigError for bytes that are not
/// nodes, with the byte; dependencies in a cycle, with a node's name; too many nodes.
JobDescription read_chakra(TextSource& source);

}  // namespace tandem::trace
