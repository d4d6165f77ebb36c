#include "workloads/files/whole_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>
#include <system_error>
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

void write(const std::string& path, const UnfinishedFile& unfinished,
           const std::function<void(std::ostream&)>& content,
           const std::function<void(const std::string&)>& check) {
  errno = 0;
  std::ofstream file(unfinished.path, std::ios::binary | std::ios::trunc);
  if (file) content(file);
  file.close();
  if (!file)
    throw WorldError("cannot write " + path + ": " + (errno == 0 ? "unknown error" : std::strerror(errno)));
  if (check) check(unfinished.path);
  std::error_code error;
  fs::rename(unfinished.path, path, error);
  if (error) throw WorldError("cannot write " + path + ": " + error.message());
}

/// Processes on several machines may have the same number.
std::string name_of_this_process() {
  return std::to_string(getpid()) + '-' + std::to_string(std::random_device()());
}

}  // namespace

void write_whole_file(const std::string& path, std::string_view text,
                      const std::function<void(const std::string&)>& check) {
  const UnfinishedFile unfinished(path + '.' + name_of_this_process() + ".partial");
  write(
      path, unfinished, [text](std::ostream& file) { file << text; }, check);
}

void write_own_file(const std::string& path, std::string_view text) {
  write_own_file(path, [text](std::ostream& file) { file << text; });
}

void write_own_file(const std::string& path, const std::function<void(std::ostream&)>& content) {
  write(path, UnfinishedFile(path + ".partial"), content, {});
}

}  // namespace tandem
