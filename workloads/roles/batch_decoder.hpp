// Makes the records of a batch from its samples as they are stored: decodes images, on data.decode_threads
// threads, and augments them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/job/plan/data_plan.hpp"
#include "workloads/roles/loader.hpp"

namespace tandem {

/// The losses of the samples `ids` of a batch. NaN where another sample was `trained` in the place of a
/// sample, as for samples that were not visited. `scratch` has the result if there are such samples. Empty
/// losses stay empty.
std::span<const float> losses_of(std::span<const SampleId> ids, std::span<const SampleId> trained,
                                 std::span<const float> losses, std::vector<float>& scratch);

class BatchDecoder {
 public:
  /// `from_storage`: batches have samples as they are stored; otherwise they have records. `replaces`:
  /// another sample takes the place of one that is missing or no image. That is the next one of its class in
  /// the batch (after the last one follows the first), or else the next one, or else the first good one of
  /// the last batch that had a good one. `data` must outlive it.
  BatchDecoder(const DataPlan& data, bool from_storage, bool replaces = false);
  /// False: stored samples are records, which a learner reads as they are.
  bool is_needed() const { return is_needed_; }
  /// The memory of the next batch's records. Pre: the last batch was read.
  std::span<const std::byte> make_room(int samples);
  /// Fills that memory. Pre: a batch of `samples` samples. Errors: ConfigError naming a sample's file that
  /// is no image; WorldError if no sample can replace another one.
  void decode(const Loader::Batch& batch);
  /// Number of samples of that batch that were replaced, and the ids of the samples whose records it has.
  std::int64_t replaced() const { return replaced_; }
  std::span<const SampleId> trained() const { return trained_; }

 private:
  std::span<std::byte> record(std::size_t position);
  bool decode_one(SampleId id, std::span<const std::byte> stored, std::span<std::byte> record) const;
  void replace(const Loader::Batch& batch);
  std::size_t substitute_of(const Loader::Batch& batch, std::size_t position) const;

  const DataPlan& data_;
  bool has_images_;
  bool replaces_;
  bool is_needed_;
  std::vector<std::byte> records_;
  std::vector<SampleId> trained_;
  // By position in the batch. Threads write to different positions at the same time.
  std::vector<std::span<const std::byte>> stored_;
  std::vector<char> is_good_;
  std::int64_t replaced_ = 0;
  std::vector<std::byte> last_good_;  ///< record of an earlier batch, not augmented; empty: none
  SampleId last_good_id_ = 0;
};

}  // namespace tandem
