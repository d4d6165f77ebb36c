// The part of the model that one parameter server holds. It updates the model by the optimiser with the sum
// of pushes, and provides snapshots. If workers update their own models, it provides only the mean of the
// pushes. With modelled mathematics it holds nothing and its kernels are empty.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/compressed_reply.hpp"
#include "workloads/exchange/push_sum.hpp"
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
  /// `shard`: the number of the server. `is_on_gpu`: see PushSum.
  ServerModel(const ReplicaPlan& plan, const ExchangePlan& exchange, ComputeDevice& device, int shard,
              bool is_on_gpu);

  const ShardPieces& pieces() const { return pieces_; }
  Bytes bytes() const { return Bytes(elements_ * 4); }
  /// The pushes of workers for the next update.
  PushSum& pushes() { return pushes_; }
  /// An update computes a mean only, and there is no model.
  bool only_averages() const { return only_averages_; }
  /// One update of the selected pieces by the weighted mean of the pushes, times `scale`, in a round of the
  /// job. Snapshots do not change. Pre: scale is 1 if only_averages().
  Kernel apply(double scale, std::int64_t round);

  /// The current model, or the last mean, in the device's memory. It does not change while a copy of the
  /// pointer exists. Null when math is modelled.
  Snapshot snapshot() const { return model_; }
  /// Compresses the current model, or the last mean, for the worker; none: that was done, or its reply is
  /// not compressed. `version`: of the model.
  std::optional<Kernel> compress_reply(int worker, std::int64_t version);
  /// Bytes of the values that it compresses.
  Bytes compressed_values() const { return replies_ ? replies_->values() : Bytes(0); }
  /// The model or mean for the worker. Pre: compress_reply() returns none.
  HandedOut hand_out(int worker, std::int64_t version);
  Slice slice(const HandedOut& reply, std::size_t index) const;
  /// Size of the piece of this index in a reply.
  Bytes reply_size(std::size_t index) const {
    return replies_ ? replies_->size(index) : pieces_[index].bytes();
  }
  /// The state of the update rules.
  void serialise(StateArchive& state);
  /// The initial flat model, if part of it is never exchanged and math is real; otherwise empty.
  const std::vector<float>& initial() const { return initial_; }

 private:
  /// A piece's part of the model and of the sum.
  struct Stretch {
    std::span<float> trained;
    std::span<float> trained_sum;
    std::span<float> statistics;
    std::span<float> statistics_sum;
  };

  void keep_what_is_held();
  void load_initial(const ReplicaPlan& plan, bool averages_statistics);
  void take_mean();
  void update(double scale, UpdateTime time);
  /// The pieces of the selected key among these elements.
  template <class Element>
  std::span<const Element> selected(const std::vector<Element>& by_piece) const {
    const ShardKey& key = pushes_.key();
    return std::span(by_piece).subspan(key.first, key.last + 1 - key.first);
  }
  Stretch stretch_of(const ShardPiece& piece);
  void step_by_gradient(const FloatArray* older);
  void move_by_change(double scale);
  void give_way_to_worker(const FloatArray& handed_out);

  ComputeDevice& device_;
  ShardPieces pieces_;
  std::vector<UpdateStretch> stretches_;  ///< by piece, in the shard's memory
  std::int64_t elements_;
  PushSum pushes_;
  Snapshots snapshots_;  ///< of the model, or of means
  bool only_averages_;
  sync::Payload payload_;
  Optimizer optimizer_;
  DelayCompensator compensator_;
  ChangeUpdate change_update_;
  std::vector<float> initial_;
  Snapshot model_;                                             ///< or the last mean
  std::optional<sync::DelayCompensation::Since> keeps_older_;  ///< which older models are kept, if any
  std::vector<Snapshot> older_;  ///< by worker: what its gradient or model is compared with
  std::optional<ReplyCompressor> replies_;
  float pull_ = 0.0F;  ///< of one worker on the centre
};

}  // namespace tandem
