#include "workloads/roles/server/deal_book.hpp"

#include <algorithm>
#include <iterator>

namespace tandem {

void DealBook::leave(int worker, std::int64_t counted) {
  if (deals_) deals_->leave(worker, counted);
}

void DealBook::join(int worker, std::int64_t counted) {
  if (deals_) deals_->join(worker, counted);
}

/// Samples that the worker may have taken beyond those of its pushes when it learns of a deal.
std::int64_t DealBook::most_ahead(std::size_t worker, const Taker& taker) const {
  if (!taker.is_member) return 0;
  const std::int64_t batch = std::max(setting_.batch, taker.batch);
  // One that has no reply takes nothing. The next push of another one may be larger than any before.
  constexpr std::int64_t margin = 2;
  const std::int64_t most = std::max<std::int64_t>(batch, largest_push_);
  const std::int64_t until_reply = taker.awaits_reply ? 0 : margin * most;
  return until_reply + std::max(setting_.loads_ahead[worker] ? batch : 0, setting_.prefetch * most);
}

void DealBook::deal(std::span<const std::int64_t> counted, std::span<const Taker> takers) {
  Dealt dealt{.numbers = {}, .count = deals_->count_numbers_of_change()};
  std::vector<std::int64_t> taken(counted.begin(), counted.end());
  for (std::size_t worker = 0; worker < taken.size(); ++worker)
    taken[worker] += most_ahead(worker, takers[worker]);
  const auto change = deals_->deal(taken, counted);
  if (setting_.knows_samples) dealt.numbers = to_numbers(change);
  dealt_.push_back(std::move(dealt));
}

std::optional<DealBook::Message> DealBook::take_new(int worker) {
  const auto slot = static_cast<std::size_t>(worker);
  const std::size_t first = std::exchange(known_.at(slot), dealt_.size());
  if (first == dealt_.size()) return std::nullopt;
  const auto message_of = [](std::vector<std::int64_t>& numbers, std::int64_t count) {
    return Message{numbers.empty() ? nullptr : numbers.data(), count};
  };
  if (first + 1 == dealt_.size()) {
    Dealt& last = dealt_.back();
    return message_of(last.numbers, last.count);
  }
  auto& numbers = numbers_[slot];
  numbers.clear();
  std::int64_t count = 0;
  for (std::size_t deal = first; deal < dealt_.size(); ++deal) {
    std::ranges::copy(dealt_[deal].numbers, std::back_inserter(numbers));
    count += dealt_[deal].count;
  }
  return message_of(numbers, count);
}

DealBook::Message DealBook::take_all(int worker, std::span<const std::int64_t> counted) {
  const auto slot = static_cast<std::size_t>(worker);
  known_.at(slot) = dealt_.size();
  if (setting_.knows_samples) numbers_[slot] = deals_->to_numbers(counted);
  return {numbers_[slot].empty() ? nullptr : numbers_[slot].data(), deals_->count_numbers(counted)};
}

std::int64_t DealBook::count_numbers(std::span<const std::int64_t> counted) const {
  return deals_ ? deals_->count_numbers(counted) : 0;
}

sampling::Deals DealBook::changed(std::span<const std::int64_t> counted) const {
  if (!deals_ || !setting_.knows_samples || !deals_->has_changed()) return {};
  return deals_->all(counted);
}

}  // namespace tandem
