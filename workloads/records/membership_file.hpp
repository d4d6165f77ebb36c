// membership.csv of a running job: if it ends without results, the changes until then are known. The results
// replace it by the table of all ranks.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem {

class MembershipFile {
 public:
  /// `directory`: of the results; empty: nothing is written. `places`: by host.
  MembershipFile(std::string directory, std::map<std::string, HostPlace> places)
      : directory_(std::move(directory)), places_(std::move(places)) {}
  /// The next change, with its time since the job began. The first one replaces the file of an earlier
  /// launch. A change that cannot be written is left out: the job continues.
  void add(const MembershipRecord& change);

 private:
  std::string directory_;
  std::map<std::string, HostPlace> places_;
  std::ofstream file_;
};

/// The changes, with the region and the zone of their hosts.
std::vector<MembershipRecord> with_places(std::vector<MembershipRecord> changes,
                                          const std::map<std::string, HostPlace>& places);

/// Adds changes to the file, in the order of time; makes it if there is none. Errors: ConfigError for a file
/// that Tandem did not write; WorldError.
void add_to_membership_file(const std::string& directory, const std::vector<MembershipRecord>& changes);

}  // namespace tandem
