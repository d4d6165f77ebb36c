// Exchange without a server among workers that may depart and join: each bucket's payload is summed over the
// members by the collective's schedule. An exchange that is done again starts from the payloads as they were.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/coordinator_client.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/payload_copy.hpp"
#include "workloads/exchange/regrouping_rounds.hpp"
#include "workloads/exchange/schedule_runner.hpp"
#include "workloads/protocol.hpp"

namespace tandem {
namespace {

class RegroupingAllReduce final : public RegroupingRounds {
 public:
  RegroupingAllReduce(const Roster& roster, const ExchangePlan& plan, const DataPlan& data,
                      const StopRule& stop, RateScale rate_scale, Context& context, Replica& replica,
                      int incarnation)
      : RegroupingRounds(roster, data, stop, context, replica, incarnation),
        all_workers_(static_cast<int>(roster.first_workers().size())),
        plan_(plan),
        rate_scale_(rate_scale),
        sums_samples_(roster.coordinator().has_value() || data.has_lists()),
        kept_(replica),
        samples_(workers_.size(), 0) {
    if (const auto coordinator = roster.coordinator()) coordinator_.emplace(context, *coordinator);
  }

  void begin(const sync::Exchange& exchange) override {
    payload_ = exchange.payload;
    offered_ = 0;
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
    kept_.keep(payload_, bucket);
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
  int version_of_model() const override { return rounds_.version(); }

  /// The all-reduces among one set of members, kept for their buffers. One for each bucket, then one of the
  /// weights, and one of each slot's samples.
  struct Group {
    std::vector<Rank> ranks;
    std::optional<AllReduces> reduces;
    int size() const { return static_cast<int>(ranks.size()); }
  };
  int weight_vector() const { return replica_.buckets(); }
  int samples_vector() const { return replica_.buckets() + 1; }

  void give_up() override {
    for (auto& [members, group] : groups_) group->reduces->abandon();
    groups_.clear();
    group_ = nullptr;
  }

  void restore() override {
    for (int bucket = 0; bucket < offered_; ++bucket) kept_.restore(payload_, bucket);
  }

  void start() override {
    group_ = &group_of(exchanging());
    if (decided_.weight) {
      total_weight_ = static_cast<float>(*decided_.weight);
      float* data = replica_.has_values() ? &total_weight_ : nullptr;
      group_->reduces->start(weight_vector(), {Bytes(4), reinterpret_cast<std::byte*>(data)});
    }
    for (int bucket = 0; bucket < offered_; ++bucket) start(bucket);
  }

  void start(int bucket) {
    const BucketDescription& extent = replica_.description().buckets[static_cast<std::size_t>(bucket)];
    group_->reduces->start(bucket, replica_.payload(payload_, extent.offset, extent.exchanged()));
    if (sums_samples_ && bucket + 1 == replica_.buckets()) sum_samples();
  }

  /// Workers that a coordinator leads take different numbers of steps, and the last batch of a common list
  /// may be smaller.
  void sum_samples() {
    sums_.assign(workers_.size(), 0.0F);
    sums_[static_cast<std::size_t>(self_)] = static_cast<float>(own_samples_);
    group_->reduces->start(samples_vector(),
                           {Bytes(std::ssize(sums_) * 4), reinterpret_cast<std::byte*>(sums_.data())});
  }

  bool is_running() const { return group_ != nullptr && group_->reduces->running(); }

  bool progress() override {
    if (is_running())
      wait_for(nullptr);
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
    if (averages_all())
      rounds_.note_averaged();
    else
      count();
    replica_.set_rate_factor(
        recovery::rate_factor(rate_scale_, all_workers_, static_cast<int>(regrouping_.members().size())));
    ExchangeResult result = rounds_.state_of_job();
    if (coordinator_) {
      result.local_steps = last_reply_.local_steps;
      result.commit_round = last_reply_.commit_round;
    }
    result.sum_of =
        decided_.weight && replica_.has_values() ? static_cast<double>(total_weight_) : group_->size();
    for (int vector = 0; vector <= samples_vector(); ++vector) {
      if (vector == weight_vector() && !decided_.weight) continue;
      if (vector == samples_vector() && !sums_samples_) continue;
      result.bytes_sent += group_->reduces->traffic(vector).sent.count();
      result.bytes_received += group_->reduces->traffic(vector).received.count();
    }
    return result;
  }

  void count() {
    if (!sums_samples_) {
      samples_.assign(workers_.size(), own_samples_);
      return count_round(samples_, rounds_.version() + 1, {});
    }
    std::ranges::transform(sums_, samples_.begin(), [](float sum) { return static_cast<std::int64_t>(sum); });
    if (!coordinator_) return count_round(samples_, rounds_.version() + 1, {});
    count_round(samples_, last_reply_.version, last_reply_.stops);
  }

  /// The push of the exchange that was replaced was complete. The coordinator may be a round ahead of the
  /// members, and of the state that this worker has now.
  void finish_fetched() override {
    while (!reply_.empty()) wait_for(&reply_);
    if (coordinator_) coordinator_->begin_round(rounds_.version());
  }

  /// `members`: sorted worker indices.
  Group& group_of(std::span<const int> members) {
    const std::vector<int> key(members.begin(), members.end());
    if (!groups_.contains(key) && groups_.size() == most_groups) groups_.clear();
    auto& group = groups_[key];
    if (group) return *group;
    group = std::make_unique<Group>();
    for (const int member : members) group->ranks.push_back(workers_[static_cast<std::size_t>(member)]);
    const auto self = static_cast<int>(std::ranges::find(members, self_) - members.begin());
    const AllReduceGroup plans(*plan_.all_reduce(), members);
    const auto& buckets = replica_.description().buckets;
    AllReduces::Schedules schedules;
    std::vector<Bytes> sizes;
    const auto add = [&](std::size_t bucket, std::int64_t elements) {
      schedules.push_back(plans.schedule(bucket, self, elements));
      sizes.emplace_back(elements * collectives::float_element.bytes);
    };
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) add(bucket, buckets[bucket].exchanged());
    add(buckets.size() - 1, 1);
    add(buckets.size() - 1, std::ssize(workers_));
    group->reduces.emplace(context_, std::move(schedules), std::span<const Rank>(group->ranks), sizes,
                           protocol::channel<"reduces">(0), std::span<const collectives::Element>(),
                           arrivals_);
    return *group;
  }

