#include "workloads/records/whole_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// Is removed, unless it has got its name by then.
struct UnfinishedFile {
  explicit UnfinishedFile(std::string own) : path(std::move(own)) {}
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  std::string path;
};

}  // namespace

void write_whole_file(const std::string& path, std::string_view text,
                      const std::function<void(const std::string&)>& check) {
  const UnfinishedFile unfinished(path + ".unfinished." + std::to_string(getpid()));
  std::ofstream file(unfinished.path, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file && check) check(unfinished.path);
  if (file) fs::rename(unfinished.path, path, error);
  if (!file || error) throw WorldError("cannot write " + path);
}

}  // namespace tandem
