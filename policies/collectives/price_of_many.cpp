// What collectives of very many participants cost on a uniform network, where the schedules of all are too
// long or too many: their rounds repeat those of two participants, or of three.
#include <bit>

#include "policies/collectives/shapes.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::collectives {
namespace {

std::int64_t part_rounded_up(std::int64_t elements, std::int64_t parts) {
  return (elements + parts - 1) / parts;
}

}  // namespace

std::optional<ManyCost> cost_of_many(const MakeSchedule& make, int participants, std::int64_t elements,
                                     const PriceOfFew& few) {
  TANDEM_CHECK(participants >= 2, "participants", participants);
  const auto is = [&](MakeSchedule::OfOne shape) { return make == MakeSchedule(shape); };
  const auto count = static_cast<std::uint32_t>(participants);
  const int levels = static_cast<int>(std::bit_width(count)) - 1;
  const bool folds = !std::has_single_bit(count);
  ManyCost cost{.time = Seconds(0.0), .sent = 2 * elements * (participants - 1)};
  // Every round passes a piece to the next participant.
  if (is(ring) || is(pipelined_ring) || is(hierarchical)) {
    cost.time = few(2, 2 * part_rounded_up(elements, participants)) * (participants - 1.0);
    return cost;
  }
  if (is(tree)) {
    cost.time = few(2, elements) * (levels + (folds ? 1.0 : 0.0));
    return cost;
  }
  if (!is(recursive_doubling) && !is(halving_doubling)) return std::nullopt;
  // Three participants fold the vector of one, have one exchange, and give the sum back.
  const std::int64_t acting = std::int64_t{1} << levels;
  if (is(recursive_doubling)) cost.sent = elements * (acting * levels + 2 * (participants - acting));
  for (int level = 0; level < levels; ++level)
    cost.time += few(level == 0 && folds ? 3 : 2,
                     is(halving_doubling) ? part_rounded_up(elements, std::int64_t{1} << level) : elements);
  return cost;
}

}  // namespace tandem::collectives
