// How samples reached the workers, as the text after a job says it.
#pragma once

#include <string>

#include "workloads/records/summary.hpp"

namespace tandem::cli {

/// Some lines, each with a line break before it. `exception`: why an epoch
/// of this job may have been recorded without all of its samples, although none was left out; empty: it may
/// not.
std::string data_lines(const DataFigures& data, const std::string& exception);

}  // namespace tandem::cli
