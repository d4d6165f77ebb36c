// Makes the records of a batch from its samples as they are stored: decodes images, and augments them.
#pragma once

#include <span>
#include <vector>

#include "workloads/job/data_plan.hpp"
#include "workloads/roles/loader.hpp"

namespace tandem {

class BatchDecoder {
 public:
  /// `from_storage`: batches have samples as they are stored; otherwise they have records. `data` must
  /// outlive it.
  BatchDecoder(const DataPlan& data, bool from_storage);
  /// Otherwise what is stored are records, and a learner reads them as they are.
  bool is_needed() const { return is_needed_; }
  /// The memory of the next batch's records. Pre: the last batch was read.
  std::span<const std::byte> make_room(int samples);
  /// Fills it. Pre: a batch of so many samples. Errors: ConfigError naming a sample's file that is no image.
  void decode(const Loader::Batch& batch);

 private:
  const DataPlan& data_;
  bool has_images_;
  bool is_needed_;
  std::vector<std::byte> records_;
};

}  // namespace tandem
