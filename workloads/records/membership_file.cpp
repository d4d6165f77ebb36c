#include "workloads/records/membership_file.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace {

std::string path_in(const std::string& directory) { return directory + "/membership.csv"; }

}  // namespace

void MembershipFile::add(const MembershipRecord& change) {
  if (directory_.empty()) return;
  std::string text = to_csv(with_places({change}, places_));
  if (file_.is_open())
    text.erase(0, text.find('\n') + 1);
  else
    file_.open(path_in(directory_), std::ios::binary);
  file_ << text << std::flush;
}

std::vector<MembershipRecord> with_places(std::vector<MembershipRecord> changes,
                                          const std::map<std::string, HostPlace>& places) {
  for (MembershipRecord& change : changes)
    if (const auto found = places.find(change.host); found != places.end()) {
      change.region = found->second.region;
      change.zone = found->second.zone;
    }
  return changes;
}

void add_to_membership_file(const std::string& directory, const std::vector<MembershipRecord>& changes) {
  const std::string path = path_in(directory);
  std::vector<MembershipRecord> all;
  if (std::ifstream file(path, std::ios::binary); file) all = from_csv<MembershipRecord>(path, rest_of(file));
  all.insert(all.end(), changes.begin(), changes.end());
  std::ranges::stable_sort(all, {}, &MembershipRecord::time);
  // The present file stays if the disk is full.
  const std::string whole = path + ".new";
  std::ofstream file(whole, std::ios::binary);
  file << to_csv(all);
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(whole, path, error);
  if (file && !error) return;
  std::filesystem::remove(whole, error);
  throw WorldError("cannot write " + path);
}

}  // namespace tandem
