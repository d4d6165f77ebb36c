// What exchanges in rounds among workers that may depart and join have in common: an exchange that a change
// of the members interrupts is decided and done again, and workers that are behind, or new, continue with
// the state of a worker that is ahead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "workloads/exchange/compressed_payload.hpp"
#include "workloads/exchange/exchange.hpp"
#include "workloads/exchange/member_exchange.hpp"
#include "workloads/exchange/regrouping.hpp"
#include "workloads/job/plan/data_plan.hpp"

namespace tandem {

/// The mean of all models, where each worker has its own.
struct FinalMean {
  bool has_begun = false;
  int is_done = 0;  ///< 1: it is
};

/// Of each slot's workers.
struct SamplesInModel {
  std::vector<std::int64_t> applied;
  std::vector<std::int64_t> before;  ///< of these, in the model that the job has resumed from
  std::vector<std::int64_t> dealt;   ///< of them, before samples were dealt to the workers of this job
};

class RegroupingRounds : public Exchange, public MemberExchange, protected RegroupingExchange {
 public:
  MemberExchange* members() final { return this; }
  void set_hooks(MemberHooks hooks) final { hooks_ = std::move(hooks); }
  std::optional<Completion> wait_or_regroup(Pending& until) final;
  ExchangeResult finish() final;
  Arrival join(int incarnation) override;
  void serialise(StateArchive& state) final;
  void continue_counts() final { continues_ = true; }
  /// A worker that takes over the duties does the last of them again.
  void end(const std::function<void()>& last_duties) final;
  std::optional<bool> leads() const final { return regrouping_.leads(); }
  const sampling::MemberDeals& deals() const final { return deals_; }
  sampling::Deals changed_deals() const final;
  bool knows_members() const final { return !regrouping_.is_quiet(); }
  void await_members() final;
  std::vector<std::int64_t> applied_samples() const final;

 protected:
  /// `messages`: of compressed payloads; null: there are none. `incarnation`: of this worker in its slot. The
  /// arguments must outlive it.
  RegroupingRounds(const Roster& roster, const DataPlan& data, const StopRule& stop,
                   const recovery::WorkerScaling& scaling, Context& context, Replica& replica,
                   CompressedPayload* messages, int incarnation);

  /// Starts the exchange in progress among decided().members as far as its payload is complete. Pre: this
  /// worker is not quiet.
  virtual void start() = 0;
  /// Waits for one of its operations, or for a note of the steward. False: nothing of it is left to wait for.
  virtual bool progress() = 0;
  /// It is done.
  virtual ExchangeResult complete() = 0;
  /// The payload is as before the exchange.
  virtual void restore() {}
  /// After a fetch: ends what else belongs to the exchange that it replaces.
  virtual void finish_fetched() {}

  /// An exchange begins. Starts it, if that is possible now.
  void open(const sync::Exchange& exchange);
  bool is_quiet() const { return regrouping_.is_quiet(); }
  /// Counts a round in which each member has contributed so many samples. `samples`: by slot.
  void count_round(std::span<const std::int64_t> samples, int version, std::optional<bool> stops);
  /// After the last round. All workers have the same, but for their batch.
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
  int version_ = 0;         ///< of the model
  /// The mean over all models at the end is one more exchange. Workers that have not finished it fetch its
  /// result.
  FinalMean mean_;
  recovery::WorkerScaling scaling_;
  CompressedPayload* messages_;
  Regrouping regrouping_;
  const StopRule& stop_;

 private:
  void end_epoch() final;
  void agree_on_epoch(std::span<const int> members, std::int64_t round, std::int32_t epoch) final;
  void begin_epoch() final;
  void serialise_common(StateArchive& state) final;
  std::int64_t finished_rounds() const final { return rounds_ + mean_.is_done; }
  std::int64_t taken_samples() const final { return hooks_.taken ? hooks_.taken() : 0; }
  std::int64_t count_deals() const final { return deals_.count_numbers(counted()); }
  std::vector<std::int64_t> deals_as_numbers() const final;
  void restore_deals(std::span<const std::int64_t> numbers) final;
  std::vector<std::int64_t> counted() const;
  Bytes common_size() const;
  ExchangeResult fetched();
  void serialise_counters(StateArchive& state);
  sync::Members members_event() const;
  Progress progress_of_job() const;

  MemberHooks hooks_;
  bool is_open_ = false;     ///< an exchange is in progress
  std::int64_t rounds_ = 0;  ///< finished
  SamplesInModel samples_in_model_;
  bool continues_ = false;  ///< the job restores its own state
  Seconds ran_before_{};    ///< how long the job had run before it was resumed
  bool knows_samples_;
  sampling::MemberDeals deals_;  ///< after the last change of the members
  int stops_ = 0;                ///< 1: the job ends after the last round
};

}  // namespace tandem
