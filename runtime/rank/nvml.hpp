// NVML, NVIDIA's library about the state of GPUs, by its binary interface. It is part of the driver and
// loaded at run time: a build needs neither its header nor a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

/// Each function of NVML may be missing or fail; its value is then not known. Thread-safe.
class Nvml {
 public:
  /// Loads and initialises the library.
  explicit Nvml(const std::string& file_name = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Why NVML cannot be used; empty: it can.
  const std::string& why_none() const { return why_none_; }

  struct NamedGpu {
    std::string name;
    std::int64_t memory;  ///< bytes; 0: not known
  };
  /// All GPUs of the machine, also those that CUDA_VISIBLE_DEVICES hides.
  std::vector<NamedGpu> gpus() const;

  using Gpu = void*;
  /// The GPU with this PCI address ("0000:65:00.0"); null: not known.
  Gpu find(const std::string& address) const;

  /// Limits of a GPU; 0: not known.
  struct Most {
    int clock_mhz = 0;
    int memory_clock_mhz = 0;
    double power_w = 0.0;  ///< the limit that is set
    std::int64_t memory_bytes = 0;
  };
  Most most(Gpu gpu) const;
  /// Version of the driver. Empty: not known.
  std::string driver() const;
  /// At this moment. Without rank and time.
  GpuRecord state(Gpu gpu) const;

 private:
  struct Memory {
    unsigned long long total, free, used;
  };
  template <class Signature>
  Signature* function(const char* name) const;
  template <class Number, class... Arguments>
  Number number(const char* name, Gpu gpu, Arguments... arguments) const;
  Memory memory(Gpu gpu) const;
  std::string limits(Gpu gpu) const;

  void* library_;
  bool is_ready_ = false;
  std::string why_none_ = {};
};

}  // namespace tandem
