#include "workloads/records/loss_history.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(path + ": expected losses.csv of a run with --losses, found no such file");
  return rest_of(file);
}

}  // namespace

LossHistory::LossHistory(const std::string& file, std::int64_t samples)
    : records_(from_csv<LossRecord>(file, read_text(file))), samples_(samples) {
  if (records_.empty()) throw ConfigError(file + ": expected losses of samples, found none");
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const auto& [rank, epoch, id, loss] = records_[i];
    const auto refuse = [&](const std::string& column, const std::string& expected,
                            const std::string& found) {
      throw ConfigError(file + ":" + std::to_string(i + 2) + ": column '" + column + "': expected " +
                        expected + ", found " + found);
    };
    if (epoch < 0) refuse("epoch", "an epoch, from 0", std::to_string(epoch));
    if (id < 0 || id >= samples)
      refuse("id", "a sample of the data set, 0 to " + std::to_string(samples - 1), std::to_string(id));
    if (!(loss >= 0.0)) refuse("loss", "a loss >= 0", std::to_string(loss));
  }
  std::ranges::stable_sort(records_, {}, &LossRecord::epoch);
}

void LossHistory::before(std::int64_t epoch, std::span<float> losses) const {
  TANDEM_CHECK(std::ssize(losses) == samples_, losses.size(), samples_);
  std::ranges::fill(losses, std::numeric_limits<float>::quiet_NaN());
  for (const LossRecord& each : records_) {
    if (each.epoch >= epoch) break;
    losses[static_cast<std::size_t>(each.id)] = static_cast<float>(each.loss);
  }
}

}  // namespace tandem
