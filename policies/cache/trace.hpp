// A trace of requests, its ids numbered in the order of their first requests, so that every policy and size
// works on flat arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/cache/id_index.hpp"
#include "policies/cache/replay.hpp"

namespace tandem::cache {

class NumberedTrace {
 public:
  /// Pre: size >= 0; fewer than 2^32 - 1 ids.
  void add(std::uint64_t id, std::int64_t size);
  /// Allocates for this many requests at once.
  void reserve(std::size_t requests) { requests_.reserve(requests); }
  /// A hint that a request for `id` will be added soon.
  void prefetch(std::uint64_t id) const { numbers_.prefetch(static_cast<SampleId>(id)); }
  /// After the last request: finds the next request of each, for policies that know the future.
  void find_next_requests();

  Trace view() const { return {requests_, sizes_.size(), next_}; }
  std::int64_t objects() const { return static_cast<std::int64_t>(sizes_.size()); }
  /// All objects have the same size, at every request.
  bool has_one_size() const;
  /// Bytes of all objects, each with its largest size.
  std::int64_t working_set() const;

 private:
  IdIndex numbers_;
  std::vector<TraceRequest> requests_;
  std::vector<std::uint64_t> next_;
  std::vector<std::int64_t> sizes_;  ///< the largest of each id
};

}  // namespace tandem::cache
