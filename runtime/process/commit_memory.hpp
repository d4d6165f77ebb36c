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
  /// Makes an empty folder, to which `link` refers from then on. `keeps`: at the end its content is copied to
  /// where the link was; otherwise nothing stays there. Errors: WorldError.
  CommitMemory(const std::string& link, bool keeps);
  /// Ends it if that has not been done. If this process may be killed, a KilledJobGuard does it then.
  ~CommitMemory();
  CommitMemory(const CommitMemory&) = delete;
  CommitMemory& operator=(const CommitMemory&) = delete;

  /// Removes the folder. If its content could not be copied in several attempts (the disk is full), it is
  /// still there, and is returned; the link remains. Tries it once, and does nothing if the folder is gone.
  std::optional<std::filesystem::path> end();
  /// While it is open, in this process or a copy of it, the folder is not taken for an abandoned one.
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

/// Whether the process of the job to which that link belongs was killed, and its commits are still being
/// copied to where the link is.
bool is_saving_commits(const std::filesystem::path& link);

/// Such folders of this user whose jobs have been killed, and could not remove them, sorted. Not those that
/// are still being saved.
std::vector<std::filesystem::path> abandoned_commit_memory(
    const std::filesystem::path& folder = shared_memory_folder);

}  // namespace tandem
