// The device catalogue. A platform file may give other figures itself (tandem:memory_rate, tandem:launch, or
// a host without a device, whose `speed` counts).
//
// Each entry is arithmetic on the maker's data sheet, with one stated share of the peak for a whole family,
// because published training results mix models, batches and software. They serve to compare clusters
// before anything is measured; `tandem calibrate` replaces them by measurements.
//
//   speed       = peak rate in the precision x share. The peak of a processor is cores x clock x flops per
//                 cycle.
//   memory_rate = peak of the memory interface x share.
//   launch      = time to start one piece of work (one layer's worth of kernels, or one call into a library).
//   memory      = as in the data sheet, with 10^9 bytes per GB: about what drivers and firmware leave of it.
//   spread      = coefficient of variation of the computing time of a step, on a machine of its own: orders
//   of
//                 magnitude without a data sheet behind them (GPUs 2 %, processors 3 %, boards 5 %, whose
//                 clocks follow their temperature). physics.spread replaces them.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {
namespace {

/// Dense peaks of a data sheet in Tflop/s; 0 where it gives none.
struct Peaks {
  double fp32;
  double tf32 = 0;
  double bf16 = 0;
  double fp16 = 0;
};

struct Memory {
  double gbytes;
  double gbytes_per_s;  ///< peak of the interface
};

Bytes gbytes(double count) { return Bytes(static_cast<std::int64_t>(count * 1e9)); }

// Graphics processors: 40 % of the peak without tensor cores (fp32, and fp16 of Pascal), 30 % of the peak of
// tensor cores, which starve sooner; 80 % of the memory's peak, or as
// measured; 20 us are about four kernel launches of 5 us.
constexpr double kShaders = 0.40;
constexpr double kTensorCores = 0.30;
constexpr double kMemory = 0.80;
// Kernels that read two vectors of 1 GiB and write one moved 2.917 TB/s of 3.35: validation/reports/
// gpu-2026-11-28.md, sgd and add.
constexpr double kMemoryOfH100 = 0.87;

Device gpu(const char* name, const Peaks& peaks, const Memory& memory, const char* source,
           double share_of_others = kTensorCores, double share_of_memory = kMemory) {
  Device device{.name = name,
                .speed = FlopsPerSecond(kShaders * peaks.fp32 * 1e12),
                .memory_rate = BytesPerSecond(share_of_memory * memory.gbytes_per_s * 1e9),
                .launch = Seconds(20e-6),
                .is_gpu = true,
                .memory = gbytes(memory.gbytes),
                .source = source,
                .spread = 0.02};
  for (const auto& [precision, peak] :
       {std::pair(Precision::tf32, peaks.tf32), std::pair(Precision::bf16, peaks.bf16),
        std::pair(Precision::fp16, peaks.fp16)})
    if (peak > 0) device.other_speeds[precision] = FlopsPerSecond(share_of_others * peak * 1e12);
  return device;
}

// Server processors: 40 % of the peak at base clock, 70 % of the memory's peak. Their boards hold memory of
// any size.
Device server_cpu(const char* name, int cores, double gigahertz, int flops_per_cycle, double memory_gbytes,
                  const char* source) {
  return {.name = name,
          .speed = FlopsPerSecond(0.40 * cores * gigahertz * flops_per_cycle * 1e9),
          .memory_rate = BytesPerSecond(0.70 * memory_gbytes * 1e9),
          .launch = Seconds(2e-6),
          .source = source};
}

// Single-board computers: 15 % of the peak with out-of-order cores, 10 % with in-order ones, 40 % of the
// memory's peak. On these boards even Linpack in double precision reaches only about a sixth of the peak: 60
// Gflop/s on sixteen Odroid C2 (peak 16 x 24; Basford et al., Future Generation Computer Systems 102, 2020).
Device board(const char* name, double share, int cores, double gigahertz, double memory_gbytes,
             std::optional<Bytes> memory, const char* source) {
  constexpr int flops_per_cycle = 8;  // one 128-bit fused multiply-add
  return {.name = name,
          .speed = FlopsPerSecond(share * cores * gigahertz * flops_per_cycle * 1e9),
          .memory_rate = BytesPerSecond(0.40 * memory_gbytes * 1e9),
          .launch = Seconds(20e-6),
          .memory = memory,
          .source = source,
          .spread = 0.05};
}
constexpr double kOutOfOrder = 0.15;
constexpr double kInOrder = 0.10;

std::vector<Device> make_catalog() {
  return {
      gpu("k80", {4.37}, {12, 240}, "NVIDIA data sheet; one of its two GK210, with boost, 12 GB"),
      gpu("p100", {.fp32 = 9.3, .fp16 = 18.7}, {16, 732}, "NVIDIA data sheet; PCIe, 16 GB", kShaders),
      gpu("gtx-1080-ti", {11.3}, {11, 484}, "NVIDIA product page; Founders Edition, 11 GB"),
      // fp16 with sums in fp32, as training needs.
      gpu("rtx-2080-ti", {.fp32 = 13.4, .fp16 = 53.8}, {11, 616},
          "NVIDIA Turing white paper; reference clock, 11 GB"),
      gpu("t4", {.fp32 = 8.1, .fp16 = 65}, {16, 320}, "NVIDIA data sheet; 16 GB"),
      gpu("v100", {.fp32 = 15.7, .fp16 = 125}, {16, 900}, "NVIDIA data sheet; SXM2, 16 GB"),
      gpu("a100", {.fp32 = 19.5, .tf32 = 156, .bf16 = 312, .fp16 = 312}, {40, 1555},
          "NVIDIA data sheet; SXM4, 40 GB"),
      // The data sheets give rates of tensor cores with sparse factors, which are twice as high.
      gpu("h100", {.fp32 = 67, .tf32 = 494.5, .bf16 = 989.5, .fp16 = 989.5}, {80, 3350},
          "NVIDIA data sheet; SXM5, 80 GB, dense; memory as measured", kTensorCores, kMemoryOfH100),
      gpu("h200", {.fp32 = 67, .tf32 = 494.5, .bf16 = 989.5, .fp16 = 989.5}, {141, 4800},
          "NVIDIA data sheet; SXM5, 141 GB, dense"),
      // AVX2 does 32 flops per cycle with two FMA units, AVX-512 with two does 64.
      server_cpu("xeon-e5-2650-v4", 12, 2.2, 32, 76.8, "Intel ARK; AVX2"),
      server_cpu("xeon-gold-6148", 20, 2.4, 64, 128, "Intel ARK; AVX-512"),
      server_cpu("epyc-7742", 64, 2.25, 32, 204.8, "AMD product page; AVX2"),
      server_cpu("epyc-7742-core", 1, 2.25, 32, 204.8 / 64, "AMD product page; one core, AVX2"),
      server_cpu("core-i5-8259u", 4, 2.3, 32, 38.4, "Intel ARK; AVX2"),
      board("raspberry-pi-4", kOutOfOrder, 4, 1.5, 12.8, std::nullopt,
            "Broadcom product page; 4 x Cortex-A72, LPDDR4-3200 x32"),
      board("jetson-nano-cpu", kOutOfOrder, 4, 1.43, 25.6, gbytes(4),
            "NVIDIA product page; 4 x Cortex-A57, LPDDR4-3200 x64"),
      board("odroid-c2", kInOrder, 4, 1.5, 7.3, gbytes(2),
            "Hardkernel product page; 4 x Cortex-A53, DDR3-1824 x32"),
      board("raspberry-pi-3", kInOrder, 4, 1.2, 3.6, gbytes(1),
            "Broadcom product page; 4 x Cortex-A53, LPDDR2-900 x32"),
      board("raspberry-pi-zero-2", kInOrder, 4, 1.0, 3.6, gbytes(0.5),
            "Broadcom product page; 4 x Cortex-A53, LPDDR2-900 x32"),
      board("espressobin", kInOrder, 2, 1.2, 3.2, std::nullopt,
            "Marvell product page; 2 x Cortex-A53, DDR3-1600 x16"),
  };
}

}  // namespace

const std::vector<Device>& device_catalog() {
  static const std::vector<Device> catalog = make_catalog();
  return catalog;
}

const char* const device_of_ones_own =
    "another device is described by its host: leave out <prop id=\"device\">, give the sustained rate as "
    "speed=\"...\", and tandem:memory_rate, tandem:launch and memory as properties";

const Device& find_device(const std::string& name) {
  const auto& catalog = device_catalog();
  const auto found =
      std::find_if(catalog.begin(), catalog.end(), [&](const Device& d) { return d.name == name; });
  if (found != catalog.end()) return *found;
  std::vector<std::string> names;
  for (const auto& device : catalog) names.push_back(device.name);
  std::string message = "unknown device '" + name + "'";
  if (const auto nearest = nearest_name(name, names); !nearest.empty())
    message += "; did you mean '" + nearest + "'?";
  message += " Known:";
  for (const auto& known : names) message += ' ' + known;
  message += "; " + std::string(device_of_ones_own);
  throw ConfigError(message);
}

}  // namespace tandem::platforms
