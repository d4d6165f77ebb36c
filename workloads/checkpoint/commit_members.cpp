#include "workloads/checkpoint/commit_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "workloads/files/whole_file.hpp"

namespace tandem {

using nlohmann::json;

std::int64_t last_round_of_commits(std::int64_t first, std::int64_t every, std::int64_t round) {
  TANDEM_CHECK(every > 0 && round >= first, "round", round, "first", first, "every", every);
  return round - (round - first) % every;
}

std::string members_path(const std::string& directory, std::int64_t round) {
  return fmt::format("{}/checkpoints/round_{:08}.members", directory, round);
}

void save_members(const std::string& path, const std::vector<int>& workers) {
  write_whole_file(path, json{{"workers", workers}}.dump() + '\n');
}

std::vector<int> load_members(const std::string& path, int workers) {
  if (!std::filesystem::exists(path))
    throw ConfigError(
        fmt::format("'{}': expected the list of the workers that wrote the commit, found none: a machine "
                    "departed, or the "
                    "job ended, before all of them had",
                    path));
  std::vector<int> members;
  try {
    std::ifstream file(path);
    json::parse(file).at("workers").get_to(members);
  } catch (const json::exception&) {
    throw ConfigError(fmt::format("'{}': expected a list of workers, found something else", path));
  }
  const bool is_sorted = std::ranges::adjacent_find(members, std::greater_equal()) == members.end();
  if (members.empty() || !is_sorted || members.front() < 0 || members.back() >= workers)
    throw ConfigError(fmt::format("'{}': expected different workers from 0 to {} in order, found {}", path,
                                  workers - 1, json(members).dump()));
  return members;
}

}  // namespace tandem
