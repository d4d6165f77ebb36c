#include "policies/sampling/deal_history.hpp"

#include <initializer_list>
#include <iterator>

namespace tandem::sampling {
namespace {

void add(Digest& digest, std::initializer_list<std::int64_t> numbers) {
  digest.add({reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(std::int64_t)});
}

}  // namespace

void DealHistory::append(Deal deal) {
  Digest all = digest(size_);
  add(all, {deal.workers, std::ssize(deal.taken), std::ssize(deal.returned)});
  for (const std::int64_t taken : deal.taken) add(all, {taken});
  for (const Returned& one : deal.returned) add(all, {one.deal, one.place, one.first, one.count});
  if (!entries_) entries_ = std::make_shared<std::deque<Entry>>();
  // A copy has continued otherwise.
  if (entries_->size() != size_)
    entries_ = std::make_shared<std::deque<Entry>>(entries_->begin(),
                                                   entries_->begin() + static_cast<std::ptrdiff_t>(size_));
  entries_->push_back({std::move(deal), all});
  ++size_;
}

Deals DealHistory::list() const {
  Deals deals;
  for (std::size_t number = 0; number < size_; ++number) deals.push_back((*this)[number]);
  return deals;
}

}  // namespace tandem::sampling