  /// Each group keeps its schedules, and random groups rarely recur.
  static constexpr std::size_t most_groups = 4;

  int all_workers_;  ///< that the job has, without slots for spares
  const ExchangePlan& plan_;
  RateScale rate_scale_;
  /// Of all groups: one exchange is in progress at a time.
  std::shared_ptr<ArrivalMemory> arrivals_ = std::make_shared<ArrivalMemory>();
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  Group* group_ = nullptr;  ///< of the exchange in progress
  sync::Payload payload_ = sync::Payload::gradient;
  bool sums_samples_;          ///< each worker's are not those of the others
  PayloadCopy kept_;           ///< of the exchange in progress
  int offered_ = 0;            ///< buckets of it that are complete
  float total_weight_ = 0.0F;  ///< the sum of all members' weights, when it is done
  std::optional<CoordinatorClient> coordinator_;
  Pending reply_;  ///< of the coordinator to this worker's push
  protocol::Reply last_reply_;
  int own_samples_ = 0;      ///< of this worker's payload
  std::vector<float> sums_;  ///< by slot: samples of the payload; of all members when they are summed
  std::vector<std::int64_t> samples_;  ///< the same as whole numbers
};

}  // namespace

std::unique_ptr<Exchange> make_regrouping_all_reduce(const Roster& roster, const ExchangePlan& plan,
                                                     const DataPlan& data, const StopRule& stop,
                                                     RateScale rate_scale, Context& context, Replica& replica,
                                                     int incarnation) {
  return std::make_unique<RegroupingAllReduce>(roster, plan, data, stop, rate_scale, context, replica,
                                               incarnation);
}

}  // namespace tandem
