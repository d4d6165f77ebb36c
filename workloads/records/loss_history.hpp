// The losses of samples that a run recorded (losses.csv), for jobs with modelled mathematics.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/records/records.hpp"

namespace tandem {

class LossHistory {
 public:
  /// Reads losses.csv of a data set of `samples` samples. Errors: ConfigError with the place.
  LossHistory(const std::string& file, std::int64_t samples);

  /// Sets, by id, each sample's loss in the last epoch before `epoch` that trained on it; NaN if none did.
  /// After the last recorded epoch losses do not change. Pre: a value for each sample.
  void before(std::int64_t epoch, std::span<float> losses) const;
  std::int64_t epochs() const { return records_.empty() ? 0 : records_.back().epoch + 1; }

 private:
  std::vector<LossRecord> records_;  ///< by epoch
  std::int64_t samples_;
};

}  // namespace tandem
