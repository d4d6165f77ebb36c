// Exchange without a server: each bucket's payload is summed over the workers by the collective's schedule,
// by a library's all-reduce, or in compressed form.
#include <array>
#include <optional>

#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/sum_groups.hpp"
#include "workloads/exchange/weighed_bucket.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class AllReduceExchange : public Exchange {
 public:
  AllReduceExchange(const Roster& roster, const ExchangePlan& plan, const StopRule& stop, bool sums_samples,
                    Context& context, Replica& replica)
      : plan_(plan),
        stop_(stop),
        context_(context),
        replica_(replica),
        sums_samples_(sums_samples),
        reports_progress_(context.rank() == roster.first_worker()),
        counts_time_(stop.has_time() && !roster.coordinator()),
        defers_buckets_(plan.overlaps_forward()),
        compressed_(plan, context, replica, roster.assignment(context.rank()).index, false),
        groups_(roster, plan, context, replica, compressed_, std::ssize(counts_)) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    weight_ = exchange.weight;
    group_ = exchange.members.empty() ? &groups_.of_all() : &groups_.of(exchange.members);
    compressed_.exchange_among(group_->gathered, group_->self);
    if (!weight_) return;
    Pending weighed = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                       replica_.weigh(payload_, *weight_));
    context_.wait(weighed);
    total_weight_ = static_cast<float>(*weight_);
    float* data = replica_.has_values() ? &total_weight_ : nullptr;
    group_->reduces->start(groups_.weight(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
  }

  void bucket_ready(int bucket, const protocol::Push& push) override {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    if (weighs_samples()) {
      Pending weighed = weigh_bucket(context_, replica_, payload_, bucket, push.samples);
      wait_progressing(weighed);
    }
    if (compressed_.is_used())
      offer_compressed(bucket, extent);
    else
      group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    if (bucket + 1 < replica_.buckets()) return;
    if (coordinator_) return coordinator_->push(push, version_);
    own_samples_ = push.samples;
    if (sums_counts()) start_counts();
  }

  Completion wait_progressing(Pending& until) override {
    if (group_ != nullptr && group_->reduces->running()) return group_->reduces->wait_progressing(until);
    return coordinator_ ? coordinator_->wait_progressing(until) : context_.wait(until);
  }

  ExchangeResult finish() override {
    if (compressed_.is_used()) start_second_stages();
    if (!defers_buckets_) finish_buckets();
    ExchangeResult result = coordinator_ ? counted_by_coordinator() : counted_by_itself();
    result.sum_of = sum_of_weights();
    groups_.add_traffic(*group_, weight_.has_value(), sums_counts(), result);
    return result;
  }

  void await(int bucket) override {
    if (!compressed_.is_used()) return group_->reduces->finish(bucket);
    finish_compressed(bucket);
    group_->reduces->finish(groups_.statistics(bucket));
  }

  void serialise(StateArchive& state) override {
    state.number("exchange.version", version_);
    if (state.restores()) state.number("samples", samples_);  // as the worker knows them
    if (!state.restores() || counts_time_) {
      double elapsed = now().count();
      state.number("elapsed_s", elapsed);
      if (state.restores()) before_ = Seconds(elapsed);
    }
    compressed_.serialise(state);
    if (coordinator_ && state.restores()) coordinator_->begin_round(version_);
  }

  void leave() override {
    if (coordinator_) coordinator_->leave();
    if (plan_.payload() == sync::Payload::model) average_all();
  }

 private:
  CoordinatorClient* coordinator() override { return coordinator_ ? &*coordinator_ : nullptr; }
  int version_of_model() const override { return version_; }

  /// The mean gradient is that of the samples of all workers.
  bool weighs_samples() const { return sums_samples_ && payload_ == sync::Payload::gradient; }
  double sum_of_weights() const {
    if (weighs_samples()) return counts_[0];
    return weight_ && replica_.has_values() ? static_cast<double>(total_weight_) : group_->size();
  }
  /// Since the job began, also where it was resumed.
  Seconds now() const { return before_ + context_.now(); }

  /// The time of the job is up when it is for one worker: all learn of it in the same round.
  bool sums_counts() const { return counts_time_ || sums_samples_; }
  void start_counts() {
    counts_ = {static_cast<float>(own_samples_), counts_time_ && stop_.is_time_up(now()) ? 1.0F : 0.0F};
    group_->reduces->start(groups_.counts(),
                           {Bytes(sizeof counts_), reinterpret_cast<std::byte*>(counts_.data())});
  }

  /// Every worker computes the same counts, so all stop after the same round.
  ExchangeResult counted_by_itself() {
    ++version_;
    if (sums_counts()) group_->reduces->finish(groups_.counts());
    samples_ += sums_samples_ ? static_cast<std::int64_t>(counts_[0])
                              : static_cast<std::int64_t>(own_samples_) * std::ssize(plan_.all_workers());
    const Progress counted{.rounds = version_, .samples = samples_, .now = Seconds(0.0)};
    if (reports_progress_) stop_.report({.rounds = version_, .samples = samples_, .now = now()});
    return {.version = version_,
            .stop = stop_.is_reached(counted) || (counts_time_ && counts_[1] > 0.0F),
            .rounds = version_,
            .samples = samples_};
  }

  ExchangeResult counted_by_coordinator() {
    const protocol::Reply reply = coordinator_->reply();
    version_ = reply.version;
    return {.version = reply.version,
            .local_steps = reply.local_steps,
            .stop = reply.stops,
            .rounds = reply.version,
            .samples = reply.all_samples,
            .commit_round = reply.commit_round};
  }

  void offer_compressed(int bucket, const BucketDescription& extent) {
    start_stage(bucket, 0);
    const std::int64_t statistics = extent.exchanged() - extent.parameters;
    if (statistics > 0)
      group_->reduces->start(groups_.statistics(bucket),
                             replica_.payload(payload_, extent.offset + extent.parameters, statistics));
  }

  /// Pre: the all-reduce of the previous stage is done.
  void start_stage(int bucket, std::size_t stage) {
    Pending prepared = compressed_.prepare(payload_, bucket, stage);
    wait_progressing(prepared);
    const int vector = groups_.message(bucket, stage);
    group_->reduces->start(
        vector, compressed_.message(bucket, stage, group_->sizes[static_cast<std::size_t>(vector)]));
  }

  /// While other buckets are still in flight.
  void start_second_stages() {
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket)
      for (std::size_t stage = 1; stage < compressed_.stages(bucket); ++stage) {
        group_->reduces->finish(groups_.message(bucket, stage - 1));
        start_stage(bucket, stage);
      }
  }

  void finish_compressed(int bucket) {
    group_->reduces->finish(groups_.message(bucket, compressed_.stages(bucket) - 1));
    Pending summed = compressed_.finish(payload_, bucket, group_->size());
    wait_progressing(summed);
  }

  void finish_buckets() {
    for (int bucket = 0; bucket < replica_.buckets() && compressed_.is_used(); ++bucket)
      finish_compressed(bucket);
    group_->reduces->finish();
  }

  void average_all() {
    begin({.payload = sync::Payload::model});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket, {});
    group_->reduces->finish();
    Pending mean = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                    replica_.adopt_sum(sync::Payload::model, group_->size(), {}));
    context_.wait(mean);
  }

  const ExchangePlan& plan_;
  const StopRule& stop_;
  Context& context_;
  Replica& replica_;
  bool sums_samples_;  ///< those of a worker are not those of the others
  bool reports_progress_;
  bool counts_time_;               ///< workers agree whether the time of the job is up
  bool defers_buckets_;            ///< `finish` leaves them to `await`
  std::array<float, 2> counts_{};  ///< samples, and workers whose time is up: of all, when they are summed
  CompressedPayload compressed_;
  SumGroups groups_;
  SumGroup* group_ = nullptr;
  std::optional<CoordinatorClient> coordinator_;
  sync::Payload payload_ = sync::Payload::gradient;
  std::optional<double> weight_;  ///< of this worker's payload in the current exchange
  float total_weight_ = 0.0F;     ///< the sum of all members' weights, when it is done
  int own_samples_ = 0;           ///< of this worker's payload
  int version_ = 0;
  std::int64_t samples_ = 0;  ///< of all workers
  Seconds before_{};          ///< how long the job had run before it was resumed
};

}  // namespace

std::unique_ptr<Exchange> make_all_reduce_exchange(const Roster& roster, const ExchangePlan& plan,
                                                   const StopRule& stop, bool sums_samples, Context& context,
                                                   Replica& replica) {
  return std::make_unique<AllReduceExchange>(roster, plan, stop, sums_samples, context, replica);
}

}  // namespace tandem
