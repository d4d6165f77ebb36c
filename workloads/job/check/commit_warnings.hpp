// Commits that are too rare or too slow for the machines of a job, by its plan and the prices of its work:
// printed before the job starts. Warnings that follow from keys alone are rows of limits_that_warn.cpp.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Warns of a job of epochs that stops before its first commit, of lifetimes much shorter than the work
/// between two commits, and of a notice that is shorter than a commit.
std::vector<std::string> warnings_of_commits(const Job& job);

}  // namespace tandem
