// The folder in shared memory that represents the memory of a job's hosts (checkpoint.to buddy). It outlives
// the ranks, but not the job. Starts no process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/descriptor.hpp"
#include "runtime/process/shared_memory.hpp"

namespace tandem {

class CommitMemory {
 public:
  /// Makes an empty folder and turns `link` into a link to it. `keeps`: at the end, the content is copied to
  /// the place of the link; otherwise it is removed. Errors: WorldError.
  CommitMemory(const std::string& link, bool keeps);
  /// Calls end() unless it was called. If this process is killed, a KilledJobGuard calls it.
  ~CommitMemory();
  CommitMemory(const CommitMemory&) = delete;
  CommitMemory& operator=(const CommitMemory&) = delete;

  /// Removes the folder. Returns it when its content could not be copied in several attempts (the disk is
  /// full): then it stays, and so does the link. Only the first call acts; does nothing if the folder is
  /// gone.
  std::optional<std::filesystem::path> end();
  /// While this descriptor is open, in this process or a copy of it, the folder does not count as abandoned.
  int descriptor() const { return lock_.number(); }

 private:
  bool owns_link() const;
  bool try_to_save() const;
  std::optional<std::filesystem::path> left() const;

  std::filesystem::path folder_;
  std::filesystem::path link_;
  bool keeps_;
  Descriptor lock_;
  bool has_ended_ = false;
};

/// Whether the process of the job with that link was killed, and its commits are still being copied.
bool is_saving_commits(const std::filesystem::path& link);

/// Folders of this user whose jobs were killed before they could remove them, sorted. Without those that are
/// still being saved.
std::vector<std::filesystem::path> abandoned_commit_memory(
    const std::filesystem::path& folder = shared_memory_folder);

}  // namespace tandem
