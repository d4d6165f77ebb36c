#include "runtime/rank/hardware.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "runtime/machines/remote_shell.hpp"
#include "runtime/rank/nvml.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// The value of the first line "NAME<anything>: VALUE" of a file in /proc; empty without one.
std::string first_value(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name) && line.find(':') != std::string::npos)
      return line.substr(std::min(line.size(), line.find_first_not_of(" \t", line.find(':') + 1)));
  return {};
}

nlohmann::json gpus() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, memory] : Nvml().gpus()) list.push_back({{"name", name}, {"memory", memory}});
  return list;
}

/// An open file that has no name any more.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : folder_(folder) {
    std::string path = folder + "/tandem-disk-XXXXXX";
    file_ = mkstemp(path.data());
    if (file_ < 0) fail("create a file");
    unlink(path.c_str());
  }
  ~ScratchFile() { close(file_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int number() const { return file_; }
  [[noreturn]] void fail(const char* action) const {
    throw WorldError(
        fmt::format("the disk of {} cannot be measured: cannot {}: {}; choose another folder "
                    "with --disk",
                    folder_, action, std::strerror(errno)));
  }

 private:
  std::string folder_;
  int file_ = -1;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

nlohmann::json describe_hardware() {
  const std::string memory = first_value("/proc/meminfo", "MemTotal");  // in KiB
  return {{"host", machines::this_machine_name()},
          {"processor", first_value("/proc/cpuinfo", "model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"memory", memory.empty() ? 0LL : 1024 * std::strtoll(memory.c_str(), nullptr, 10)},
          {"gpus", gpus()}};
}

DiskRates measure_disk(const std::string& folder) {
  constexpr std::size_t block = 1 << 20;
  constexpr std::size_t blocks = 64;
  constexpr double long_enough_s = 1.0;
  const ScratchFile file(folder);
  std::vector<char> data(block);
  // Not all zeros, which some file systems do not store.
  for (std::size_t i = 0; i < block; ++i) data[i] = static_cast<char>(i * 2654435761U >> 13);
  std::size_t written = 0;
  const auto write_start = Clock::now();
  for (; written < blocks && seconds_since(write_start) < long_enough_s; ++written) {
    if (write(file.number(), data.data(), block) != static_cast<ssize_t>(block)) file.fail("write");
    if (fdatasync(file.number()) != 0) file.fail("write");
  }
  const double write_s = seconds_since(write_start);
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  if (lseek(file.number(), 0, SEEK_SET) != 0) file.fail("read");
  const auto read_start = Clock::now();
  for (std::size_t i = 0; i < written; ++i)
    if (read(file.number(), data.data(), block) != static_cast<ssize_t>(block)) file.fail("read");
  const double bytes = static_cast<double>(written * block);
  return {bytes / std::max(1e-6, seconds_since(read_start)), bytes / write_s};
}

}  // namespace tandem
