// Commits of workers that come and go without servers: the workers of one view write their parts together.
// When all have written, a file next to the parts lists these workers. Without it the parts are no commit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

/// The last of the rounds `first`, `first + every`, ... that is not later than `round`. Workers that commit
/// after every so many rounds continue to count from it when their set changes. Pre: round >= first, every >
/// 0.
std::int64_t last_round_of_commits(std::int64_t first, std::int64_t every, std::int64_t round);

/// Path of the list of the workers that wrote the commit after `round`.
std::string members_path(const std::string& directory, std::int64_t round);
/// `workers`: their indices. Written atomically. Errors: WorldError.
void save_members(const std::string& path, const std::vector<int>& workers);
/// Sorted indices below `workers`, at least one. Errors: ConfigError naming the file.
std::vector<int> load_members(const std::string& path, int workers);

}  // namespace tandem
