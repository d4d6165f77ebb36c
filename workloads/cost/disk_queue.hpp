// How a disk serves requests: some at the same time, the others in the order of their arrival. Arithmetic on
// times, the same for simulated disks and for emulated ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Properties of a disk, without its rate.
struct DiskService {
  static constexpr int most_parallel = 256;
  Seconds latency{0};  ///< of each request, before its bytes
  int parallel = 1;    ///< requests served at the same time, at most most_parallel
};

/// The state of one disk. Plain data: all zero is a disk that has served nothing, so it may lie in memory
/// that processes share.
///
/// A request takes one of the disk's places, waits for the latency, moves its bytes and leaves. The latencies
/// of requests that are served at the same time overlap; their bytes follow one another at the full rate,
/// because they share the disk's bandwidth. With n requests that arrive together, p places, latency L and
/// bytes that take t, the last one ends after n (L + t) if p = 1; after L + n t if (p - 1) t >= L (the
/// bandwidth is used up); else after ceil(n / p) (L + t) + ((n - 1) mod p) t.
class DiskQueue {
 public:
  /// Adds requests that arrive together; returns when the last of them ends. `moving`: the bytes of all, at
  /// the rate of the disk. Requests are in the order of the calls, so a call may be a little late: `arrival`
  /// is then in the past. Pre: requests >= 1; `service` is the same in all calls.
  Seconds serve(Seconds arrival, const DiskService& service, std::int64_t requests, Seconds moving) {
    TANDEM_CHECK(requests >= 1 && service.parallel >= 1 && service.parallel <= DiskService::most_parallel,
                 "requests", requests, "parallel", service.parallel);
    const double latency = service.latency.count();
    const auto count = static_cast<double>(requests);
    // No request waits for the place of an earlier one longer than for its bytes; or each waits for the whole
    // of the one before.
    if (latency == 0.0 || service.parallel == 1) {
      last_s_ = std::max(arrival.count(), last_s_) + (latency * count + moving.count());
      return Seconds(last_s_);
    }
    const double each = moving.count() / count;
    for (std::int64_t i = 0; i < requests; ++i) {
      double& place = ends_s_[static_cast<std::size_t>(next_)];
      last_s_ = std::max(std::max(arrival.count(), place) + latency, last_s_) + each;
      place = last_s_;
      next_ = (next_ + 1) % service.parallel;
    }
    return Seconds(last_s_);
  }

  /// Whether a request that arrives then neither waits for another one nor shares the disk with one.
  bool is_idle(Seconds at) const { return last_s_ <= at.count(); }

 private:
  double last_s_ = 0;  ///< when the last request ends; the bytes of the next one follow
  int next_ = 0;       ///< the place that becomes free first: requests end in the order of their arrival
  std::array<double, DiskService::most_parallel> ends_s_{};  ///< when each place becomes free
};

}  // namespace tandem
