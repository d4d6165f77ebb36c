// Exchange without a server among workers that may depart and join: each bucket's payload is summed over the
// members by the collective's schedule. An exchange that is done again starts from the payloads as they were.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/payload_copy.hpp"
#include "workloads/exchange/regrouping_rounds.hpp"
#include "workloads/exchange/sum_groups.hpp"
#include "workloads/exchange/weighed_bucket.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class RegroupingAllReduce final : public RegroupingRounds {
 public:
  /// `compressed`: its exchanges may be done again.
  RegroupingAllReduce(const Roster& roster, const ExchangePlan& plan, const DataPlan& data,
                      const StopRule& stop, const WorkerScaling& scaling, Context& context, Replica& replica,
                      int incarnation, std::unique_ptr<CompressedPayload> compressed)
      : RegroupingRounds(roster, data, stop, context, replica, incarnation, compressed->common_size()),
        all_workers_(static_cast<int>(roster.first_workers().size())),
        batch_(data.batch()),
        plan_(plan),
        scaling_(scaling),
        counts_time_(stop.has_time() && !roster.coordinator()),
        sums_samples_(roster.coordinator().has_value() || data.has_lists() || counts_time_ ||
                      scaling.batch != BatchRule::keep),
        compressed_(std::move(compressed)),
        groups_(roster, plan, context, replica, *compressed_, std::ssize(workers_) + (counts_time_ ? 1 : 0)),
        kept_(replica),
        samples_(workers_.size(), 0) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    offered_ = 0;
    prepared_.assign(replica_.description().buckets.size(), 0);
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
    kept_.keep(payload_, bucket);
    if (compressed_->is_used() && !is_quiet()) prepare_early(bucket);
    offered_ = bucket + 1;
    if (!is_quiet()) start(bucket);
    if (!coordinator_ || offered_ < replica_.buckets()) return;
    coordinator_->push(push, version_);
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
    if (plan_.payload() != sync::Payload::model || is_averaged()) return;
    begin_average();
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
  int version_of_model() const override { return version_; }

  /// The mean gradient is that of the samples of all members.
  bool weighs_samples() const {
    return scaling_.batch != BatchRule::keep && payload_ == sync::Payload::gradient;
  }

  void give_up() override {
    groups_.abandon();
    group_ = nullptr;
  }

  void restore() override {
    for (int bucket = 0; bucket < offered_; ++bucket) restore(bucket);
  }
  void restore(int bucket) {
    if (std::exchange(prepared_[static_cast<std::size_t>(bucket)], 0) > 0) compressed_->take_back(bucket);
    kept_.restore(payload_, bucket);
  }

  void start() override {
    ++starts_;
    stage_ = 0;
    group_ = &groups_.of(exchanging());
    compressed_->exchange_among(group_->gathered, group_->self);
    if (decided_.weight) {
      total_weight_ = static_cast<float>(*decided_.weight);
      float* data = replica_.has_values() ? &total_weight_ : nullptr;
      group_->reduces->start(groups_.weight(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
    }
    for (int bucket = 0; bucket < offered_; ++bucket) start(bucket);
  }

  void start(int bucket) {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    if (compressed_->is_used()) {
      start_message(bucket, 0);
      const std::int64_t statistics = extent.exchanged() - extent.parameters;
      if (statistics > 0)
        group_->reduces->start(groups_.statistics(bucket),
                               replica_.payload(payload_, extent.offset + extent.parameters, statistics));
    } else {
      group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    }
    if (sums_samples_ && bucket + 1 == replica_.buckets()) start_counts();
  }

  /// While other buckets are summed. If the members change meanwhile, the message is made again for them.
  void prepare_early(int bucket) {
    const int starts = starts_;
    Pending prepared = compressed_->prepare(payload_, bucket, 0);
    wait_progressing(prepared);
    prepared_[static_cast<std::size_t>(bucket)] = 1;
    if (starts_ != starts || is_quiet()) restore(bucket);
  }

  void start_message(int bucket, std::size_t stage) {
    std::size_t& prepared = prepared_[static_cast<std::size_t>(bucket)];
    if (prepared == stage) {
      Pending work = compressed_->prepare(payload_, bucket, stage);
      context_.wait(work);
      ++prepared;
    }
    const int vector = groups_.message(bucket, stage);
    group_->reduces->start(
        vector, compressed_->message(bucket, stage, group_->sizes[static_cast<std::size_t>(vector)]));
  }

  /// False: no bucket has another one. Pre: the sums of the last one are done.
  bool start_next_stage() {
    bool has_started = false;
    ++stage_;
    for (int bucket = 0; bucket < replica_.buckets() && compressed_->is_used(); ++bucket) {
      if (stage_ >= compressed_->stages(bucket)) continue;
      start_message(bucket, stage_);
      has_started = true;
    }
    return has_started;
  }

  /// Workers that a coordinator leads take different numbers of steps, those that are present share the
  /// batches of all, and the last batch of a common list may be smaller. The time of the job is up when it is
  /// for one member.
  void start_counts() {
    sums_.assign(workers_.size() + (counts_time_ ? 1 : 0), 0.0F);
    sums_[static_cast<std::size_t>(self_)] = static_cast<float>(own_samples_);
    if (counts_time_ && stop_.is_time_up(since_begin())) sums_.back() = 1.0F;
    group_->reduces->start(groups_.counts(),
                           {Bytes(std::ssize(sums_) * 4), reinterpret_cast<std::byte*>(sums_.data())});
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
    if (done->index == note) regrouping_.hear(done->note);
    if (done->index == answer) coordinator_->take_answer(done->note);
    if (done->index == asked && until == &reply_) last_reply_ = coordinator_->take_reply(done->note);
    return done;
  }

  ExchangeResult complete() override {
    for (int bucket = 0; bucket < replica_.buckets() && compressed_->is_used(); ++bucket) {
      Pending summed = compressed_->finish(payload_, bucket, group_->size());
      context_.wait(summed);
    }
    if (averages_all())
      note_averaged();
    else
      count();
    replica_.set_rate_factor(
        recovery::rate_factor(scaling_.rate, all_workers_, static_cast<int>(regrouping_.members().size())));
    ExchangeResult result = state_of_job();
    if (coordinator_) {
      result.local_steps = last_reply_.local_steps;
      result.commit_round = last_reply_.commit_round;
    }
    result.sum_of = sum_of_weights();
    groups_.add_traffic(*group_, decided_.weight.has_value(), sums_samples_, result);
    return result;
  }

  double sum_of_weights() const {
    if (weighs_samples() && !averages_all())
      return static_cast<double>(std::accumulate(samples_.begin(), samples_.end(), std::int64_t{0}));
    return decided_.weight && replica_.has_values() ? static_cast<double>(total_weight_) : group_->size();
  }

  void count() {
    if (!sums_samples_) {
      samples_.assign(workers_.size(), own_samples_);
      return count_round(samples_, version_ + 1, {});
    }
    std::ranges::transform(std::span(sums_).first(samples_.size()), samples_.begin(),
                           [](float sum) { return static_cast<std::int64_t>(sum); });
    if (coordinator_) return count_round(samples_, last_reply_.version, last_reply_.stops);
    const bool is_time_up = counts_time_ && sums_.back() > 0.0F;
    count_round(samples_, version_ + 1, is_time_up ? std::optional(true) : std::nullopt);
  }

  int next_batch() const override {
    if (scaling_.batch == BatchRule::keep) return 0;
    const auto members = regrouping_.members();
    const auto shares =
        recovery::batches(scaling_.batch, batch_, all_workers_, static_cast<int>(members.size()));
    const auto place = static_cast<std::size_t>(std::ranges::find(members, self_) - members.begin());
    return static_cast<int>(std::max<std::int64_t>(1, shares.at(place)));
  }

  void serialise_more(StateArchive& state) override { compressed_->serialise(state); }
  void serialise_more_common(StateArchive& state) override { compressed_->serialise_common(state); }

  /// The push of the exchange that was replaced was complete. The coordinator may be a round ahead of the
  /// members, and of the state that this worker has now.
  void finish_fetched() override {
    for (int bucket = 0; bucket < offered_ && compressed_->is_used(); ++bucket) {
      std::size_t& prepared = prepared_[static_cast<std::size_t>(bucket)];
      // The others have not summed it.
      if (prepared > 0 && prepared < compressed_->stages(bucket)) compressed_->take_back(bucket);
      prepared = 0;
    }
    while (!reply_.empty()) wait_for(&reply_);
    if (coordinator_) coordinator_->begin_round(version_);
  }

  int all_workers_;  ///< that the job has, without slots for spares
  int batch_;        ///< of each of those
  const ExchangePlan& plan_;
  WorkerScaling scaling_;
  bool counts_time_;   ///< members agree whether the time of the job is up
  bool sums_samples_;  ///< each worker's are not those of the others
  std::unique_ptr<CompressedPayload> compressed_;
  SumGroups groups_;
  SumGroup* group_ = nullptr;  ///< of the exchange in progress
  sync::Payload payload_ = sync::Payload::gradient;
  PayloadCopy kept_;                   ///< of the exchange in progress
  int offered_ = 0;                    ///< buckets of it that are complete
  int starts_ = 0;                     ///< of exchanges, also of those that were done again
  std::size_t stage_ = 0;              ///< of messages, that the exchange has reached
  std::vector<std::size_t> prepared_;  ///< stages, by bucket, of the exchange in progress
  float total_weight_ = 0.0F;          ///< the sum of all members' weights, when it is done
  std::optional<CoordinatorClient> coordinator_;
  Pending reply_;  ///< of the coordinator to this worker's push
  protocol::Reply last_reply_;
  int own_samples_ = 0;  ///< of this worker's payload
  /// By slot: samples of the payload; of all members when they are summed. Then, whose time is up.
  std::vector<float> sums_;
  std::vector<std::int64_t> samples_;  ///< the same samples as whole numbers
};

}  // namespace

std::unique_ptr<Exchange> make_regrouping_all_reduce(const Roster& roster, const ExchangePlan& plan,
                                                     const DataPlan& data, const StopRule& stop,
                                                     const WorkerScaling& scaling, Context& context,
                                                     Replica& replica, int incarnation) {
  auto compressed = std::make_unique<CompressedPayload>(plan, context, replica,
                                                        roster.assignment(context.rank()).index, true);
  return std::make_unique<RegroupingAllReduce>(roster, plan, data, stop, scaling, context, replica,
                                               incarnation, std::move(compressed));
}

}  // namespace tandem
