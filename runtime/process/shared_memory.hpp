// Files of shared memory that MPI jobs leave behind when they are killed.
#pragma once

#include <filesystem>
#include <vector>

namespace tandem {

/// Where Open MPI makes the memory that ranks share, also that of Tandem's own messages.
inline constexpr const char* shared_memory_folder = "/dev/shm";

/// Files that Open MPI made in `folder` for this user, on a host whose processes can be seen here, and that
/// no living process maps or has open, sorted. Empty if a process of this user, other than process 1, cannot
/// be examined: it may use them.
std::vector<std::filesystem::path> abandoned_shared_memory(
    const std::filesystem::path& folder = shared_memory_folder);

}  // namespace tandem
