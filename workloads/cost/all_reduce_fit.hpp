// Predicts all-reduces of numbers of ranks that were not measured from the measured all-reduces of a
// profile.
#pragma once

#include <optional>

#include "policies/collectives/fit.hpp"
#include "workloads/cost/profile.hpp"

namespace tandem {

/// A formula (collectives::fit) for all-reduces of about this size, because libraries change their algorithm
/// with the size: fitted to the measured sizes up to 16 times smaller and larger, of at least two numbers of
/// ranks. With a library whose choice of schedules is known (collectives::library_choice), of these. None
/// outside the measured sizes, with fewer ranks, or if it misses them by more than a quarter on average.
std::optional<collectives::FittedCost> fit_all_reduces(const Profile& profile, Bytes size);

/// How well a formula that is fitted to two numbers of ranks predicts all others that were measured.
struct FitCheck {
  int times = 0;            ///< predicted
  double mean_error = 0.0;  ///< relative, without sign
  double largest_error = 0.0;
};
/// Uses sizes of at least 4 KiB. None if the two numbers were not measured, or there are no others.
std::optional<FitCheck> check_fit(const Profile& profile, int first_ranks, int second_ranks);

}  // namespace tandem
