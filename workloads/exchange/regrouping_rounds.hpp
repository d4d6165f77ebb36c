// What exchanges in rounds among workers that may depart and join have in common. An exchange that a change
// of the members interrupts is decided and done again. Workers that are behind, or new, continue with the
// state of a worker that is ahead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/counted_rounds.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/regrouping.hpp"
#include "workloads/job/plan/data_plan.hpp"

namespace tandem {

class RegroupingRounds : public Exchange, public MemberExchange, protected RegroupingExchange {
 public:
  MemberExchange* members() final { return this; }
  void set_hooks(MemberHooks hooks) final { hooks_ = std::move(hooks); }
  std::optional<Completion> wait_or_regroup(Pending& until) final;
  ExchangeResult finish() final;
  Arrival join(int incarnation) override;
  void serialise(StateArchive& state) final;
  void continue_counts() final { rounds_.continue_counts(); }
  /// A worker that takes over the duties does the last of them again.
  void end(const std::function<void()>& last_duties) final;
  std::optional<bool> leads() const final { return regrouping_.leads(); }
  const sampling::MemberDeals& deals() const final { return deals_; }
  sampling::Deals changed_deals() const final;
  bool knows_members() const final { return !regrouping_.is_quiet(); }
  void await_members() final;
  std::vector<std::int64_t> applied_samples() const final { return rounds_.of_job(); }

 protected:
  /// `messages`: of compressed payloads; null: there are none. `incarnation`: of this worker in its slot. The
  /// arguments must outlive it.
  RegroupingRounds(const Roster& roster, const DataPlan& data, const StopRule& stop,
                   const recovery::WorkerScaling& scaling, Context& context, Replica& replica,
                   CompressedPayload* messages, int incarnation);

  /// Starts the exchange in progress among decided().members, of the complete part of its payload. Pre: this
  /// worker is not quiet.
  virtual void start() = 0;
  /// Waits for one operation of the exchange, or for a note of the steward. False: no operation remains.
  virtual bool progress() = 0;
  /// The exchange is done.
  virtual ExchangeResult complete() = 0;
  /// Restores the payload from before the exchange.
  virtual void restore() {}
  /// After a fetch: ends the other parts of the exchange that it replaces.
  virtual void finish_fetched() {}

  /// An exchange begins. Starts it, if that is possible now.
  void open(const sync::Exchange& exchange);
  bool is_quiet() const { return regrouping_.is_quiet(); }
  /// Counts a round. `samples`: by slot, the contribution of each member to it.
  void count_round(std::span<const std::int64_t> samples, int version, std::optional<bool> stops);
  /// The state after the last round. It is the same for all workers, except for their batch.
  ExchangeResult state_of_job() const;
  /// Since the job began, also where it was resumed.
  Seconds since_begin() const { return ran_before_ + context_.now(); }
  /// Sorted indices of the workers of the exchange in progress.
  std::span<const int> exchanging() const {
    return decided_.members.empty() ? regrouping_.members() : std::span<const int>(decided_.members);
  }

  Context& context_;
  Replica& replica_;
  std::span<const Rank> workers_;
  int self_;
  sync::Exchange decided_;  ///< the exchange in progress
  CountedRounds rounds_;    ///< that are finished
  /// The mean over all models at the end has begun, which is one more exchange. Workers that have not
  /// finished it fetch its result.
  bool averages_all_ = false;
  recovery::WorkerScaling scaling_;
  CompressedPayload* messages_;
  Regrouping regrouping_;
  const StopRule& stop_;

 private:
  void end_view() final;
  void agree_on_view(std::span<const int> members, std::int64_t round, std::int32_t view) final;
  void begin_view() final;
  void serialise_common(StateArchive& state) final;
  std::int64_t finished_rounds() const final { return rounds_.finished(); }
  std::int64_t taken_samples() const final { return hooks_.taken ? hooks_.taken() : 0; }
  std::int64_t count_deals() const final { return deals_.count_numbers(rounds_.since_dealt()); }
  std::vector<std::int64_t> deals_as_numbers() const final;
  void restore_deals(std::span<const std::int64_t> numbers) final;
  Bytes common_size() const;
  ExchangeResult fetched();
  sync::Members members_event() const;

  MemberHooks hooks_;
  bool is_open_ = false;  ///< an exchange is in progress
  Seconds ran_before_{};  ///< how long the job had run before it was resumed
  bool knows_samples_;
  sampling::MemberDeals deals_;  ///< after the last change of the members
};

}  // namespace tandem
