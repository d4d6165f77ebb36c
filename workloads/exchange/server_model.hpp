// The part of the model that one parameter server holds: it sums contributions, updates the model by the
// optimiser, and provides snapshots; if workers update their own models, it provides only the mean of the
// contributions. With modelled math it holds nothing and its kernels are empty.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/compressed_push.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/model/update_rules.hpp"
#include "workloads/vectors/snapshots.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class ServerModel {
 public:
  /// `shard`: the number of the server. `is_on_gpu`: it is planned to compute on a GPU, see fold().
  ServerModel(const ReplicaPlan& plan, const ExchangePlan& exchange, ComputeDevice& device, int shard,
              bool is_on_gpu);

  const ShardPieces& pieces() const { return pieces_; }
  Bytes bytes() const { return Bytes(elements_ * 4); }
  /// The pieces that accept(), decompress(), fold() and apply() act on from now on; all pieces at first. Keys
  /// without the first piece belong to the update that the key with it began. Pre: nothing is accepted for
  /// another key.
  void select(const ShardKey& key);
  Bytes selected_bytes() const { return Bytes(selected_elements_ * 4); }
  /// Where the worker's contribution to the piece of this index is received.
  Slice slot(int worker, std::size_t index);
  /// A push of the worker, computed on this version of the model, is in its slot, or the first key of it.
  void note_push(int worker, int version) {
    if (decoder_) decoder_->note_push(worker, version);
  }
  /// Pushes are compressed: what was accepted must be decompressed before it is folded.
  bool is_compressed() const { return decoder_.has_value(); }
  Kernel decompress();
  /// Adds the worker's slot to the aggregate.
  void accept(int worker, double weight);
  /// Takes the worker's slot out again. Pre: it has not been folded.
  void drop(int worker);
  bool has_accepted(int worker) const;
  int accepted() const { return static_cast<int>(accepted_.size()); }
  /// Sums what was accepted, in worker order, into the aggregate; afterwards the slots may be overwritten.
  /// `before_update`: apply() follows, before a slot is overwritten. A GPU then takes a push that is alone,
  /// with weight 1, from its slot. So SGD with momentum reads and writes 20 bytes of its memory per parameter
  /// (push 4, velocity and model 8 each), instead of the 28 with a sum; with n pushes at once, 4 n + 24.
  Kernel fold(bool before_update);
  /// Bytes of pushes that fold() sums.
  Bytes summed_bytes(bool before_update) const {
    return takes_from_slot(before_update) ? Bytes(0) : selected_bytes() * accepted();
  }
  /// An update computes a mean only, and there is no model.
  bool only_averages() const { return only_averages_; }
  /// One update by the weighted mean of the aggregate, times `scale`, in a round of the job. Snapshots do not
  /// change. Pre: scale is 1 if only_averages().
  Kernel apply(double scale, std::int64_t round);

  /// The current model, or the last mean, in the device's memory. It does not change while a copy of the
  /// pointer exists. Null when math is modelled.
  Snapshot snapshot() const { return model_; }
  /// The same, to be sent to the worker.
  Snapshot hand_out(int worker);
  Slice slice(const Snapshot& snapshot, std::size_t index) const;
  /// The state of the update rules; and the contributions accepted for the next update.
  void serialise(StateArchive& state);
  void serialise_sum(StateArchive& state);
  /// The initial flat model, if part of it is never exchanged and math is real; otherwise empty.
  const std::vector<float>& initial() const { return initial_; }

 private:
  /// A piece's part of the model and of the aggregate.
  struct Stretch {
    std::span<float> trained;
    std::span<float> trained_sum;
    std::span<float> statistics;
    std::span<float> statistics_sum;
  };

  bool takes_from_slot(bool before_update) const {
    return is_on_gpu_ && before_update && total_weight_ == 0.0 && accepted_.size() == 1 &&
           accepted_.front().second == 1.0;
  }
  void keep_what_is_held();
  void load_initial(const ReplicaPlan& plan, bool averages_statistics);
  void add_up();
  void take_mean();
  void clear_aggregate();
  void update(double scale, UpdateTime time);
  std::span<const ShardPiece> selected_pieces() const {
    return std::span(pieces_).subspan(key_.first, key_.last + 1 - key_.first);
  }
  Stretch stretch_of(const ShardPiece& piece);
  std::span<const UpdateStretch> selected_stretches() const {
    return std::span(stretches_).subspan(key_.first, key_.last + 1 - key_.first);
  }
  void step_by_gradient(const FloatArray* older);
  void move_by_change(double scale);
  void give_way_to_worker(const FloatArray& handed_out);

  ComputeDevice& device_;
  bool is_on_gpu_;
  ShardPieces pieces_;
  std::vector<UpdateStretch> stretches_;  ///< by piece, in the shard's memory
  std::int64_t elements_;
  ShardKey key_;                     ///< the selected pieces, which are one stretch of the shard's memory
  std::int64_t selected_begin_ = 0;  ///< its first element
  std::int64_t selected_elements_;
  Snapshots snapshots_;  ///< of the model, or of means
  bool only_averages_;
  std::optional<PushDecoder> decoder_;
  sync::Payload payload_;
  Optimizer optimizer_;
  DelayCompensator compensator_;
  ChangeUpdate change_update_;
  std::vector<float> initial_;
  Snapshot model_;                                             ///< or the last mean
  std::optional<sync::DelayCompensation::Since> keeps_older_;  ///< which older models are kept, if any
  std::vector<Snapshot> older_;    ///< by worker: what its gradient or model is compared with
  float pull_ = 0.0F;              ///< of one worker at the centre
  int pusher_ = 0;                 ///< whose push was accepted last
  std::vector<FloatArray> slots_;  ///< by worker: its push, decompressed
  std::vector<std::pair<int, double>> accepted_;
  std::vector<Term> terms_;  ///< of the sum in progress
  FloatArray aggregate_;
  std::span<float> sum_;  ///< that an update reads, and may change: the aggregate, or the slot of a push
  bool has_aggregate_ = false;  ///< of the selected pieces; else its memory has no value
  double total_weight_ = 0.0;
};

}  // namespace tandem
