// membership.csv of a running job: if it ends without results, the changes until then are known. The results
// replace it by the table of all ranks.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

class MembershipFile {
 public:
  /// `directory`: of the results; empty: nothing is written.
  explicit MembershipFile(std::string directory) : directory_(std::move(directory)) {}
  /// The next change, with its time since the job began. The first one replaces the file of an earlier
  /// launch. A change that cannot be written is left out: the job continues.
  void add(const MembershipRecord& change);

 private:
  std::string directory_;
  std::ofstream file_;
};

/// Adds changes to the file, in the order of time; makes it if there is none. Errors: ConfigError for a file
/// that Tandem did not write; WorldError.
void add_to_membership_file(const std::string& directory, const std::vector<MembershipRecord>& changes);

}  // namespace tandem
