// What must be equal on all ranks before a job starts. Ranks on several machines read the files of their own
// machine, and different models would train without an error. Knows nothing of messages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The program and files of a rank by name, each with its version or a digest, ordered so that a cause of a
/// difference precedes its consequences.
using JobIdentity = std::vector<std::pair<std::string, std::string>>;

/// Errors: ConfigError for a file that cannot be read.
JobIdentity identity_of(const Job& job);

/// Detects files that differ, not forged ones. Errors: ConfigError for a file that cannot be read.
std::string digest_of_file(const std::string& path);

std::string to_text(const JobIdentity& identity);
/// Inverse of to_text.
JobIdentity identity_from_text(const std::string& text);

/// `ranks`: of each, by rank. Errors: ConfigError naming the first rank that differs from rank 0, its host,
/// and what differs.
void expect_alike(const Job& job, const std::vector<JobIdentity>& ranks);

}  // namespace tandem
