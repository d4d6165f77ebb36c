// The device catalogue. A platform file may give other figures itself (tandem:memory_rate, tandem:launch, or
// a host without a device, whose `speed` counts).
//
// Each entry is arithmetic on the maker's data sheet, with one stated share of the peak for a whole family,
// because published training results mix models, batches and software. They serve to compare clusters
// before anything is measured; `tandem calibrate` replaces them by measurements.
//
//   speed       = peak single-precision rate x share. The peak of a processor is cores x clock x flops per
//   cycle. memory_rate = peak of the memory interface x share. launch      = time to start one piece of work
//   (one layer's worth of kernels, or one call into a library).
#include <algorithm>

#include "platforms/description.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::platforms {
namespace {

// Graphics processors: 40 % of the single-precision peak without tensor cores, 30 % of the dense TF32 peak
// with them (tensor cores starve sooner), 80 % of the memory's peak; 20 us are about four kernel launches of
// 5 us.
Device gpu(const char* name, double peak_fp32_tflops, double memory_gbytes) {
  return {name, FlopsPerSecond(0.40 * peak_fp32_tflops * 1e12), BytesPerSecond(0.80 * memory_gbytes * 1e9),
          Seconds(20e-6), true};
}
Device tensor_gpu(const char* name, double peak_tf32_tflops, double memory_gbytes) {
  return {name, FlopsPerSecond(0.30 * peak_tf32_tflops * 1e12), BytesPerSecond(0.80 * memory_gbytes * 1e9),
          Seconds(20e-6), true};
}

// Server processors: 40 % of the peak at base clock, 70 % of the memory's peak.
Device server_cpu(const char* name, int cores, double gigahertz, int flops_per_cycle, double memory_gbytes) {
  return {name, FlopsPerSecond(0.40 * cores * gigahertz * flops_per_cycle * 1e9),
          BytesPerSecond(0.70 * memory_gbytes * 1e9), Seconds(2e-6)};
}

// Single-board computers: 15 % of the peak with out-of-order cores, 10 % with in-order ones, 40 % of the
// memory's peak. On these boards even Linpack in double precision reaches only about a sixth of the peak: 60
// Gflop/s on sixteen Odroid C2 (peak 16 x 24; Basford et al., Future Generation Computer Systems 102, 2020).
Device board(const char* name, double share, int cores, double gigahertz, double memory_gbytes) {
  constexpr int flops_per_cycle = 8;  // one 128-bit fused multiply-add
  return {name, FlopsPerSecond(share * cores * gigahertz * flops_per_cycle * 1e9),
          BytesPerSecond(0.40 * memory_gbytes * 1e9), Seconds(20e-6)};
}
constexpr double kOutOfOrder = 0.15;
constexpr double kInOrder = 0.10;

std::vector<Device> make_catalog() {
  return {
      // NVIDIA data sheets and architecture white papers.
      gpu("k80", 4.37, 240),            // one of the two GK210, boost
      gpu("p100", 9.3, 732),            // PCIe, 16 GB
      gpu("gtx-1080-ti", 11.3, 484),    //
      gpu("rtx-2080-ti", 13.4, 616),    //
      gpu("t4", 8.1, 320),              //
      gpu("v100", 15.7, 900),           // SXM2, 16 GB
      tensor_gpu("a100", 156, 1555),    // SXM4, 40 GB
      tensor_gpu("h100", 494.5, 3350),  // SXM5, 80 GB
      tensor_gpu("h200", 494.5, 4800),  // SXM5, 141 GB
      // Intel ARK and AMD product pages; AVX2 does 32 flops per cycle with two FMA units, AVX-512 with two
      // does 64.
      server_cpu("xeon-e5-2650-v4", 12, 2.2, 32, 76.8), server_cpu("xeon-gold-6148", 20, 2.4, 64, 128),
      server_cpu("epyc-7742", 64, 2.25, 32, 204.8), server_cpu("epyc-7742-core", 1, 2.25, 32, 204.8 / 64),
      server_cpu("core-i5-8259u", 4, 2.3, 32, 38.4),
      // Boards: Broadcom, NVIDIA, Hardkernel and Marvell product pages.
      board("raspberry-pi-4", kOutOfOrder, 4, 1.5, 12.8),    // 4 x Cortex-A72, LPDDR4-3200 x32
      board("jetson-nano-cpu", kOutOfOrder, 4, 1.43, 25.6),  // 4 x Cortex-A57, LPDDR4-3200 x64
      board("odroid-c2", kInOrder, 4, 1.5, 7.3),             // 4 x Cortex-A53, DDR3-1824 x32
      board("raspberry-pi-3", kInOrder, 4, 1.2, 3.6),        // 4 x Cortex-A53, LPDDR2-900 x32
      board("raspberry-pi-zero-2", kInOrder, 4, 1.0, 3.6),   // 4 x Cortex-A53, LPDDR2-900 x32
      board("espressobin", kInOrder, 2, 1.2, 3.2),           // 2 x Cortex-A53, DDR3-1600 x16
  };
}

}  // namespace

const std::vector<Device>& device_catalog() {
  static const std::vector<Device> catalog = make_catalog();
  return catalog;
}

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
  throw ConfigError(message);
}

}  // namespace tandem::platforms
