#include "workloads/membership/cache_node_standing.hpp"

namespace tandem {

bool CacheNodeStanding::on_message(const Note& note) {
  if (protocol::as<protocol::NodeDeparted>(note)) {
    incarnation_ = 0;
    return true;
  }
  const auto joined = protocol::as<protocol::NodeJoined>(note);
  if (joined) incarnation_ = joined->incarnation;
  return joined.has_value();
}

void CacheNodeStanding::decline(Context& context, int worker_incarnation) {
  if (has_departed() || is_answered()) return;
  note_answered(incarnation_);
  Pending answer = protocol::send<"arrivals">(
      context, node_,
      protocol::Arrived{.incarnation = worker_incarnation, .receiver = incarnation_, .ends = true});
  context.wait(answer);
}

}  // namespace tandem
