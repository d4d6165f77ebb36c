// Lines about how samples reached the workers, for the text after a job.
#pragma once

#include <string>

#include "workloads/records/summary.hpp"

namespace tandem::cli {

/// Some lines, each after a line break. `exception`: the reason why the records of this job may lack samples
/// of an epoch although none was left out; empty: they do not.
std::string data_lines(const DataFigures& data, const std::string& exception);

}  // namespace tandem::cli
