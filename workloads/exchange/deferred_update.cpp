#include "workloads/exchange/deferred_update.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

DeferredUpdate::DeferredUpdate(const Job& job, Context& context, Replica& replica, Exchange& exchange,
                               std::function<void(Phase)> end_phase)
    : context_(context),
      replica_(replica),
      exchange_(exchange),
      end_phase_(std::move(end_phase)),
      whole_(job) {}

void DeferredUpdate::hold(const ExchangeResult& result, UpdateTime time) {
  TANDEM_CHECK(!brought_, "an exchange ended before the last one was taken over");
  brought_ = {result.sum_of, time};
}

void DeferredUpdate::take_over(int bucket) {
  if (!brought_) return;
  const Seconds start = context_.now();
  exchange_.await(bucket);
  end_phase_(Phase::exchange);
  if (brought_->sum_of > 0) {
    const Bytes size = replica_.description().buckets[static_cast<std::size_t>(bucket)].bytes();
    Pending update = context_.compute({.kind = Work::Kind::update, .bytes = size},
                                      replica_.adopt_sum_of(bucket, brought_->sum_of, brought_->time));
    exchange_.wait_progressing(update);
    end_phase_(Phase::update);
  }
  spent_ += context_.now() - start;
  if (bucket == 0) brought_.reset();
}

void DeferredUpdate::end_step(std::int64_t round, bool is_last) {
  if (!brought_ || !(is_last || whole_.has_passed(round))) return;
  whole_.begin_again(round);
  for (int bucket = replica_.buckets() - 1; bucket >= 0; --bucket) take_over(bucket);
}

}  // namespace tandem
