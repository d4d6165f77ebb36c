#include "policies/prices/cores.hpp"

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem::prices {

std::vector<Seconds> ends_on_cores(std::span<const CoreWork> works, int cores) {
  TANDEM_CHECK(cores >= 1, "cores", cores);
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<double> left_s;
  std::vector<Seconds> ends;
  double now_s = never;
  for (const CoreWork& work : works) {
    TANDEM_CHECK(work.threads >= 1, "threads", work.threads);
    left_s.push_back(work.alone.count());
    ends.push_back(work.ready);
    now_s = std::min(now_s, work.ready.count());
  }
  std::vector<bool> has_ended(works.size(), false);
  while (true) {
    int threads = 0;
    double next_s = never;
    const auto runs = [&](std::size_t i) { return !has_ended[i] && works[i].ready.count() <= now_s; };
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (runs(i)) threads += works[i].threads;
      if (!has_ended[i] && !runs(i)) next_s = std::min(next_s, works[i].ready.count());
    }
    const double speed = threads <= cores ? 1.0 : static_cast<double>(cores) / threads;
    std::size_t first = works.size();
    for (std::size_t i = 0; i < works.size(); ++i)
      if (runs(i) && now_s + left_s[i] / speed <= next_s) {
        next_s = now_s + left_s[i] / speed;
        first = i;
      }
    if (next_s == never) return ends;
    for (std::size_t i = 0; i < works.size(); ++i)
      if (runs(i)) left_s[i] = std::max(0.0, left_s[i] - (next_s - now_s) * speed);
    now_s = next_s;
    if (first == works.size()) continue;
    has_ended[first] = true;
    ends[first] = Seconds(now_s);
  }
}

}  // namespace tandem::prices
