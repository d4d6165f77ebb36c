#include "workloads/exchange/deferred_update.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

DeferredUpdate::DeferredUpdate(const CheckpointSchedule& checkpoints, Context& context, Replica& replica,
                               Exchange& exchange, Hooks hooks)
    : context_(context),
      replica_(replica),
      exchange_(exchange),
      hooks_(std::move(hooks)),
      checkpoints_(checkpoints) {}

void DeferredUpdate::defer(const ExchangeResult& result, UpdateTime time) {
  TANDEM_CHECK(!pending_, "an exchange ended before the result of the last one was applied");
  pending_ = {result.sum_of, time};
}

void DeferredUpdate::apply(int bucket) {
  if (!pending_) return;
  const Seconds start = context_.now();
  exchange_.await(bucket);
  if (bucket == 0) hooks_.end_exchange();
  hooks_.end_phase(Phase::exchange);
  if (pending_->sum_of > 0) {
    const Bytes size = replica_.description().buckets[static_cast<std::size_t>(bucket)].bytes();
    Pending update = context_.compute({.kind = Work::Kind::update, .bytes = size},
                                      replica_.adopt_sum_of(bucket, pending_->sum_of, pending_->time));
    exchange_.wait_progressing(update);
    hooks_.end_phase(Phase::update);
  }
  spent_ += context_.now() - start;
  if (bucket == 0) pending_.reset();
}

void DeferredUpdate::end_step(std::int64_t round, bool is_last) {
  if (!pending_ || !(is_last || checkpoints_.has_passed(round))) return;
  checkpoints_.begin_again(round);
  for (int bucket = replica_.buckets() - 1; bucket >= 0; --bucket) apply(bucket);
}

}  // namespace tandem
