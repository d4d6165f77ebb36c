#include "cli/machines/nccl_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/calibration/nccl_table.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem::cli {

namespace {

/// Without a machine: a simulation has the links and devices of its platform.
Profile profile_of_tables(const NcclTableOptions& options) {
  Profile profile;
  profile.machine = fmt::format("tables: {}", fmt::join(options.tables, ", "));
  profile.software = this_software();
  profile.date = timestamp();
  profile.command = command_line();
  return profile;
}

}  // namespace

void write_nccl_tables(const NcclTableOptions& options, const std::string& out) {
  Profile profile = options.into.empty() ? profile_of_tables(options) : load_profile(options.into);
  std::set<int> replaced;
  for (const std::string& path : options.tables) {
    const auto entries = read_nccl_table(path, options.ranks);
    const int ranks = entries.front().ranks;
    if (!replaced.insert(ranks).second)
      throw ConfigError(fmt::format(
          "{}: expected one table for each number of ranks, found a second one for {}", path, ranks));
    std::erase_if(profile.all_reduces, [&](const auto& entry) { return entry.ranks == ranks; });
    profile.all_reduces.insert(profile.all_reduces.end(), entries.begin(), entries.end());
    fmt::print("{}: {} sizes of an all-reduce among {} ranks, {} to {} B\n", path, entries.size(), ranks,
               entries.front().bytes, entries.back().bytes);
  }
  std::ranges::stable_sort(profile.all_reduces, [](const auto& a, const auto& b) {
    return std::pair(a.ranks, a.bytes) < std::pair(b.ranks, b.bytes);
  });
  write_whole_file(out, to_json(profile).dump(1) + '\n');
  fmt::print("{}\n", out);
  print_document(to_json(profile));
}

}  // namespace tandem::cli
