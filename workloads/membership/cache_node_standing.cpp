#include "workloads/membership/cache_node_standing.hpp"

namespace tandem {

bool CacheNodeStanding::hear(const Note& note) {
  if (protocol::holds<protocol::NodeDeparted>(note)) {
    incarnation_ = 0;
    return true;
  }
  if (!protocol::holds<protocol::NodeJoined>(note)) return false;
  incarnation_ = protocol::unpack<protocol::NodeJoined>(note).incarnation;
  return true;
}

void CacheNodeStanding::decline(Context& context, int worker_incarnation) {
  if (has_departed() || is_answered()) return;
  note_answered(incarnation_);
  Pending told =
      context.send(node_, protocol::arrivals, {},
                   protocol::pack(protocol::Arrived{
                       .incarnation = worker_incarnation, .receiver = incarnation_, .ends = true}));
  context.wait(told);
}

}  // namespace tandem
