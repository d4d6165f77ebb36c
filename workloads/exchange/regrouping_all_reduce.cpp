// Exchange without a server among workers that may depart and join: each bucket's payload is summed over the
// members by the collective's schedule. An exchange that is done again starts from the payloads as they were.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/regrouping_rounds.hpp"
#include "workloads/exchange/repeated_payload.hpp"
#include "workloads/exchange/round_counts.hpp"
#include "workloads/exchange/sum_groups.hpp"
#include "workloads/exchange/weighed_bucket.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class RegroupingAllReduce final : public RegroupingRounds {
 public:
  RegroupingAllReduce(const Roster& roster, const ExchangePlan& plan, const DataPlan& data,
                      const StopRule& stop, const recovery::WorkerScaling& scaling, Context& context,
                      Replica& replica, int incarnation, std::unique_ptr<RepeatedPayload> repeated)
      : RegroupingRounds(roster, data, stop, scaling, context, replica, &repeated->messages(), incarnation),
        plan_(plan),
        counts_({.samples = roster.coordinator().has_value() || data.has_lists() || stop.has_time() ||
                            scaling.batch != BatchRule::keep || plan.may_pass_rounds(),
                 .time = stop.has_time() && !roster.coordinator()},
                workers_.size()),
        repeated_(std::move(repeated)),
        groups_(roster, plan, context, replica, repeated_->messages(), counts_.numbers()) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    offered_ = 0;
    repeated_->begin(payload_, replica_.buckets());
    if (exchange.weight) {
      Pending weighed =
          context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                           replica_.weigh(payload_, *exchange.weight));
      context_.wait(weighed);
    }
    open(exchange);
  }

  void bucket_ready(int bucket, const protocol::Push& push) override {
    own_samples_ = push.samples;
    if (weighs_samples()) {
      Pending weighed = weigh_bucket(context_, replica_, payload_, bucket, own_samples_);
      wait_progressing(weighed);
    }
    repeated_->keep(bucket);
    if (repeated_->is_compressed() && !is_quiet()) prepare_early(bucket);
    offered_ = bucket + 1;
    if (!is_quiet()) start(bucket);
    if (!coordinator_ || offered_ < replica_.buckets()) return;
    coordinator_->push(push, rounds_.version());
    reply_ = coordinator_->expect_reply();
  }

  Completion wait_progressing(Pending& until) override {
    while (true) {
      const auto done = wait_for(&until);
      if (until.empty()) return *done;
    }
  }

  Arrival join(int incarnation) override {
    if (coordinator_) coordinator_->join(incarnation);
    return RegroupingRounds::join(incarnation);
  }

  void leave() override {
    if (coordinator_) coordinator_->leave();
    if (plan_.payload() != sync::Payload::model || rounds_.is_averaged()) return;
    averages_all_ = true;
    begin({.payload = sync::Payload::model});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket) bucket_ready(bucket, {});
    const ExchangeResult mean = finish();
    if (mean.is_fetched) return;
    Pending adopted = context_.compute({.kind = Work::Kind::reduce, .bytes = replica_.description().bytes()},
                                       replica_.adopt_sum(sync::Payload::model, mean.sum_of, {}));
    context_.wait(adopted);
  }

 private:
  CoordinatorClient* coordinator() override { return coordinator_ ? &*coordinator_ : nullptr; }
  int version_of_model() const override { return rounds_.version(); }

  /// The mean gradient is that of the samples of all members.
  bool weighs_samples() const {
    return scaling_.batch != BatchRule::keep && payload_ == sync::Payload::gradient;
  }

  void give_up() override {
    groups_.abandon();
    group_ = nullptr;
  }

  void restore() override {
    for (int bucket = 0; bucket < offered_; ++bucket) repeated_->restore(bucket);
  }

  void start() override {
    ++starts_;
    stage_ = 0;
    group_ = &groups_.of(exchanging());
    repeated_->messages().exchange_among(group_->gathered, group_->self);
    if (decided_.weight) {
      total_weight_ = static_cast<float>(*decided_.weight);
      float* data = replica_.has_values() ? &total_weight_ : nullptr;
      group_->reduces->start(groups_.weight(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
    }
    for (int bucket = 0; bucket < offered_; ++bucket) start(bucket);
  }

  void start(int bucket) {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    if (repeated_->is_compressed()) {
      start_message(bucket, 0);
      const std::int64_t statistics = extent.exchanged() - extent.parameters;
      if (statistics > 0)
        group_->reduces->start(groups_.statistics(bucket),
                               replica_.payload(payload_, extent.offset + extent.parameters, statistics));
    } else {
      group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    }
    if (!counts_.is_used() || bucket + 1 < replica_.buckets()) return;
    group_->reduces->start(groups_.counts(), counts_.begin(static_cast<std::size_t>(self_), own_samples_,
                                                           stop_.is_time_up(since_begin())));
  }

  /// While other buckets are summed. If the members change meanwhile, the message is made again for them.
  void prepare_early(int bucket) {
    const int starts = starts_;
    Pending prepared = repeated_->prepare_next(bucket);
    wait_progressing(prepared);
    if (starts_ != starts || is_quiet()) repeated_->restore(bucket);
  }

  void start_message(int bucket, std::size_t stage) {
    if (repeated_->prepared(bucket) == stage) {
      Pending prepared = repeated_->prepare_next(bucket);
      context_.wait(prepared);
    }
    const int vector = groups_.message(bucket, stage);
    const Bytes size = group_->sizes[static_cast<std::size_t>(vector)];
    group_->reduces->start(vector, repeated_->messages().message(bucket, stage, size));
  }

  /// False: no bucket has another one. Pre: the sums of the last one are done.
  bool start_next_stage() {
    bool has_started = false;
    ++stage_;
    for (int bucket = 0; bucket < replica_.buckets() && repeated_->is_compressed(); ++bucket) {
      if (stage_ >= repeated_->messages().stages(bucket)) continue;
      start_message(bucket, stage_);
      has_started = true;
    }
    return has_started;
  }

  bool is_running() const { return group_ != nullptr && group_->reduces->running(); }

  bool progress() override {
    if (is_running())
      wait_for(nullptr);
    else if (start_next_stage())
      return true;
    else if (!reply_.empty())
      wait_for(&reply_);
    else
      return false;
    return true;
  }

  /// Waits for one of: `until` if it is not null; a note of the steward; an answer of the coordinator.
  /// Without `until` also for the end of the all-reduces, about which nothing is returned.
  std::optional<Completion> wait_for(Pending* until) {
    enum : std::size_t { asked, note, answer };
    regrouping_.take_up_change();
    std::array<Pending, 3> awaited;
    Pending* const next_answer = coordinator_ ? coordinator_->next_answer() : nullptr;
    if (until != nullptr) awaited[asked] = std::move(*until);
    awaited[note] = std::move(regrouping_.next());
    if (next_answer != nullptr) awaited[answer] = std::move(*next_answer);
    std::optional<Completion> done;
    if (!is_running())
      done = context_.wait_any(awaited);
    else if (until == nullptr)
      done = group_->reduces->finish_or_wait(awaited);
    else
      done = group_->reduces->wait_progressing(awaited);
    if (until != nullptr) *until = std::move(awaited[asked]);
    regrouping_.next() = std::move(awaited[note]);
    if (next_answer != nullptr) *next_answer = std::move(awaited[answer]);
    if (!done) return done;
    if (done->index == note) regrouping_.on_message(done->note);
    if (done->index == answer) coordinator_->take_answer(done->note);
    if (done->index == asked && until == &reply_) last_reply_ = coordinator_->take_reply(done->note);
    return done;
  }

  ExchangeResult complete() override {
    for (int bucket = 0; bucket < replica_.buckets() && repeated_->is_compressed(); ++bucket) {
      Pending summed = repeated_->messages().finish(payload_, bucket, group_->size());
      context_.wait(summed);
    }
    if (averages_all_)
      rounds_.note_averaged();
    else
      count();
    replica_.set_rate_factor(scaling_.rate_factor_of(static_cast<int>(regrouping_.members().size())));
    ExchangeResult result = state_of_job();
    if (coordinator_) {
      result.local_steps = last_reply_.local_steps;
      result.commit_round = last_reply_.commit_round;
    }
    result.sum_of = sum_of_weights();
    groups_.add_traffic(*group_, decided_.weight.has_value(), counts_.is_used(), result);
    return result;
  }

  /// 0 where all members have passed the round, as those who were drawn have departed: nothing is adopted
  /// then.
  double sum_of_weights() const {
    if (weighs_samples()) return static_cast<double>(counts_.all_samples());
    if (!decided_.weight) return group_->size();
    if (replica_.has_values()) return static_cast<double>(total_weight_);
    return plan_.may_pass_rounds() && counts_.all_samples() == 0 ? 0 : group_->size();
  }

  /// Workers that a coordinator leads take different numbers of steps, those that are present may share the
  /// batches of all, and the last batch of a common list may be smaller.
  void count() {
    if (!counts_.counts_samples())
      return count_round(std::vector<std::int64_t>(workers_.size(), own_samples_), rounds_.version() + 1, {});
    if (coordinator_) return count_round(counts_.samples(), last_reply_.version, last_reply_.stops);
    count_round(counts_.samples(), rounds_.version() + 1,
                counts_.is_time_up() ? std::optional(true) : std::nullopt);
  }

  /// The push of the exchange that was replaced was complete. The coordinator may be a round ahead of the
  /// members, and of the state that this worker has now.
  void finish_fetched() override {
    repeated_->end_without();
    while (!reply_.empty()) wait_for(&reply_);
    if (coordinator_) coordinator_->begin_round(rounds_.version());
  }

  const ExchangePlan& plan_;
  RoundCounts counts_;
  std::unique_ptr<RepeatedPayload> repeated_;
  SumGroups groups_;
  SumGroup* group_ = nullptr;  ///< of the exchange in progress
  sync::Payload payload_ = sync::Payload::gradient;
  int offered_ = 0;            ///< buckets of it that are complete
  int starts_ = 0;             ///< of exchanges, also of those that were done again
  std::size_t stage_ = 0;      ///< of messages, that the exchange has reached
  float total_weight_ = 0.0F;  ///< the sum of all members' weights, when it is done
  std::optional<CoordinatorClient> coordinator_;
  Pending reply_;  ///< of the coordinator to this worker's push
  protocol::Reply last_reply_;
  int own_samples_ = 0;  ///< of this worker's payload
};

}  // namespace

std::unique_ptr<Exchange> make_regrouping_all_reduce(const Roster& roster, const ExchangePlan& plan,
                                                     const DataPlan& data, const StopRule& stop,
                                                     const recovery::WorkerScaling& scaling, Context& context,
                                                     Replica& replica, int incarnation) {
  auto repeated =
      std::make_unique<RepeatedPayload>(plan, context, replica, roster.assignment(context.rank()).index);
  return std::make_unique<RegroupingAllReduce>(roster, plan, data, stop, scaling, context, replica,
                                               incarnation, std::move(repeated));
}

}  // namespace tandem
