// Exchange without a server: each bucket's payload is summed over the workers by the collective's schedule,
// by a library's all-reduce, or in compressed form.
#include <optional>

#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/round_counts.hpp"
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
        reports_progress_(context.rank() == roster.first_worker()),
        counts_({.samples = sums_samples && !roster.coordinator(),
                 .time = stop.has_time() && !roster.coordinator()},
                1),
        defers_buckets_(plan.overlaps_forward()),
        compressed_(plan, context, replica, roster.assignment(context.rank()).index, false),
        groups_(roster, plan, context, replica, compressed_, counts_.numbers()) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
  }

  void share_buffers() override {
    if (!groups_.has_buffers()) return;
    AllReduces& reduces = *groups_.of_all().reduces;
    reduces.start(groups_.buffers(), {groups_.of_all().sizes[static_cast<std::size_t>(groups_.buffers())]});
    reduces.finish(groups_.buffers());
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
    if (counts_.is_used())
      group_->reduces->start(groups_.counts(),
                             counts_.begin(0, own_samples_, stop_.is_time_up(since_begin())));
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
    groups_.add_traffic(*group_, weight_.has_value(), counts_.is_used(), result);
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
    if (!state.restores() || counts_.counts_time()) {
      double elapsed = since_begin().count();
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
  bool weighs_samples() const { return counts_.counts_samples() && payload_ == sync::Payload::gradient; }
  double sum_of_weights() const {
    if (weighs_samples()) return static_cast<double>(counts_.all_samples());
    return weight_ && replica_.has_values() ? static_cast<double>(total_weight_) : group_->size();
  }
  /// Since the job began, also where it was resumed.
  Seconds since_begin() const { return before_ + context_.now(); }

  /// Every worker computes the same counts, so all stop after the same round.
  ExchangeResult counted_by_itself() {
    ++version_;
    if (counts_.is_used()) group_->reduces->finish(groups_.counts());
    samples_ +=
        counts_.counts_samples() ? counts_.all_samples() : own_samples_ * std::ssize(plan_.all_workers());
    const Progress counted{.rounds = version_, .samples = samples_, .now = Seconds(0.0)};
    if (reports_progress_) stop_.report({.rounds = version_, .samples = samples_, .now = since_begin()});
    return {.version = version_,
            .stop = stop_.is_reached(counted) || counts_.is_time_up(),
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
  bool reports_progress_;
  RoundCounts counts_;   ///< without a coordinator
  bool defers_buckets_;  ///< `finish` leaves them to `await`
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
