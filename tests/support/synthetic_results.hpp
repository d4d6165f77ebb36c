// Plausible results without a simulator or MPI: the real policies driven by an event loop with given costs,
// in a "simulated" world without noise and "measured" ones with noise and a bias. For tests of comparison and
// report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validation/compare/summary.hpp"

namespace tandem::testing {

struct SyntheticJob {
  std::string name = "bsp";
  std::string algorithm = "bsp";
  sync::Route over = sync::Route::server;
  std::string collective = "ring";
  std::vector<double> step_s = {0.020, 0.022, 0.031, 0.048};  ///< forward + backward of each worker
  double exchange_s = 0.006;                                  ///< both directions, on an idle network
  int rounds = 60;
  bool accuracy = true;
  double target_accuracy = 0;
  bool cache = false;
};

/// How measured results differ from simulated ones.
struct SyntheticReality {
  double compute_bias = 0.03;  ///< relative increase of measured computation times
  double exchange_bias = 0.12;
  double noise = 0.04;  ///< standard deviation of each duration, relative
  int repetitions = 3;
};

Results synthetic_run(const SyntheticJob& job, const std::string& world, const SyntheticReality& reality,
                      std::uint64_t seed);
validation::VariantResults synthetic_variant(const SyntheticJob& job, const SyntheticReality& reality = {},
                                             std::uint64_t seed = 1);
/// BSP, ASP, ESync, local SGD through a server; BSP over ring and halving-doubling.
std::vector<validation::VariantResults> six_variants(const SyntheticReality& reality = {});
/// Like those of a suite: groups of up to four algorithms on models of different sizes, every third group in
/// the calibration set, with independent errors for each.
std::vector<validation::VariantResults> many_variants(std::size_t count, std::uint64_t seed = 1);

}  // namespace tandem::testing
