// Commits that are too rare or too slow for the machines of a job, by its plan and the prices of its work:
// printed before the job starts. Warnings that follow from keys alone are rows of limits_that_warn.cpp.
#pragma once

#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// No commit before a job of epochs stops; lifetimes much shorter than the work between two commits; a notice
/// that is shorter than a commit.
std::vector<std::string> warnings_of_commits(const Job& job);

}  // namespace tandem
