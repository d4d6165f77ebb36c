#include "policies/cache/trace.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tandem::cache {

void NumberedTrace::add(std::uint64_t id, std::int64_t size) {
  const auto key = static_cast<SampleId>(id);
  IdIndex::Row number = numbers_.find(key);
  if (number == IdIndex::none) {
    number = static_cast<IdIndex::Row>(sizes_.size());
    numbers_.insert(key, number);
    sizes_.push_back(size);
  }
  sizes_[number] = std::max(sizes_[number], size);
  requests_.push_back({number, size});
}

void NumberedTrace::find_next_requests() {
  next_.resize(requests_.size());
  std::vector<std::uint64_t> later(sizes_.size(), requests_.size());
  for (std::size_t i = requests_.size(); i-- > 0;) {
    next_[i] = later[requests_[i].id];
    later[requests_[i].id] = i;
  }
}

bool NumberedTrace::has_one_size() const {
  return std::ranges::adjacent_find(requests_, std::ranges::not_equal_to(), &TraceRequest::size) ==
         requests_.end();
}

std::int64_t NumberedTrace::working_set() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
}

}  // namespace tandem::cache
