#include "workloads/cost/all_reduce_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tandem {
namespace {

constexpr std::int64_t widest = 16;           ///< ratio of sizes that one formula is fitted to
constexpr double most_mean_error = 0.25;      ///< of the times that it was fitted to
constexpr std::int64_t least_checked = 4096;  ///< bytes

std::optional<collectives::FittedCost> fit_entries(const std::vector<Profile::AllReduceEntry>& entries,
                                                   std::int64_t bytes, const std::string& software) {
  std::vector<collectives::MeasuredTime> times;
  std::set<int> ranks;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), largest = 0;
  bool are_measured = true;
  for (const auto& entry : entries) {
    const bool is_near = entry.bytes <= bytes * widest && bytes <= entry.bytes * widest;
    if (!is_near || entry.ranks < 2 || entry.median_s <= 0.0) continue;
    times.push_back({entry.ranks, entry.bytes, entry.median_s});
    ranks.insert(entry.ranks);
    smallest = std::min(smallest, entry.bytes);
    largest = std::max(largest, entry.bytes);
    are_measured &= !entry.at_once_raw_s.empty();
  }
  if (ranks.size() < 2 || bytes < smallest || bytes > largest) return std::nullopt;
  // Tables (read_nccl_table) are of another library, and have no concurrent times.
  const auto choice = are_measured ? collectives::library_choice(software) : std::nullopt;
  auto fitted = choice ? collectives::fit(times, *choice) : collectives::fit(times);
  if (fitted.mean_error > most_mean_error) return std::nullopt;
  return fitted;
}

}  // namespace

std::optional<collectives::FittedCost> fit_all_reduces(const Profile& profile, Bytes size) {
  return fit_entries(profile.all_reduces, size.count(), profile.software);
}

std::optional<FitCheck> check_fit(const Profile& profile, int first_ranks, int second_ranks) {
  std::vector<Profile::AllReduceEntry> known;
  for (const auto& entry : profile.all_reduces)
    if (entry.ranks == first_ranks || entry.ranks == second_ranks) known.push_back(entry);
  FitCheck check;
  for (const auto& entry : profile.all_reduces) {
    if (entry.ranks == first_ranks || entry.ranks == second_ranks || entry.bytes < least_checked) continue;
    const auto fitted = fit_entries(known, entry.bytes, profile.software);
    if (!fitted) continue;
    const double predicted_s = collectives::predict(*fitted, entry.ranks, entry.bytes).count();
    const double error = std::abs(predicted_s / entry.median_s - 1.0);
    ++check.times;
    check.mean_error += error;
    check.largest_error = std::max(check.largest_error, error);
  }
  if (check.times == 0) return std::nullopt;
  check.mean_error /= check.times;
  return check;
}

}  // namespace tandem
