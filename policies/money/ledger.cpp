#include "policies/money/ledger.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tandem::money {
namespace {

__extension__ typedef __int128 Wide;

constexpr double kMicro = 1e6;
constexpr std::int64_t kHour = 3'600'000'000;

std::int64_t micros(Seconds time) { return std::llround(time.count() * kMicro); }

/// Shares of `whole` in the proportion of the times. Their sum is the whole: each boundary between two is
/// rounded.
Uses<Money> shares_of(Money whole, const Uses<Seconds>& times) {
  const Seconds all = times.sum();
  if (all <= Seconds(0)) return {.waiting = whole};
  Seconds until{};
  Money before{};
  const auto next = [&](Seconds time) {
    until += time;
    const Money boundary(std::llround(static_cast<double>(whole.micro()) * (until / all)));
    return boundary - std::exchange(before, boundary);
  };
  const Money useful = next(times.useful), wasted = next(times.wasted), idle = next(times.idle);
  return {.useful = useful, .wasted = wasted, .idle = idle, .waiting = whole - before};
}

}  // namespace

Seconds billed_time(const Billing& billing, Seconds stay, StayEnd end) {
  const std::int64_t length = micros(stay), step = micros(billing.step);
  if (end == StayEnd::revoked && length < micros(billing.free_if_revoked_within)) return Seconds(0);
  const std::int64_t steps = step > 0 ? (length + step - 1) / step * step : length;
  return Seconds(static_cast<double>(std::max(steps, micros(billing.minimum))) / kMicro);
}

Money price_of(const Billing& billing, Seconds billed) {
  const Wide product = static_cast<Wide>(billing.per_hour.micro()) * micros(billed);
  return Money(static_cast<std::int64_t>((product + kHour / 2) / kHour));
}

void Ledger::add(Entry stay, Uses<Seconds> uses) {
  const Seconds length = stay.end - stay.begin;
  uses.waiting += std::max(Seconds(0), length - uses.sum());
  stay.stay = length * time_scale_;
  stay.billed = billed_time(stay.billing, stay.stay, stay.ended);
  stay.cost = price_of(stay.billing, stay.billed);
  uses.wasted += std::max(Seconds(0), stay.billed / time_scale_ - length);
  stay.uses = shares_of(stay.cost, uses);
  entries_.push_back(std::move(stay));
}

Money Ledger::cost() const {
  Money sum;
  for (const Entry& entry : entries_) sum += entry.cost;
  return sum;
}

Uses<Money> Ledger::uses() const {
  Uses<Money> sum;
  for (const Entry& entry : entries_) sum += entry.uses;
  return sum;
}

}  // namespace tandem::money
