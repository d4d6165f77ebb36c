// Dynamic stale synchronous parallel (Zhao, An, Liu, Chen, ICDCS 2019, arXiv:1908.11848): SSP whose bound
// moves between `lower` and `upper`. When the fastest worker is beyond `lower`, a controller predicts the
// next pushes of it and of the slowest from their last two, and grants it the number of further steps after
// which it would wait least.
//
// The paper's bounds were not checked against it; the defaults are this project's own. A worker that has
// used its credit may be granted more, but never beyond `upper` steps ahead of the slowest. Nobody is granted
// anything before two pushes of both workers are known.
#pragma once

#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Errors: OptionError when lower is above upper.
std::unique_ptr<ServerPolicy> make_dssp_server(const Setting& setting);
std::vector<OptionSpec> dssp_options();

}  // namespace tandem::sync
