#include "workloads/trace/ranks.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tandem::trace {
namespace {

/// Those that have a kernel; a place in the list is the same collective on all ranks.
using Lists = std::vector<std::vector<const Collective*>>;

Lists lists_of(const std::vector<RankCollectives>& ranks) {
  Lists lists;
  for (const auto& rank : ranks) {
    auto& list = lists.emplace_back();
    for (const auto& one : rank.collectives)
      if (one.kernel) list.push_back(&one);
  }
  return lists;
}

using Key = std::pair<std::string, std::uint64_t>;

Key key_of(const Collective* one) { return {one->group, *one->sequence}; }

/// Keeps the collectives of all ranks, by group and sequence number. False, and nothing is changed: not all
/// have a number, or numbers occur twice.
bool order_by_sequence(Lists& lists) {
  Lists ordered = lists;
  for (auto& list : ordered) {
    if (!std::ranges::all_of(list, [](const auto* one) { return one->sequence.has_value(); })) return false;
    std::ranges::stable_sort(list, {}, key_of);
    if (std::ranges::adjacent_find(list, {}, key_of) != list.end()) return false;
  }
  std::vector<Key> shared;
  for (const auto* one : ordered.front()) shared.push_back(key_of(one));
  for (const auto& list : ordered)
    std::erase_if(shared, [&](const Key& key) { return !std::ranges::binary_search(list, key, {}, key_of); });
  for (auto& list : ordered)
    std::erase_if(list, [&](const auto* one) { return !std::ranges::binary_search(shared, key_of(one)); });
  lists = std::move(ordered);
  return true;
}

/// Why the lists cannot be of the same collectives; empty: they can.
std::string difference(const Lists& lists, const std::vector<RankCollectives>& ranks) {
  const auto& first = lists.front();
  for (std::size_t rank = 1; rank < lists.size(); ++rank) {
    const auto& list = lists[rank];
    const std::string names =
        "rank " + std::to_string(ranks[rank].rank) + " and rank " + std::to_string(ranks.front().rank);
    if (list.size() != first.size())
      return names + " have " + std::to_string(list.size()) + " and " + std::to_string(first.size()) +
             " collectives";
    for (std::size_t place = 0; place < list.size(); ++place) {
      const bool same_size =
          list[place]->elements == first[place]->elements || first[place]->kind != CollectiveKind::all_reduce;
      if (list[place]->kind != first[place]->kind || !same_size)
        return names + " differ in collective " + std::to_string(place + 1) + ": " +
               name_of(list[place]->kind) + " of " + std::to_string(list[place]->elements) +
               " elements and " + name_of(first[place]->kind) + " of " +
               std::to_string(first[place]->elements);
    }
  }
  return "";
}

MatchedCollective matched(const Lists& lists, const std::vector<RankCollectives>& ranks, std::size_t place) {
  MatchedCollective one;
  one.kind = lists.front()[place]->kind;
  one.elements = lists.front()[place]->elements;
  std::vector<Nanoseconds> begins, ends;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Span span = *lists[rank][place]->kernel;
    one.durations.push_back(span.duration());
    begins.push_back(ranks[rank].base + span.begin);
    ends.push_back(ranks[rank].base + span.end);
  }
  one.transfer = std::ranges::min(one.durations);
  one.late = static_cast<std::size_t>(std::ranges::max_element(begins) - begins.begin());
  one.ends_differ = std::ranges::max(ends) - std::ranges::min(ends);
  return one;
}

}  // namespace

Match match_ranks(const std::vector<RankCollectives>& ranks) {
  Match match;
  Lists lists = lists_of(ranks);
  order_by_sequence(lists);
  match.refused = difference(lists, ranks);
  if (!match.refused.empty()) return match;
  match.communication.resize(ranks.size());
  for (std::size_t place = 0; place < lists.front().size(); ++place) {
    match.collectives.push_back(matched(lists, ranks, place));
    const MatchedCollective& one = match.collectives.back();
    match.least += one.transfer;
    match.ends_differ = std::max(match.ends_differ, one.ends_differ);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) match.communication[rank] += one.durations[rank];
  }
  if (match.ends_differ > most_different_ends)
    match.refused = "the ends of one collective differ by up to " +
                    std::to_string(match.ends_differ / 1'000'000) + " ms between ranks";
  return match;
}

}  // namespace tandem::trace
