// After which rounds a rank must act for checkpoints. A value type without files.
#pragma once

#include <cstdint>

namespace tandem {

class CheckpointSchedule {
 public:
  /// `every`: rounds between checkpoints; 0: never. `last`: the round at which counting starts.
  CheckpointSchedule(std::int64_t every, std::int64_t last) : every_(every), last_(last) {}

  /// A multiple of the interval lies between the last round given to begin_again and this one.
  bool has_passed(std::int64_t round) const { return every_ > 0 && round / every_ > last_ / every_; }
  /// The checkpoint after `round` is written.
  void begin_again(std::int64_t round) { last_ = round; }

 private:
  std::int64_t every_;
  std::int64_t last_;
};

}  // namespace tandem
