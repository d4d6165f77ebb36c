#include "runtime/rank/gpu_monitor.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

GpuMonitor::GpuMonitor(std::string address, const std::string& library)
    : address_(std::move(address)), nvml_(library), gpu_(nvml_.find(address_)) {
  // The first answers take long, and a job should not wait for them.
  if (gpu_ != nullptr) static_cast<void>(nvml_.state(gpu_));
}

GpuMonitor::~GpuMonitor() { stop_thread(); }

nlohmann::json GpuMonitor::description() const {
  nlohmann::json found = {{"address", address_}};
  if (gpu_ == nullptr) {
    found["unknown"] = nvml_.why_none().empty() ? "NVML knows no GPU of this address" : nvml_.why_none();
    return found;
  }
  const Nvml::Most most = nvml_.most(gpu_);
  const auto add = [&](const char* key, auto value) {
    if (value != decltype(value){}) found[key] = value;
  };
  add("driver", nvml_.driver());
  add("clock_mhz", most.clock_mhz);
  add("memory_clock_mhz", most.memory_clock_mhz);
  add("power_w", most.power_w);
  add("memory_bytes", most.memory_bytes);
  return found;
}

void GpuMonitor::take_sample() {
  const std::chrono::duration<double> since = Clock::now() - start_;
  GpuRecord sample = nvml_.state(gpu_);
  sample.rank = rank_;
  sample.time = began_ + Seconds(since.count());
  samples_.push_back(std::move(sample));
}

void GpuMonitor::start(Rank rank, Seconds now, Clock::duration interval) {
  TANDEM_CHECK(!thread_.joinable(), "rank", rank);
  if (gpu_ == nullptr) return;
  rank_ = rank;
  began_ = now;
  start_ = Clock::now();
  is_stopping_ = false;
  take_sample();
  thread_ = std::thread([this, interval] {
    std::unique_lock lock(mutex_);
    while (!stops_.wait_for(lock, interval, [this] { return is_stopping_; })) take_sample();
  });
}

void GpuMonitor::stop_thread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stops_.notify_one();
  thread_.join();
}

std::vector<GpuRecord> GpuMonitor::finish() {
  if (!thread_.joinable()) return {};
  stop_thread();
  take_sample();
  return std::exchange(samples_, {});
}

}  // namespace tandem
