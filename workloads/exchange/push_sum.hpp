// The pushes of the workers to one parameter server: where they are received, and their weighted sum. With
// modelled mathematics it holds nothing and its kernels are empty.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/exchange/compressed_push.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class PushSum {
 public:
  struct Setting {
    bool real_math;
    bool is_on_gpu;  ///< the server is planned to compute on a GPU, see fold()
  };
  /// The arguments must outlive this; `pieces`: of the server's shard.
  PushSum(const ExchangePlan& exchange, ComputeDevice& device, const ShardPieces& pieces, Setting setting);

  /// Selects the pieces on which all functions below act; all pieces at first. Keys without the first piece
  /// belong to the update that the key with it began. Pre: nothing is accepted for another key.
  void select(const ShardKey& key);
  const ShardKey& key() const { return key_; }
  /// The selected pieces are one stretch of the shard's memory: its first element, and its size.
  std::int64_t begin() const { return begin_; }
  std::int64_t elements() const { return elements_; }
  Bytes bytes() const { return Bytes(elements_ * 4); }

  /// Where the worker's contribution to the piece of this index is received.
  Slice buffer(int worker, std::size_t index);
  /// A push of the worker, computed on this version of the model, is in its buffer, or at least its first key
  /// is.
  void note_push(int worker, int version) {
    if (decoder_) decoder_->note_push(worker, version);
  }
  /// Accepted pushes must be decompressed before they are folded.
  bool is_compressed() const { return decoder_.has_value(); }
  Kernel decompress();
  /// Adds the worker's buffer to the sum.
  void accept(int worker, double weight);
  /// Takes the worker's buffer out again. Pre: it has not been folded.
  void drop(int worker);
  bool has_accepted(int worker) const;
  int accepted() const { return static_cast<int>(accepted_.size()); }
  /// The worker whose push was accepted last.
  int last_accepted() const { return last_accepted_; }
  /// Sums the accepted pushes in worker order. Afterwards the buffers may be overwritten. `before_update`: an
  /// update follows before a buffer is overwritten. A GPU then takes a single push, with weight 1, from its
  /// buffer. So SGD with momentum reads and writes 20 bytes of its memory per parameter (push 4, velocity and
  /// model 8 each), instead of the 28 with a sum; with n pushes 4 n + 24.
  Kernel fold(bool before_update);
  /// Bytes of pushes that fold() sums.
  Bytes summed_bytes(bool before_update) const {
    return takes_from_buffer(before_update) ? Bytes(0) : bytes() * accepted();
  }

  /// The sum over the shard, which an update reads and may change. It is in memory of its own, or in the
  /// buffer of a push.
  std::span<float> values() const { return values_; }
  /// Weight of the folded pushes.
  double weight() const { return weight_; }
  /// The next sum overwrites it.
  void clear();
  void serialise(StateArchive& state);

 private:
  bool takes_from_buffer(bool before_update) const {
    return setting_.is_on_gpu && before_update && weight_ == 0.0 && accepted_.size() == 1 &&
           accepted_.front().second == 1.0;
  }
  void add_up();

  ComputeDevice& device_;
  const ShardPieces& pieces_;
  Setting setting_;
  ShardKey key_;
  std::int64_t begin_ = 0;
  std::int64_t elements_;
  std::optional<PushDecoder> decoder_;
  std::vector<FloatArray> buffers_;  ///< by worker: its push, decompressed
  std::vector<std::pair<int, double>> accepted_;
  int last_accepted_ = 0;
  std::vector<Term> terms_;  ///< of the sum in progress
  FloatArray aggregate_;
  std::span<float> values_;
  bool has_aggregate_ = false;  ///< of the selected pieces; otherwise its memory has no value
  double weight_ = 0.0;
};

}  // namespace tandem
