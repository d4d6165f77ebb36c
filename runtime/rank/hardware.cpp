#include "runtime/rank/hardware.hpp"

#include <dlfcn.h>
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
#include "runtime/machines/agent.hpp"

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

/// The few functions of NVML that are used here, by their binary interface.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    const auto init = function<int()>("nvmlInit_v2");
    is_ready_ = init != nullptr && init() == 0;
  }
  ~Nvml() {
    if (is_ready_)
      if (const auto shutdown = function<int()>("nvmlShutdown")) shutdown();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  nlohmann::json gpus() const {
    nlohmann::json list = nlohmann::json::array();
    const auto count = function<int(unsigned*)>("nvmlDeviceGetCount_v2");
    const auto handle = function<int(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    const auto name = function<int(void*, char*, unsigned)>("nvmlDeviceGetName");
    const auto memory = function<int(void*, Memory*)>("nvmlDeviceGetMemoryInfo");
    unsigned devices = 0;
    if (!is_ready_ || !count || !handle || !name || !memory || count(&devices) != 0) return list;
    for (unsigned index = 0; index < devices; ++index) {
      void* device = nullptr;
      char text[96] = {};
      Memory size{};
      if (handle(index, &device) != 0 || name(device, text, sizeof(text)) != 0) continue;
      if (memory(device, &size) != 0) size.total = 0;
      list.push_back({{"name", text}, {"memory", size.total}});
    }
    return list;
  }

 private:
  struct Memory {
    unsigned long long total, free, used;
  };
  template <class Signature>
  Signature* function(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }
  void* library_;
  bool is_ready_ = false;
};

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
          {"gpus", Nvml().gpus()}};
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
