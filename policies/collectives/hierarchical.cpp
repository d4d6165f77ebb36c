// All-reduce in two levels: inside each group a ring reduces and scatters the vector over its members; then
// the members that hold the same segment sum it over the groups, one ring per segment, all rings
// concurrently; then the same rounds run in reverse. There are as many segments as the smallest group has
// members. Larger groups therefore first pass their parts to that many members. Source: Mikami et al.,
// Massively Distributed SGD: ImageNet/ResNet-50 Training in a Flash, arXiv:1811.05233, 2018; groups are equal
// there.
#include <algorithm>
#include <iterator>
#include <utility>

#include "policies/collectives/building_blocks.hpp"
#include "policies/collectives/shapes.hpp"

namespace tandem::collectives {
namespace {

using Kind = Transfer::Kind;

Piece intersection(const Piece& a, const Piece& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// Goes from a member of a group to that which holds the segment.
struct Handover {
  int member;
  int segment;
  Piece piece;
};

/// One group: `size` members of which each first gets a part of the vector; then holders get the segments.
class Group {
 public:
  Group(int first, int size, int segments, std::int64_t elements)
      : first_(first), size_(size), segments_(segments), elements_(elements) {
    for (int member = 0, segment = 0; member < size && segment < segments;) {
      const Piece part = part_of(elements, size, member);
      const Piece target = part_of(elements, segments, segment);
      if (const Piece shared = intersection(part, target); shared.size() > 0)
        handovers_.push_back({member, segment, shared});
      part.end <= target.end ? ++member : ++segment;
    }
  }

  int holder(int segment) const {
    return static_cast<int>(static_cast<std::int64_t>(segment) * size_ / segments_);
  }
  int participant(int member) const { return first_ + member; }

  /// A ring around the group, after which each member has the sum of its part.
  std::vector<Round> scatter(int member) const {
    const auto part = [&](int index) { return part_of(elements_, size_, (index + 2 * size_) % size_); };
    std::vector<Round> rounds;
    for (int step = 1; step < size_; ++step) {
      Round round;
      append(round, Kind::send, participant((member + 1) % size_), part(member - step));
      append(round, Kind::receive_and_reduce, participant((member + size_ - 1) % size_),
             part(member - step - 1));
      rounds.push_back(std::move(round));
    }
    return rounds;
  }

  /// Handovers of one member, and those to one holder, follow each other in the list, so that each of them
  /// is in a round of its own.
  int handover_rounds() const {
    if (std::all_of(handovers_.begin(), handovers_.end(), [&](const Handover& h) { return is_kept(h); }))
      return 0;
    int most = 0;
    int of_member = 0;
    int of_segment = 0;
    for (std::size_t i = 0; i < handovers_.size(); ++i) {
      of_member = i > 0 && handovers_[i].member == handovers_[i - 1].member ? of_member + 1 : 1;
      of_segment = i > 0 && handovers_[i].segment == handovers_[i - 1].segment ? of_segment + 1 : 1;
      most = std::max({most, of_member, of_segment});
    }
    return most;
  }

  std::vector<Round> hand_over(int member) const {
    const auto count = static_cast<std::size_t>(handover_rounds());
    std::vector<Round> rounds(count);
    if (count == 0) return rounds;
    for (std::size_t i = 0; i < handovers_.size(); ++i) {
      const Handover& handover = handovers_[i];
      if (is_kept(handover)) continue;
      const int to = holder(handover.segment);
      if (handover.member == member) append(rounds[i % count], Kind::send, participant(to), handover.piece);
      if (to == member)
        append(rounds[i % count], Kind::receive, participant(handover.member), handover.piece);
    }
    return rounds;
  }

 private:
  bool is_kept(const Handover& handover) const { return holder(handover.segment) == handover.member; }

  int first_;
  int size_;
  int segments_;
  std::int64_t elements_;
  std::vector<Handover> handovers_;  ///< in the order of the elements
};

std::vector<Group> groups_of(const Groups& groups, std::int64_t elements) {
  const int segments = *std::min_element(groups.sizes().begin(), groups.sizes().end());
  std::vector<Group> all;
  int first = 0;
  for (const int size : groups.sizes()) {
    all.emplace_back(first, size, segments, elements);
    first += size;
  }
  return all;
}

/// The ring over the groups for the segment that the member holds; none if it holds none.
std::vector<Round> sum_over_groups(const std::vector<Group>& groups, std::size_t own, int member,
                                   int segments, std::int64_t elements) {
  const int count = static_cast<int>(groups.size());
  for (int segment = 0; segment < segments; ++segment) {
    if (groups[own].holder(segment) != member) continue;
    const Piece piece = part_of(elements, segments, segment);
    std::vector<Round> rounds;
    for (Round round : ring(static_cast<int>(own), count, piece.size()).rounds) {
      for (Transfer& transfer : round) {
        const Group& group = groups[static_cast<std::size_t>(transfer.peer)];
        transfer.peer = group.participant(group.holder(segment));
        transfer.piece = {piece.begin + transfer.piece.begin, piece.begin + transfer.piece.end};
      }
      rounds.push_back(std::move(round));
    }
    return rounds;
  }
  return std::vector<Round>(2 * static_cast<std::size_t>(count - 1));
}

void append_rounds(std::vector<Round> more, std::size_t count, std::vector<Round>& rounds) {
  more.resize(count);
  std::move(more.begin(), more.end(), std::back_inserter(rounds));
}

}  // namespace

Schedule hierarchical(int self, const Groups& groups, std::int64_t elements) {
  TANDEM_CHECK(0 <= self && self < groups.participants() && elements >= 0, "self", self, "size",
               groups.participants(), "elements", elements);
  const auto& sizes = groups.sizes();
  const auto [smallest, largest] = std::minmax_element(sizes.begin(), sizes.end());
  const std::vector<Group> all = groups_of(groups, elements);
  std::size_t own = 0;
  int member = self;
  for (; member >= sizes[own]; ++own) member -= sizes[own];
  int handovers = 0;
  for (const Group& group : all) handovers = std::max(handovers, group.handover_rounds());

  std::vector<Round> rounds;
  append_rounds(all[own].scatter(member), static_cast<std::size_t>(*largest - 1), rounds);
  append_rounds(all[own].hand_over(member), static_cast<std::size_t>(handovers), rounds);
  const std::size_t inside = rounds.size();
  append_rounds(sum_over_groups(all, own, member, *smallest, elements), 2 * (all.size() - 1), rounds);
  append_way_back(inside, rounds);
  return Schedule{std::move(rounds)};
}

}  // namespace tandem::collectives
