#include "workloads/job/plan/job_context.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

Rank JobContext::of_inner(Rank rank) const {
  TANDEM_CHECK(rank >= 0 && rank < std::ssize(place_.ranks), "rank", rank, "ranks", place_.ranks.size());
  return place_.ranks[static_cast<std::size_t>(rank)];
}

Pending JobContext::send(Rank to, Channel channel, Slice slice, const Note& note) {
  return inner_.send(of_inner(to), channel, slice, note);
}

Pending JobContext::receive(Rank from, Channel channel, Slice slice) {
  return inner_.receive(of_inner(from), channel, slice);
}

Pending JobContext::all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                               const collectives::Element& element) {
  members_.clear();
  for (const Rank member : members) members_.push_back(of_inner(member));
  return inner_.all_reduce(members_, channel, vector, element);
}

}  // namespace tandem
