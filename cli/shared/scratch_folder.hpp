// A folder for the work of one command.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::cli {

/// Removed with this object.
class ScratchFolder {
 public:
  /// Removes what an interrupted command has left at this path.
  explicit ScratchFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A new path for temporary files, whose last part begins with `prefix`. Errors: WorldError.
inline std::filesystem::path new_temporary_path(const std::string& prefix) {
  std::string pattern = (std::filesystem::temp_directory_path() / (prefix + "XXXXXX")).string();
  if (mkdtemp(pattern.data()) == nullptr) throw WorldError("cannot make " + pattern);
  return pattern;
}

}  // namespace tandem::cli
