#include "runtime/process/shared_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "runtime/process/process_list.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// Files by their inode: a process may see the folder under another path.
using FilesByInode = std::multimap<ino_t, fs::path>;

/// Messages between ranks (btl/vader) are in vader_segment.HOST.USER.JOB.RANK, windows (osc/sm) in
/// osc_sm.HOST.JOB.RANK.NUMBER.
bool is_of_open_mpi(const std::string& name) {
  static const std::regex segment(R"(vader_segment\.(.+)\.(\d+)\.[0-9a-f]+\.\d+)");
  static const std::regex window(R"(osc_sm\.(.+)\.[0-9a-f]+\.\d+\.\d+)");
  std::smatch parts;
  if (std::regex_match(name, parts, window)) return sees_processes_of(parts[1]);
  return std::regex_match(name, parts, segment) && parts[2] == std::to_string(geteuid()) &&
         sees_processes_of(parts[1]);
}

FilesByInode candidates_in(const fs::path& folder) {
  FilesByInode files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    struct stat status {};
    if (!is_of_open_mpi(entry.path().filename()) || lstat(entry.path().c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode) && status.st_uid == geteuid()) files.emplace(status.st_ino, entry.path());
  }
  return files;
}

/// Removes the files that the process maps. Returns whether its list of maps could be read.
bool leave_out_mapped(const fs::path& process, FilesByInode& files) {
  std::ifstream maps(process / "maps");
  if (!maps) return false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream columns(line);
    std::string addresses, rights, offset, device;
    ino_t inode = 0;
    if (columns >> addresses >> rights >> offset >> device >> inode) files.erase(inode);
  }
  // Reading fails where the kernel denies it, although the file can be opened.
  return maps.eof();
}

/// Removes the files that the process has open. Returns whether its descriptors could be read.
bool leave_out_open(const fs::path& process, FilesByInode& files) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(process / "fd", error)) {
    struct stat status {};
    if (stat(entry.path().c_str(), &status) == 0) files.erase(status.st_ino);
  }
  return !error;
}

bool is_own(const fs::path& process) {
  struct stat status {};
  return stat(process.c_str(), &status) == 0 && status.st_uid == geteuid();
}

}  // namespace

std::vector<fs::path> abandoned_shared_memory(const fs::path& folder) {
  // Listed first: a process that uses a listed file uses it already, or is found to be dead.
  FilesByInode files = candidates_in(folder);
  bool all_known = true;
  if (!files.empty())
    processes_where([&](const fs::path& process) {
      const bool is_known = leave_out_open(process, files) && leave_out_mapped(process, files);
      // A process of another user cannot map files of this one, and one that has ended uses none. In some
      // containers no process may examine process 1, which starts the others and is no rank.
      if (!is_known && is_own(process) && process.filename() != "1") all_known = false;
      return false;
    });
  std::vector<fs::path> abandoned;
  if (!all_known) return abandoned;
  for (const auto& [inode, path] : files) abandoned.push_back(path);
  std::ranges::sort(abandoned);
  return abandoned;
}

}  // namespace tandem
