// The folder in shared memory that stands for the memory of a job's hosts (checkpoint.to buddy): it outlives
// the ranks, but not the job.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/descriptor.hpp"
#include "runtime/process/process.hpp"
#include "runtime/process/shared_memory.hpp"

namespace tandem {

class CommitMemory {
 public:
  /// Makes an empty folder, to which `link` refers from then on. `keeps`: at the end its content is copied to
  /// where the link was; otherwise nothing stays there. The end is that of this object or, if it is killed,
  /// of this process. Errors: WorldError.
  CommitMemory(const std::string& link, bool keeps);
  /// Ends it if that has not been done.
  ~CommitMemory();
  CommitMemory(const CommitMemory&) = delete;
  CommitMemory& operator=(const CommitMemory&) = delete;

  /// Waits until the folder is gone. If its content could not be copied in several attempts (the disk is
  /// full), it is still there, and is returned; the link remains.
  std::optional<std::filesystem::path> end();

 private:
  std::filesystem::path folder_;
  Descriptor life_;  ///< closed at the end
  Process guard_;
};

/// Whether the process of the job to which that link belongs was killed, and its commits are still being
/// copied to where the link is.
bool is_saving_commits(const std::filesystem::path& link);

/// Such folders of this user whose jobs have been killed, and could not remove them, sorted. Not those that
/// are still being saved.
std::vector<std::filesystem::path> abandoned_commit_memory(
    const std::filesystem::path& folder = shared_memory_folder);

}  // namespace tandem
