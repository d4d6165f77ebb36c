#include "policies/prices/exchange.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "policies/vocabulary/check.hpp"

namespace tandem::prices {
namespace {

double bytes_of(Bytes size) { return static_cast<double>(size.count()); }

double move_s(double bytes, const Link& link) {
  TANDEM_CHECK(link.rate.count() > 0, "rate", link.rate.count());
  return link.latency.count() + bytes / link.rate.count();
}

double reduce_s(double bytes, const Reduction& reduction) {
  return reduction.rate.count() > 0 ? bytes / reduction.rate.count() : 0.0;
}

/// Levels of a binary tree below its root; with rounds in powers of two, their number.
int levels(int workers) { return std::bit_width(static_cast<unsigned>(workers - 1)); }

}  // namespace

Seconds ring(int workers, Bytes size, const Link& link, const Reduction& reduction) {
  const double bytes = bytes_of(size), hops = workers - 1;
  return Seconds(2 * hops * move_s(bytes / workers, link) + reduce_s(hops / workers * bytes, reduction));
}

Seconds halving_doubling(int workers, Bytes size, const Link& link, const Reduction& reduction) {
  TANDEM_CHECK(std::has_single_bit(static_cast<unsigned>(workers)), "workers", workers);
  const double moved = bytes_of(size) * (workers - 1) / workers;
  return Seconds(2 * levels(workers) * link.latency.count() + 2 * moved / link.rate.count() +
                 reduce_s(moved, reduction));
}

Seconds recursive_doubling(int workers, Bytes size, const Link& link, const Reduction& reduction) {
  const double bytes = bytes_of(size);
  return Seconds(levels(workers) * (move_s(bytes, link) + reduce_s(bytes, reduction)));
}

Seconds tree_in_pieces(int workers, Bytes size, int pieces, const Link& link) {
  TANDEM_CHECK(pieces >= 1, "pieces", pieces);
  if (workers == 1) return Seconds(0.0);
  return Seconds(2 * (levels(workers) + pieces - 1) * move_s(bytes_of(size) / pieces, link));
}

int best_pieces(int workers, Bytes size, const Link& link) {
  const double best =
      std::sqrt((levels(workers) - 1) * bytes_of(size) / (link.latency.count() * link.rate.count()));
  if (!(best > 1.0)) return 1;
  const auto below = static_cast<int>(std::min(best, 1e9));
  return tree_in_pieces(workers, size, below, link) <= tree_in_pieces(workers, size, below + 1, link)
             ? below
             : below + 1;
}

Seconds hierarchical(int machines, int inside, Bytes size, const Link& within, const Link& between,
                     const Reduction& reduction) {
  const Link of_one{between.latency, BytesPerSecond(between.rate.count() / inside)};
  return ring(inside, size, within, reduction) +
         ring(machines, Bytes(size.count() / inside), of_one, reduction);
}

int esync_steps(Seconds pace, Seconds step) {
  // A step that ends with the slowest worker's fits, whatever rounding says.
  return std::max(1, static_cast<int>(std::floor(pace / step * (1 + 1e-12))));
}

}  // namespace tandem::prices
