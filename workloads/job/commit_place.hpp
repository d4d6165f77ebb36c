// Which jobs can have their commits where checkpoint.to says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/experiment/experiment.hpp"

namespace tandem {

/// Who reads the commits of a job when it starts again.
enum class CommitReaders : std::uint8_t {
  writers,          ///< the ranks that wrote them, with what recovery does where machines depart
  several_machines  ///< one of several machines, for the others
};

/// Why such commits of the experiment must be in the result directory; none: they can be, or are, where
/// checkpoint.to says.
std::optional<std::string> why_commits_in_directory(const Experiment& experiment, CommitReaders readers);

/// For a job whose ranks run on several machines. Errors: ConfigError.
void expect_commits_for_machines(const Experiment& experiment);

}  // namespace tandem
