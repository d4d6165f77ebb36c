// Records the state of a rank's GPU while the rank works: clocks, power, temperature, memory, and the reason
// for low clocks. A throttled GPU is slower than the one that was calibrated.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "runtime/rank/nvml.hpp"

namespace tandem {

/// Asks NVML on a thread of its own. Records nothing where NVML cannot be used.
class GpuMonitor {
 public:
  using Clock = std::chrono::steady_clock;

  /// `address`: of the GPU, as gpu_address() gives it. `library`: NVML's file name.
  explicit GpuMonitor(std::string address, const std::string& library = "libnvidia-ml.so.1");
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  /// For run.json: "address" and, where known, "driver" and the limits of the GPU: "clock_mhz",
  /// "memory_clock_mhz", "power_w" and "memory_bytes". Or "unknown", with the reason why NVML cannot be
  /// used.
  nlohmann::json description() const;

  /// Records a sample now, and one after each interval. `now`: the rank's clock. Pre: not started.
  void start(Rank rank, Seconds now, Clock::duration interval = std::chrono::seconds(1));
  /// Records the last sample and returns all, in the order of time.
  std::vector<GpuRecord> finish();

 private:
  void take_sample();
  void stop_thread();

  std::string address_;
  Nvml nvml_;
  Nvml::Gpu gpu_ = nullptr;  ///< null: nothing is recorded
  Rank rank_ = 0;
  Seconds began_{};
  Clock::time_point start_{};
  std::vector<GpuRecord> samples_;  ///< used by the thread while it runs
  std::mutex mutex_;
  std::condition_variable stops_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace tandem
