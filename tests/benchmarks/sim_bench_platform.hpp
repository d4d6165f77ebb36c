// The platform and the cost parameters that all measured programs share.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace tandem::benchmarks {

constexpr double flops_per_s = 1e9;
constexpr double update_s = 20e-6;
constexpr std::int64_t message_size = 1'000'000;
constexpr std::int64_t ring_size = 64'000'000;
constexpr double reduced_bytes_per_s = 10e9;
/// Workers differ slightly in speed, as real ones do.
constexpr double worker_step_s(int rank) { return 5e-3 + 1e-6 * (rank % 7); }

/// CPU seconds of this process: unlike wall-clock time, they do not grow when other processes use the
/// machine.
inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A switch with `hosts` hosts h0, h1 ..., one full-duplex link each.
class PlatformFile {
 public:
  explicit PlatformFile(int hosts)
      : path_(std::filesystem::temp_directory_path() /
              ("tandem-benchmark-" + std::to_string(getpid()) + ".xml")) {
    std::ofstream(path_) << "<?xml version='1.0'?>\n"
                            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                            "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
                            "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-"
                         << hosts - 1
                         << "\" speed=\"1Gf\" bw=\"1.25GBps\" lat=\"5us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
                            "</zone></platform>\n";
  }
  ~PlatformFile() { std::filesystem::remove(path_); }
  PlatformFile(const PlatformFile&) = delete;
  PlatformFile& operator=(const PlatformFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace tandem::benchmarks
